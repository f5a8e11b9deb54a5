"""The race: two panes, each with its own metrics, and a verdict at the end."""

from __future__ import annotations

import re

import pytest
from textual.color import Color

from lade_chat.protocol.commands import Compare, Explain
from lade_chat.protocol.events import ComparisonFinished
from lade_chat.protocol.values import DecodingOptions, Difference, Message, ModelInfo
from lade_chat.tui.chat.chat_state import Phase
from lade_chat.tui.race.pane import RacePane
from lade_chat.tui.race.queue import Race, Races
from lade_chat.tui.race.race_screen import RaceScreen
from tests.pairs import LONG
from tests.tui.driving import opened, reply_text, say, screen_text, sees, sees_no, status, wait_until
from tests.tui.explained import raced_walks
from tests.tui.racing import PLAIN, run_both
from tests.tui.scripted import FUNCTION, MODEL, ScriptedEngine, finished, streamed

RACES = Races().single(Race("Write a function.", ()))


async def test_what_an_engine_tells_at_once_is_shown_once_the_panes_are_there(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        screen = RaceScreen(RACES, MODEL, DecodingOptions(), app.chat_screen.decide)
        app.push_screen(screen)
        for event in streamed(FUNCTION)[1:]:
            screen.show_event(event, RACES)
        await sees(pilot, "16 steps")
        await wait_until(pilot, lambda: reply_text(app).count("It adds the numbers one by one.") == 1)


@pytest.mark.parametrize("width", [120, 80] if LONG else [120])
async def test_both_sides_run_and_the_verdict_is_told(engine: ScriptedEngine, width: int) -> None:
    async with opened(engine, size=(width, 40)) as (app, pilot):
        app.chat_screen.prompt.put("Write a function.")
        await pilot.press("ctrl+r")
        await wait_until(pilot, lambda: isinstance(app.screen, RaceScreen))
        assert engine.sent_of(Compare) == [
            Compare((Message("user", "Write a function."),), app.chat_screen.state.options)
        ]
        await sees(pilot, "longer than the clocks", "Both start alike")
        run_both(engine)
        await sees(pilot, "51 steps")
        left, right = app.screen.query(RacePane)
        assert (left.region.y == right.region.y) == (width == 120)
        engine.tell(ComparisonFinished(2.94, identical=True))
        await sees(pilot, "Lookahead auto is 2.94x as fast as plain decoding")
        await sees(pilot, "16 steps", "0.90 s", "2.65 s", "56.7 tok/s", "The texts are identical")
        await wait_until(pilot, lambda: reply_text(app).count("It adds the numbers one by one.") == 2)
        await pilot.press(*"More, same!")  # a letter starts no other race, and is not typed behind the screen
        await sees(pilot, "Nothing is typed here: Esc leads back.")
        await sees(pilot, "Lookahead auto is 2.94x as fast as plain decoding", "The texts are identical")
        await pilot.press("f1", "escape")
        await sees_no(pilot, "Nothing is typed here")
        assert len(engine.sent_of(Compare)) == 1
        await pilot.press("escape")
        assert app.screen is app.chat_screen
        assert app.chat_screen.prompt.text == "Write a function."
        assert app.chat_screen.conversation.messages == ()


@pytest.mark.parametrize(("speedup", "winner"), [(2.94, "left"), (0.5, "right"), (1.01, None)])
async def test_the_frame_of_the_winner_alone_stands_out_and_only_at_the_end(
    engine: ScriptedEngine, speedup: float, winner: str | None
) -> None:
    async with opened(engine, size=(120, 30)) as (app, pilot):
        app.chat_screen.prompt.put("Write a function.")
        await pilot.press("ctrl+r")
        await sees(pilot, "longer than the clocks")

        def frames() -> dict[str, Color]:
            return {str(pane.id): pane.styles.border_top[1] for pane in app.screen.query(RacePane)}

        before = frames()
        assert before["left"] == before["right"]
        run_both(engine)
        engine.tell(ComparisonFinished(speedup, identical=True))
        await sees(pilot, "identical")
        assert {side for side, colour in frames().items() if colour != before[side]} == ({winner} - {None})


async def test_the_prompt_is_as_before_a_race_wherever_its_question_came_from(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        prompt = app.chat_screen.prompt

        async def raced(question: str) -> str:
            """Let the race over ``question`` end, leave it, and return what the prompt holds."""
            await sees(pilot, f"Race: {question}", "waiting")
            run_both(engine)
            engine.tell(ComparisonFinished(2.94, identical=True))
            await sees(pilot, "esc Close")
            await pilot.press("escape")
            return prompt.text

        await say(app, pilot, "/compare Count from 3 to 9.")
        assert await raced("Count from 3 to 9.") == ""
        prompt.put("Why is that?")
        await pilot.press("ctrl+p", *"race", "enter")
        assert await raced("Why is that?") == "Why is that?"
        app.chat_screen.query_one("Welcome OptionList").focus()
        await pilot.press("end", "enter")
        await wait_until(pilot, lambda: app.chat_screen.state.phase is Phase.REPLYING)
        assert prompt.text == "Why is that?"  # an example takes nothing from a draft
        engine.tell(*streamed(FUNCTION), finished(FUNCTION))
        await sees(pilot, "ready")
        await pilot.press("ctrl+u", "ctrl+r")
        assert await raced("Tell me a short story") == ""


async def test_a_tiny_screen_shows_both_texts(engine: ScriptedEngine) -> None:
    async with opened(engine, size=(40, 10)) as (app, pilot):
        app.chat_screen.prompt.put("Write a function.")
        await pilot.press("ctrl+r")
        run_both(engine)
        engine.tell(ComparisonFinished(2.94, identical=True))
        await sees(pilot, "2.94x as fast", "lookahead auto", "plain decoding", "esc Close")
        await wait_until(pilot, lambda: screen_text(app).count("It adds the") == 2)


@pytest.mark.parametrize("speedup", [2.94, 0.34, 1.01] if LONG else [0.34, 1.01])
async def test_a_small_screen_shows_the_whole_verdict(engine: ScriptedEngine, speedup: float) -> None:
    async with opened(engine, size=(40, 12)) as (app, pilot):
        app.chat_screen.prompt.put("Write a function.")
        await pilot.press("ctrl+r")
        run_both(engine)
        engine.tell(ComparisonFinished(speedup, identical=True))
        figure = "(1.01x)" if speedup == 1.01 else "2.94x as fast"
        await wait_until(pilot, lambda: figure in (said := " ".join(screen_text(app).split())) and "identical." in said)


async def test_how_far_and_how_fast_have_their_names(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        app.chat_screen.prompt.put("Write a function.")
        await pilot.press("ctrl+r")
        run_both(engine)
        await sees(pilot, "51 steps")
        tracks = [line for line in screen_text(app).splitlines() if "━" in line]
        assert len(tracks) == 2
        assert all(re.search(r"tokens ━+ +tok/s [▁▂▃▄▅▆▇█]+ ", line) for line in tracks)


async def test_a_race_that_verified_nothing_says_so_and_why(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        app.chat_screen.prompt.put("Write a function.")
        await pilot.press("ctrl+r")
        engine.tell(*streamed(PLAIN)[1:], finished(PLAIN), *streamed(PLAIN, side="right", lookahead=False)[1:])
        engine.tell(finished(PLAIN, side="right", lookahead=False), ComparisonFinished(0.98, identical=True))
        await sees(pilot, "Lookahead auto verified nothing: no guess promised to save time here.")
        await sees(pilot, "51 steps · 51 tokens · 2.65 s")
        assert "guesses save nothing" not in screen_text(app)  # only the clocks of both sides can tell


async def test_a_step_tells_its_tokens_and_the_steps_just_raced_are_explained(engine: ScriptedEngine) -> None:
    async with opened(engine, size=(60, 18)) as (app, pilot):
        app.chat_screen.prompt.put("Write a function.")
        await pilot.press("ctrl+r")
        engine.tell(*streamed(FUNCTION[:7])[1:], *streamed(PLAIN[:4], side="right", lookahead=False)[1:])
        await sees(pilot, "lookahead auto · 5 tokens in this step", "plain decoding · 1 token in this step")
        assert "e Explain" not in screen_text(app)  # not before the end
        await pilot.press("ctrl+e")
        assert not engine.sent_of(Explain)
        run_both(engine)
        engine.tell(ComparisonFinished(2.94, identical=True))
        await sees(pilot, "at most 5 tokens in a step", "at most 1 token in a step", "e Explain")
        await pilot.press("ctrl+e")
        await wait_until(
            pilot, lambda: engine.sent_of(Explain) == [Explain((Message("user", "Write a function."),), raced=True)]
        )
        engine.tell(*raced_walks())
        await sees(pilot, "The race, step by step", "2 ▸", "The longest step")
        await pilot.press("space")
        await sees(pilot, "Step 2 of the race", "Before this step the reply ends with")
        await pilot.press("escape")
        assert isinstance(app.screen, RaceScreen)
        assert app.chat_screen.state.phase is Phase.READY


async def test_thoughts_are_folded_in_a_race_too(engine: ScriptedEngine) -> None:
    script = (("<think>", "carry", " the"), (" one", "</think>"), ("It", " is", " 42."))
    async with opened(engine, size=(120, 30)) as (app, pilot):
        app.chat_screen.prompt.put("17 + 25?")
        await pilot.press("ctrl+r")
        engine.tell(*streamed(script)[1:], finished(script))
        await sees(pilot, "thought for 3 tokens", "It is 42.")
        assert "carry" not in screen_text(app)
        await pilot.press("f5")
        await sees(pilot, "carry the one")


async def test_the_first_difference_is_told(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        app.chat_screen.prompt.put("Hello")
        await pilot.press("ctrl+r")
        run_both(engine)
        engine.tell(ComparisonFinished(0.5, identical=False, difference=Difference(11, " sum", " total", 0.00012, 3.0)))
        await sees(pilot, "First difference at token 12")
        await sees(pilot, "Plain decoding is 2.00x as fast as lookahead auto", "“ sum” left, “ total” right")
        await sees(pilot, "0.00012 apart: one is 0.012 % likelier than the other")


async def test_an_empty_prompt_races_the_last_question(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        await pilot.press("ctrl+r")
        await wait_until(pilot, lambda: "Nothing to race yet" in status(app))
        await say(app, pilot, "one")
        await pilot.press("ctrl+r")
        await wait_until(pilot, lambda: "still answering" in status(app))
        engine.tell(*streamed((("1",),)), finished((("1",),)))
        await wait_until(pilot, lambda: app.chat_screen.state.phase is Phase.READY)
        await pilot.press("ctrl+r")
        (command,) = engine.sent_of(Compare)
        assert isinstance(command, Compare)
        assert command.messages == (Message("user", "one"),)


async def test_there_is_no_race_where_there_is_no_lookahead(engine: ScriptedEngine) -> None:
    model = ModelInfo("rwkv", "cpu", "float32", 1, 2048, lookahead_supported=False)
    async with opened(engine, model=model) as (app, pilot):
        app.chat_screen.prompt.put("Hello")
        await pilot.press("ctrl+r")
        assert not engine.sent_of(Compare)
        assert "nothing to race" in status(app)


async def test_who_leads_is_told_and_how_far_each_side_has_got(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        app.chat_screen.prompt.put("Hello")
        await pilot.press("ctrl+r")
        engine.tell(*streamed(FUNCTION[:8])[1:], *streamed(PLAIN[:12], side="right", lookahead=False)[1:])
        await sees(pilot, "lookahead auto leads by 13 tokens at 0.50 s")
        engine.tell(*streamed(FUNCTION)[1:], finished(FUNCTION))
        await sees(pilot, "lookahead auto has finished, 39 tokens ahead")
        left, right = (str(pane.query_one(".race-track").render()) for pane in app.screen.query(RacePane))
        assert left.count("━") > 4 * right.count("━") > 0
        assert "█" in left


async def test_the_tracks_are_as_long_as_there_is_room_in_a_screen_that_has_grown(engine: ScriptedEngine) -> None:
    async with opened(engine, size=(50, 12)) as (app, pilot):
        app.chat_screen.prompt.put("Write a function.")
        await pilot.press("ctrl+r")
        engine.tell(*streamed(PLAIN)[1:], finished(PLAIN), *streamed(PLAIN, side="right", lookahead=False)[1:])
        engine.tell(finished(PLAIN, side="right", lookahead=False), ComparisonFinished(0.98, identical=True))
        await wait_until(pilot, lambda: isinstance(app.screen, RaceScreen) and app.screen.has_ended)
        await pilot.resize_terminal(80, 24)
        await wait_until(pilot, lambda: screen_text(app).count("━" * 30) == 2)
