"""The explanation's pages where the steps were not as usual."""

from __future__ import annotations

import msgspec
import pytest
from textual.geometry import Size

from lade_chat.protocol.commands import Explain, Stop
from lade_chat.protocol.events import EngineLost
from lade_chat.protocol.inspection import Candidate, Inspection
from lade_chat.protocol.tutorial import (
    Collection,
    ComparedSteps,
    Comparison,
    Convergence,
    ExplainFinished,
    Iteration,
    LookaheadStep,
    ReplyToken,
    Verification,
)
from lade_chat.protocol.values import ModelInfo
from lade_chat.tui.app.application import ChatApp
from lade_chat.tui.chat.chat_state import Phase
from lade_chat.tui.explain.explain_screen import ExplainScreen
from lade_chat.tui.explain.guess_pages import jacobi_pages, ngram_pages
from lade_chat.tui.explain.overview import comparison_pages, raced_pages
from lade_chat.tui.explain.page import Page
from lade_chat.tui.explain.verification_pages import verification_pages
from lade_chat.tui.screens.manual import HelpScreen
from tests.tui.driving import opened, say, status, wait_until
from tests.tui.explained import MASK, sees, walk_of, walks
from tests.tui.scripted import ScriptedEngine, finished, streamed


class TestOtherReplies:
    """What is said where the steps were not as usual."""

    def told(self, pages: list[Page]) -> str:
        """All that is said; every picture can be drawn."""
        assert all(page.draw(Size(40, 12)) is not None for page in pages)
        return " ".join(page.says for page in pages)

    def test_nothing_to_verify(self) -> None:
        assert "there was nothing to verify yet" in self.told(verification_pages(Verification("", None)))

    def test_a_race_in_which_nothing_was_guessed(self) -> None:
        steps = ((ReplyToken("a", "plain"),), (ReplyToken("b", "plain"),))
        told = self.told(raced_pages(ComparedSteps(steps, "lookahead auto", "plain decoding", 2, best=1)))
        assert "Plain decoding took two runs of the model, lookahead auto 2. No guess came true here" in told

    @pytest.mark.parametrize(
        ("tokens", "first", "last"),
        [(2, "⋮ 25 more", "⋮ 7 more"), (1, "1   a", "⋮ 31 more")],  # where none came true, from the beginning
    )
    def test_a_long_race_is_drawn_around_its_longest_step(self, tokens: int, first: str, last: str) -> None:
        steps = [(ReplyToken("a", "plain"),)] * 40
        steps[29] *= tokens
        (page,) = raced_pages(ComparedSteps(tuple(steps), "lookahead auto", "plain decoding", 40, best=30))
        drawn = [line.plain.strip() for line in page.draw(Size(40, 10))]
        assert (drawn[0], drawn[-1]) == (first, last)

    def test_nothing_accepted(self) -> None:
        verification = walk_of(Verification)
        assert isinstance(verification, Verification)
        assert verification.step is not None
        step = verification.step
        candidates = tuple(msgspec.structs.replace(each, accepted=False) for each in step.inspection.candidates)
        inspection = msgspec.structs.replace(step.inspection, candidates=candidates, settled=("no",))
        other = msgspec.structs.replace(step, inspection=inspection, chosen=("no",) * len(step.chosen))
        told = self.told(verification_pages(Verification("", other)))
        assert "all guesses are dropped" in told
        assert "After the last verified token" not in told

    def test_a_reply_that_is_too_short_for_n_grams(self) -> None:
        collection = walk_of(Collection)
        assert isinstance(collection, Collection)
        for steps in ((), collection.steps[:2]):
            assert "ended before any n-gram could be collected" in self.told(ngram_pages(Collection(steps)))

    def test_one_guess_accepted(self) -> None:
        candidate = Candidate("on", 0, "trajectory", True)
        step = LookaheadStep(Inspection(9, "and", ("on", "and"), (candidate,)), ("on", "and"), MASK)
        told = self.told(verification_pages(Verification("and", step)))
        assert "Here one is: it is verified. After the last verified token" in told

    def test_a_reply_that_ends_with_a_verified_token(self) -> None:
        candidates = (Candidate("<end>", 0, "trajectory", True), Candidate("<end>", 1, "trajectory", False))
        step = LookaheadStep(Inspection(9, ".", ("<end>",), candidates), ("<end>", "<end>", "<end>"), MASK)
        told = self.told(verification_pages(Verification(".", step)))
        assert "Here one is: it is verified. The others are dropped." in told
        assert "nothing is written after it. So this one step has written one token." in told
        assert "one more token" not in told

    def test_a_long_run_of_candidates_is_broken_into_lines_of_whole_tokens(self) -> None:
        words = tuple(f"word{number}" for number in range(19))
        candidates = tuple(Candidate(word, number, "context", number < 5) for number, word in enumerate(words))
        step = LookaheadStep(Inspection(9, "so", words[:6], candidates), (*words, "end"), MASK)
        for page in verification_pages(Verification("so", step)):
            for room, some, all_fit in ((Size(76, 16), words, True), (Size(56, 8), words[:7], False)):
                lines = [line.plain for line in page.draw(room)]
                assert max(map(len, lines)) <= room.width
                assert len(lines) <= room.height
                assert set(some) <= set(" ".join(lines).split())
                assert any("more" in line for line in lines) is not all_fit
            assert page.mask is None

    def test_no_block_to_settle(self) -> None:
        assert jacobi_pages(Convergence("", 1, False, ())) == []

    @pytest.mark.parametrize(
        ("chosen", "words"),
        [
            (
                ("a", "b", "z", "z", "z"),
                "“a” and “b” were right. So what the model says after them is settled, too: three",
            ),
            (("a", "b", "c", "z", "z"), "“a” to “c” were right. All five places are settled now."),
        ],
    )
    def test_several_guesses_that_were_right_are_named(self, chosen: tuple[str, ...], words: str) -> None:
        guesses = ("a", "b", "c", "d")
        right = next((number for number in range(4) if chosen[number] != guesses[number]), 4)
        first = Iteration(("q",) * 5, ("o", *guesses, "y"), 1, MASK)
        rest = Iteration(("u",) * (3 - right), ("v",) * (4 - right), 4 - right, MASK)
        iterations = (first, Iteration(guesses, chosen, right + 1, MASK), *([rest] if right < 4 else []))
        assert words in self.told(jacobi_pages(Convergence("o", 4, True, iterations)))

    @pytest.mark.parametrize(
        ("template", "words"),
        [(True, "17 tokens, the question and what the chat template"), (False, "User:")],
    )
    def test_what_else_than_the_question_stands_before_the_reply(self, template: bool, words: str) -> None:
        walk = walk_of(Convergence)
        assert isinstance(walk, Convergence)
        page = jacobi_pages(msgspec.structs.replace(walk, template=template))[0]
        lines = [line.plain for line in page.draw(Size(80, 12))]
        assert lines[0] == "reply  ```"
        assert words in lines[-1]

    @pytest.mark.parametrize(
        ("origins", "steps", "ended", "words"),
        [
            ("ppp", 3, False, "0 of the 3 tokens were | All 3 are the model's own, one from each step."),
            ("pgp", 2, True, "1 of the 3 tokens was | one from each step. The very last one is invisible"),
            ("pgg", 2, True, "2 of the 3 tokens were | but the last: there a right guess was the invisible token"),
            ("pgg", 2, False, "2 of the 3 tokens were | but the last: there a right guess was the last token of all"),
        ],
    )
    def test_the_metrics_of_the_whole_reply_add_up(self, origins: str, steps: int, ended: bool, words: str) -> None:
        said = tuple(ReplyToken("a", "plain" if origin == "p" else "context") for origin in origins)
        page = comparison_pages(Comparison(said, 3, steps, True, ended))[0]
        share, own = words.split(" | ")
        assert share in page.says
        assert own in page.draw(Size(200, 12))[-1].plain

    def test_of_a_reply_that_is_too_long_the_end_is_seen(self) -> None:
        said = tuple(ReplyToken(f"{number}\n", "plain") for number in range(30))
        page = comparison_pages(Comparison(said, 30, 30, True, False))[0]
        lines = [line.plain for line in page.draw(Size(40, 9))]
        assert len(lines) == 9
        assert lines[0] == "…"
        assert "29" in lines

    def test_two_texts_that_part(self) -> None:
        told = self.told(comparison_pages(Comparison((ReplyToken("b", "plain"),), 1, 1, False, False)))
        assert "so near a tie that rounding decided" in told
        assert "token for token" not in told


# --- The explanation opened from the chat, and closed again

ONE = (("1",),)


class TestFromTheChat:
    async def explained(self, app: ChatApp, engine: ScriptedEngine, pilot) -> None:
        await wait_until(pilot, lambda: isinstance(app.screen, ExplainScreen))
        assert len(engine.sent_of(Explain)) == 1

    async def test_by_command_and_back_again(self, engine: ScriptedEngine) -> None:
        async with opened(engine) as (app, pilot):
            await say(app, pilot, "/explain")
            await self.explained(app, engine, pilot)
            engine.tell(*walks())
            await wait_until(pilot, lambda: app.chat_screen.state.phase is Phase.READY)
            await pilot.press("space", "space")
            await sees(pilot, "1 of 3")
            await pilot.press("escape")
            await wait_until(pilot, lambda: app.screen is app.chat_screen)
            assert not engine.sent_of(Stop)
            await say(app, pilot, "Hello")
            assert app.chat_screen.state.phase is Phase.REPLYING

    async def test_from_the_help_and_a_draft_is_left(self, engine: ScriptedEngine) -> None:
        async with opened(engine) as (app, pilot):
            app.chat_screen.prompt.put("half a thought")
            await pilot.press("f1")
            await wait_until(pilot, lambda: isinstance(app.screen, HelpScreen))
            await pilot.press("ctrl+e")
            await self.explained(app, engine, pilot)
            assert app.chat_screen.prompt.text == "half a thought"

    async def test_left_early_the_engine_is_stopped_and_the_chat_goes_on(self, engine: ScriptedEngine) -> None:
        async with opened(engine) as (app, pilot):
            await say(app, pilot, "/explain")
            await self.explained(app, engine, pilot)
            engine.tell(*walks()[:1])
            await pilot.press("escape")
            await wait_until(pilot, lambda: app.screen is app.chat_screen)
            assert engine.sent[-1] == Stop()
            engine.tell(ExplainFinished())
            await wait_until(pilot, lambda: "ready" in status(app))

    async def test_an_engine_that_is_lost_meanwhile_is_told_in_both_places(self, engine: ScriptedEngine) -> None:
        async with opened(engine) as (app, pilot):
            await say(app, pilot, "/explain")
            await self.explained(app, engine, pilot)
            engine.tell(EngineLost("the engine process ended"))
            await sees(pilot, "It broke off", "the engine process ended")
            await pilot.press("escape")
            await sees(pilot, "The engine process ended")
            assert app.chat_screen.state.phase is Phase.LOST

    async def test_asked_for_too_early_it_opens_once_the_model_is_free_and_interrupts_nobody(
        self, engine: ScriptedEngine
    ) -> None:
        async with opened(engine, model=None) as (app, pilot):
            app.screen.query_one("Welcome OptionList").focus()
            await pilot.press("enter")
            await sees(pilot, "How it works opens once the model is loaded.")
            engine.load()
            await self.explained(app, engine, pilot)
            engine.tell(*walks())
            await wait_until(pilot, lambda: app.chat_screen.state.phase is Phase.READY)
            await pilot.press("escape")
            app.chat_screen.prompt.focus()

            async def ask_and_explain() -> None:
                await say(app, pilot, "Hello")
                await say(app, pilot, "/explain")
                engine.tell(*streamed(ONE))
                await sees(pilot, "How it works opens when this reply has ended.", "tok/s")

            await ask_and_explain()
            await pilot.press(*"a draft")
            engine.tell(finished(ONE))
            await sees(pilot, "Type /explain now")
            await pilot.press("ctrl+u")
            await ask_and_explain()
            await pilot.press("escape", "escape")  # forgets it
            engine.tell(finished(ONE, "cancelled"))
            await sees(pilot, "ready")
            assert len(engine.sent_of(Explain)) == 1
            await ask_and_explain()
            await say(app, pilot, "Later")
            engine.tell(finished(ONE))
            await wait_until(pilot, lambda: isinstance(app.screen, ExplainScreen))
            engine.tell(*walks())
            await sees(pilot, "1 / ")
            await wait_until(pilot, lambda: app.chat_screen.state.phase is Phase.REPLYING)  # what was queued

    async def test_it_is_refused_where_lookahead_is_not_to_be_had(self, engine: ScriptedEngine) -> None:
        plain = ModelInfo("mamba", "cpu", "float32", 1, 512, lookahead_supported=False)
        async with opened(engine, model=plain) as (app, pilot):
            await say(app, pilot, "/explain")
            await sees(pilot, "so there is nothing to show.")
        assert not engine.sent_of(Explain)
