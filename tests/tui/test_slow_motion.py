"""Slow motion: a reply that starts paused, its pace, and the candidates of each step where the text is written."""

from __future__ import annotations

from functools import partial

import msgspec
import pytest
from textual.content import Content

from lade_chat.protocol.commands import Inspect, Pause, Reply, Resume, StepOnce
from lade_chat.protocol.events import Prefilling, ReplyStarted, Tokens
from lade_chat.protocol.inspection import Candidate, Inspection
from lade_chat.tui.app.application import ChatApp
from lade_chat.tui.chat.decisions.controls import takes_pace_key
from lade_chat.tui.reply.candidate_tree_view import CandidateStage, CandidateTreeView, tree_lines
from tests.pairs import LONG
from tests.tui.driving import opened, reply_text, say, screen_text, sees, sees_no, status, wait_until
from tests.tui.quick_clock import now
from tests.tui.scripted import FUNCTION, INSPECTED_STEP, ScriptedEngine, finished, pieces, statistics, streamed
from tests.tui.talking import asked

BRANCHING = Inspection(
    step=3,
    candidates=(
        Candidate(" words", 0, "context", False),
        Candidate(".split", 0, "trajectory", True),
        Candidate("(", 2, "trajectory", True),
        Candidate("\n", 2, "successor", False),
        Candidate(")", 3, "trajectory", False),
    ),
    settled=(".split", "(", "text"),
)


def step(number: int) -> Tokens:
    """One step of the scripted reply, with its candidates."""
    inspection = msgspec.structs.replace(INSPECTED_STEP, step=number)
    return Tokens(
        pieces(FUNCTION[number : number + 1], number), statistics(FUNCTION[: number + 1]), "left", (), inspection
    )


def tree_styles(app: ChatApp) -> dict[str, str]:
    """The style of each candidate on the screen."""
    content = app.screen.query_one(CandidateTreeView).content
    assert isinstance(content, Content)
    return {content.plain[span.start : span.end]: str(span.style) for span in content.spans}


async def test_a_reply_that_starts_paused_shows_the_candidates_of_each_step(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        await pilot.press("f9")
        await wait_until(pilot, lambda: "the next reply starts paused" in status(app))
        await pilot.press("f9")
        await wait_until(pilot, lambda: "lookahead on or off: same text" in status(app))
        await pilot.press("f9")
        await say(app, pilot, "Write a function.")
        await wait_until(pilot, lambda: asked(engine).paused)
        assert engine.sent_of(Inspect) == [Inspect(True), Inspect(False), Inspect(True)]
        engine.tell(ReplyStarted(23), Prefilling(20, 23))
        await sees(pilot, "paused: F9 goes on, F10 takes one step, ] goes on slowly", "f9 Resume")
        await pilot.press("f10")
        await wait_until(pilot, lambda: engine.sent[-1:] == [StepOnce()])
        engine.tell(step(2))
        await sees(pilot, "·numbers", "·list context", "step 3 · 3 candidates, checked at once")
        assert "returns" not in reply_text(app)
        assert len({tree_styles(app)[text] for text in ("·numbers", ":", "·list")}) == 1
        await sees(pilot, "2 of 3 candidates verified · 3 tokens in this step", "that returns the sum of")
        styles = tree_styles(app)
        assert styles["·numbers"] == styles[":"] == "$source-trajectory" != styles["·list"]
        await pilot.press("f10")
        engine.tell(Tokens(step(3).pieces, statistics(FUNCTION[:4]), inspection=Inspection(3, settled=(" a",))))
        await sees(pilot, "no candidates · 1 token in this step", "that returns the sum of a list")
        engine.tell(finished(FUNCTION[:4]))
        await wait_until(pilot, lambda: "ready" in status(app))
        assert engine.sent[-1] == Inspect(False)
        assert not app.screen.query(CandidateTreeView)


@pytest.mark.parametrize("sent", [0, 1, 2] if LONG else [1])
async def test_a_pause_asked_for_while_the_model_loads_holds_for_the_message_that_waits(
    engine: ScriptedEngine, sent: int
) -> None:
    async with opened(engine, model=None) as (app, pilot):
        for place in range(3):
            if place == sent:
                await say(app, pilot, "Write a function.")
            await pilot.press("f9")
            await sees(pilot, "The next reply starts at once." if place == 1 else "The next reply starts paused.")
        engine.load()
        await wait_until(pilot, lambda: engine.sent_of(Reply))
        assert asked(engine).paused
        assert engine.sent_of(Inspect)[-1] == Inspect(True)
        await sees(pilot, "paused: F9 goes on, F10 takes one step", "f9 Resume")
        engine.tell(finished(FUNCTION[:1]))
        await wait_until(pilot, lambda: "ready" in status(app))
        assert engine.sent[-1] == Inspect(False)  # only this one
        await say(app, pilot, "Another.")
        assert not asked(engine).paused


async def test_a_pause_taken_back_while_the_model_loads_is_none(engine: ScriptedEngine) -> None:
    async with opened(engine, model=None) as (app, pilot):
        await say(app, pilot, "Write a function.")
        await pilot.press("f9", "f9")
        engine.load()
        await wait_until(pilot, lambda: engine.sent_of(Reply))
        assert not asked(engine).paused
        assert engine.sent_of(Inspect)[-1] == Inspect(False)


async def test_the_pace_goes_from_a_step_a_second_to_full_speed(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        await say(app, pilot, "Write a function.")
        engine.tell(*streamed(FUNCTION[:4]))
        await sees(pilot, "a list")
        await pilot.press(*"[]")  # at full speed they are characters
        assert app.chat_screen.prompt.text == "[]"
        await pilot.press("ctrl+u", "f9")
        await wait_until(pilot, lambda: engine.sent[-2:] == [Inspect(True), Pause()])
        await pilot.press(*"]]]]")
        await wait_until(pilot, lambda: engine.sent[-1:] == [StepOnce()])
        await sees(pilot, "8 steps a second: [ slower, ] faster")
        await pilot.press(*"[[[[[")
        await sees(pilot, "1 step a second")
        await pilot.press("f9")
        await sees(pilot, "paused")
        await pilot.press(*"]]]]")  # the first has it go on
        await sees(pilot, "8 steps a second")
        assert engine.sent_of(StepOnce) == [StepOnce()]
        for number in (4, 5, 6):  # each is followed by the next
            engine.tell(step(number))
            await wait_until(pilot, partial(lambda steps: len(engine.sent_of(StepOnce)) == steps, number - 2))
        engine.tell(step(7))
        await sees(pilot, "candidates, checked at once")
        await pilot.press("]")
        await wait_until(pilot, lambda: engine.sent[-2:] == [Inspect(False), Resume()])
        await sees_no(pilot, "candidates", "steps a second")
        assert reply_text(app).endswith("result = 0")
        await pilot.press(*"]]]")  # pressed too often
        assert app.chat_screen.prompt.text == ""
        await pilot.press(*"a[")
        assert app.chat_screen.prompt.text == "a["
        assert engine.sent[-1] == Resume()
        engine.tell(finished(FUNCTION[:8]))
        await wait_until(pilot, lambda: "ready" in status(app))
        await pilot.press("ctrl+u")
        await wait_until(pilot, lambda: not takes_pace_key(app.chat_screen.state, now(), 1))
        await pilot.press("[")
        assert app.chat_screen.prompt.text == "["


async def test_a_message_that_is_begun_beside_a_paused_reply_is_typed_whole(engine: ScriptedEngine) -> None:
    async with opened(engine, size=(120, 30)) as (app, pilot):
        await pilot.press("f9")
        await say(app, pilot, "Write a function.")
        await sees(pilot, "paused: F9 goes on")
        footer = screen_text(app).splitlines()[-1]
        assert ("Slower" in footer, "Faster" in footer) == (False, True)
        await pilot.press(*"[a] paused")
        assert app.chat_screen.prompt.text == "[a] paused"
        assert app.chat_screen.state.paused
        await pilot.press("ctrl+u", "]")
        await sees(pilot, "1 step a second: [ slower, ] faster", "Slower")
        assert app.chat_screen.prompt.text == ""


async def test_what_was_meant_for_the_pace_of_a_reply_that_has_ended_is_not_typed(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        await pilot.press("f9")
        await say(app, pilot, "Write a function.")
        engine.tell(*streamed(FUNCTION[:1]), finished(FUNCTION[:1]))
        await wait_until(pilot, lambda: "ready" in status(app))
        await pilot.press(*"]]]")
        assert app.chat_screen.prompt.text == ""
        await wait_until(pilot, lambda: not takes_pace_key(app.chat_screen.state, now(), 1))
        await pilot.press("]")
        assert app.chat_screen.prompt.text == "]"


class TestTree:
    def drawn(
        self, stage: CandidateStage = CandidateStage.FADED, *, width: int = 40, height: int = 6, column: int = 4
    ) -> list[str]:
        return [line.plain for line in tree_lines(BRANCHING, stage, width=width, height=height, column=column)]

    def test_the_accepted_branch_comes_first_and_begins_where_the_text_ends(self) -> None:
        assert self.drawn() == [
            "    ├─.split┬(─) trajectory",
            "    │       ╰↵ successor",
            "    ╰─·words context",
        ]

    def test_it_keeps_to_its_room(self) -> None:
        assert self.drawn(column=30, width=24)[0] == " ├─.split┬(─) trajectory"
        assert self.drawn(column=30, width=10)[0] == "├─.split┬…"
        assert self.drawn(height=2)[-1] == "    … and 2 more branches"
