"""The method explained: walks become pages, the space bar leads through them, and all of it fits."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import pytest
from textual.widgets import Static

from lade_chat.protocol.commands import Explain
from lade_chat.protocol.control import Stop
from lade_chat.protocol.events import EngineLost, Event, Failed, LoadFailed
from lade_chat.protocol.inspection import Candidate, Inspection
from lade_chat.protocol.tutorial import (
    Chapter,
    Collection,
    Comparison,
    Convergence,
    Explained,
    ExplainFinished,
    Iteration,
    LookaheadStep,
    Mask,
    Raced,
    ReplyToken,
    Verification,
)
from lade_chat.protocol.values import ModelInfo
from lade_chat.tui.app.application import ChatApp
from lade_chat.tui.control.view import Phase
from lade_chat.tui.explain import screen as explain_screen
from lade_chat.tui.explain.jacobi import jacobi_pages
from lade_chat.tui.explain.mask import draw_legend, draw_mask, mask_height, mask_width
from lade_chat.tui.explain.ngrams import ngram_pages
from lade_chat.tui.explain.overview import comparison_pages
from lade_chat.tui.explain.page import Page, Room
from lade_chat.tui.explain.raced import raced_pages
from lade_chat.tui.explain.screen import MOMENT, ExplainScreen
from lade_chat.tui.explain.verification import verification_pages
from lade_chat.tui.screens.manual import HelpScreen
from tests.tui.driving import opened, say, screen_text, status, wait_until
from tests.tui.explained import explaining, one_line, pages, raced_walks, said, sees, walks
from tests.tui.scripted import MODEL, ScriptedEngine, finished, streamed

ONE = (("1",),)

SIZES = ((60, 18), (80, 24), (160, 50))
MASK = Mask(7, (("input", 1), ("candidates", 2), ("window", 1)), ("x...", "xx..", "xxx.", "x..x"))


def walk_of(kind: type[Chapter]) -> Chapter:
    return next(event.chapter for event in walks() if isinstance(event, Explained) and isinstance(event.chapter, kind))


async def test_the_space_bar_alone_leads_from_start_to_end_and_tells_what_matters(engine: ScriptedEngine) -> None:
    async with explaining(engine) as (app, pilot):
        told = list(said(await pages(pilot)))
        await wait_until(pilot, lambda: not app.is_running)
    assert app.trouble == ""
    whole = " ".join(told)
    for words in (
        "words, or pieces of words",
        "runs of n tokens, called n-grams",
        "Look at “largest”: the model said it in step 1 already, but one place too early.",
        "A guess is right if it is the token that the model says at its place",
        "This is why guesses cannot change the text",
        "The guess “↵” was right. So what the model says after it is settled, too: two places at once.",
        "Here three in a row are: they are verified. The others are dropped.",
        "in the pool of n-grams and in the text so far",
        "Plain decoding took 60 steps for this text, lookahead decoding 42",
    ):
        assert words in whole
    walks_seen = list(dict.fromkeys(part for page in told for part in ("1 of 3", "2 of 3", "3 of 3") if part in page))
    assert walks_seen == ["1 of 3", "2 of 3", "3 of 3"]


async def test_a_second_ctrl_c_quits(engine: ScriptedEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lade_chat.tui.app.interrupts.INTERRUPT_SECONDS", 3600.0)
    async with explaining(engine) as (app, pilot):
        await pilot.press("ctrl+c")
        await pilot.pause()
        assert app.is_running
        await pilot.press("ctrl+c")
        await wait_until(pilot, lambda: not app.is_running)


async def test_what_settles_is_what_the_model_chose(engine: ScriptedEngine) -> None:
    async with explaining(engine) as (_, pilot):
        told = await pages(pilot)
    page = next(page for page in told if "So six tokens took five steps" in " ".join(page.split()))
    rows = {line.split()[1]: line.split()[2:] for line in page.splitlines() if line.split()[:1] == ["step"]}
    convergence = walk_of(Convergence)
    assert isinstance(convergence, Convergence)
    assert [len(row) for row in rows.values()] == [6] * len(convergence.iterations)
    assert rows["5"][:3] == ["python", "↵", "def"]
    assert rows["2"][:3] == ["python", "↵", "def"]
    assert rows["1"][0] == "python"


@pytest.mark.parametrize("events", [walks, raced_walks])
@pytest.mark.parametrize("size", SIZES)
async def test_every_page_fits(
    engine: ScriptedEngine, size: tuple[int, int], events: Callable[[], list[Event]]
) -> None:
    async with explaining(engine, events=events(), size=size) as (app, pilot):
        screen = app.screen
        assert isinstance(screen, ExplainScreen)
        while "space Close" not in one_line(pilot):
            await pilot.press("space")
            await pilot.pause()
            for name in ("says", "picture", "mask"):
                part = screen.query_one(f"#explain-{name}", Static)
                if not part.display or not part.visible:
                    continue
                content = part.content_size
                assert part.visual.get_height(part.styles, content.width) <= content.height, name
                assert part.region.right <= size[0]


async def test_the_last_page_says_that_space_closes(engine: ScriptedEngine) -> None:
    async with explaining(engine) as (app, pilot):
        screen = app.screen
        assert isinstance(screen, ExplainScreen)
        assert "space Next" in one_line(pilot)
        while "space Close" not in one_line(pilot):
            await pilot.press("space")
            await pilot.pause()
        assert "Next" not in screen_text(pilot.app).splitlines()[-1]
        await pilot.press("backspace")
        await sees(pilot, "space Next")


async def test_backspace_goes_back_and_the_arrows_go_both_ways(engine: ScriptedEngine) -> None:
    async with explaining(engine) as (_, pilot):
        await sees(pilot, "1 / ")
        await pilot.press("backspace")
        await sees(pilot, "1 / ", "words, or pieces of words")
        await pilot.press("space", "right", "backspace")
        await sees(pilot, "2 / ", "checks several guesses")
        await pilot.press("left")
        await sees(pilot, "words, or pieces of words")


@pytest.mark.parametrize("key", ["p", "enter"])
async def test_played_the_pages_turn_by_themselves_and_stay_at_the_end(
    engine: ScriptedEngine, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.setattr(explain_screen, "PLAY_SECONDS", 0.01)
    async with explaining(engine) as (app, pilot):
        await pilot.press(key)
        await sees(pilot, "That is all of it.")
        await pilot.pause(0.05)
        assert isinstance(app.screen, ExplainScreen)
        assert "playing" not in screen_text(pilot.app)


async def test_any_step_by_hand_ends_the_playing(engine: ScriptedEngine) -> None:
    async with explaining(engine) as (_, pilot):
        await pilot.press("p")
        await sees(pilot, "playing")
        await pilot.press("space")
        await sees(pilot, "2 / ")
        assert "playing" not in screen_text(pilot.app)


async def test_who_is_faster_than_the_model_waits_for_it(engine: ScriptedEngine) -> None:
    events = walks()
    async with explaining(engine, events=events[:1]) as (_, pilot):
        await pilot.press("space", "space")
        await sees(pilot, MOMENT)
        engine.tell(events[1])
        await sees(pilot, "1 of 3", "guesses for the next six")
        assert MOMENT not in screen_text(pilot.app)


async def test_esc_leaves_and_stops_the_steps_that_are_being_taken(engine: ScriptedEngine) -> None:
    async with explaining(engine, events=walks()[:2]) as (app, pilot):
        await pilot.press("escape")
        await wait_until(pilot, lambda: not app.is_running)
    assert engine.sent_of(Stop) == [Stop()]


@pytest.mark.parametrize("end", [Failed("out of memory"), EngineLost("the engine process ended")])
async def test_what_breaks_off_is_told_and_what_was_told_stays(
    engine: ScriptedEngine, end: Failed | EngineLost
) -> None:
    async with explaining(engine, events=[*walks()[:1], end]) as (_, pilot):
        await pilot.press("space", "space")
        await sees(pilot, "It broke off", end.message)
        await pilot.press("backspace")
        await sees(pilot, "What this is about")


async def test_a_model_that_lookahead_cannot_serve_ends_it_with_one_line(engine: ScriptedEngine) -> None:
    model = msgspec.structs.replace(MODEL, lookahead_supported=False)
    async with explaining(engine, events=[], model=model) as (app, pilot):
        await wait_until(pilot, lambda: not app.is_running)
    assert "lookahead cannot serve this model" in app.trouble
    assert not engine.sent_of(Explain)


async def test_a_model_that_cannot_be_loaded_ends_it_with_one_line(engine: ScriptedEngine) -> None:
    failed = LoadFailed("there is no config.json in this folder")
    async with explaining(engine, events=[failed], model=None) as (app, pilot):
        await wait_until(pilot, lambda: not app.is_running)
    assert app.trouble == "there is no config.json in this folder"


class TestOtherReplies:
    """What is said where the steps were not as usual."""

    def told(self, pages: list[Page]) -> str:
        """All that is said; every picture can be drawn."""
        assert all(page.draw(Room(40, 12)) is not None for page in pages)
        return " ".join(page.says for page in pages)

    def test_nothing_to_verify(self) -> None:
        assert "there was nothing to verify yet" in self.told(verification_pages(Verification("", None)))

    def test_a_race_in_which_nothing_was_guessed(self) -> None:
        steps = ((ReplyToken("a", "plain"),), (ReplyToken("b", "plain"),))
        told = self.told(raced_pages(Raced(steps, "lookahead auto", "plain decoding", 2, best=1)))
        assert "Plain decoding took two runs of the model, lookahead auto 2. No guess here was worth a check" in told

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
        lines = [line.plain for line in page.draw(Room(80, 12))]
        assert lines[0] == "reply  ```"
        assert words in lines[-1]

    @pytest.mark.parametrize(
        ("origins", "steps", "ended", "words"),
        [
            ("ppp", 3, False, "0 of the 3 tokens were | The other 3 are the model's own, one from each step."),
            ("pgp", 2, True, "1 of the 3 tokens was | one from each step. The very last one is invisible"),
            ("pgg", 2, True, "2 of the 3 tokens were | but the last: there a right guess was the invisible token"),
            ("pgg", 2, False, "2 of the 3 tokens were | but the last: there a right guess was the last token of all"),
        ],
    )
    def test_the_metrics_of_the_whole_reply_add_up(self, origins: str, steps: int, ended: bool, words: str) -> None:
        said = tuple(ReplyToken("a", "plain" if origin == "p" else "context") for origin in origins)
        page = comparison_pages(Comparison(said, said, 3, steps, True, ended))[0]
        share, own = words.split(" | ")
        assert share in page.says
        assert own in page.draw(Room(200, 12))[-1].plain

    def test_of_a_reply_that_is_too_long_the_end_is_seen(self) -> None:
        said = tuple(ReplyToken(f"{number}\n", "plain") for number in range(30))
        page = comparison_pages(Comparison(said, said, 30, 30, True, False))[0]
        lines = [line.plain for line in page.draw(Room(40, 9))]
        assert len(lines) == 9
        assert lines[0] == "…"
        assert "29" in lines

    def test_two_texts_that_part(self) -> None:
        told = self.told(
            comparison_pages(Comparison((ReplyToken("a", "plain"),), (ReplyToken("b", "plain"),), 1, 1, False, False))
        )
        assert "so near a tie that rounding decided" in told
        assert "token for token" not in told


class TestFromTheChat:
    async def explained(self, app: ChatApp, engine: ScriptedEngine, pilot) -> None:
        await wait_until(pilot, lambda: isinstance(app.screen, ExplainScreen))
        assert len(engine.sent_of(Explain)) == 1

    async def test_by_command_and_back_again(self, engine: ScriptedEngine) -> None:
        async with opened(engine) as (app, pilot):
            await say(app, pilot, "/explain")
            await self.explained(app, engine, pilot)
            engine.tell(*walks())
            await wait_until(pilot, lambda: app.chat_screen.chat.phase is Phase.READY)
            await pilot.press("space", "space")
            await sees(pilot, "1 of 3")
            await pilot.press("escape")
            await wait_until(pilot, lambda: app.screen is app.chat_screen)
            assert not engine.sent_of(Stop)
            await say(app, pilot, "Hello")
            assert app.chat_screen.chat.phase is Phase.REPLYING

    async def test_from_the_help(self, engine: ScriptedEngine) -> None:
        async with opened(engine) as (app, pilot):
            await pilot.press("f1")
            await wait_until(pilot, lambda: isinstance(app.screen, HelpScreen))
            await pilot.press("ctrl+e")
            await self.explained(app, engine, pilot)

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
            assert app.chat_screen.chat.phase is Phase.LOST

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
            await wait_until(pilot, lambda: app.chat_screen.chat.phase is Phase.READY)
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
            await wait_until(pilot, lambda: app.chat_screen.chat.phase is Phase.REPLYING)  # what was queued

    async def test_it_is_refused_where_lookahead_is_not_to_be_had(self, engine: ScriptedEngine) -> None:
        plain = ModelInfo("mamba", "cpu", "float32", 1, 512, lookahead_supported=False)
        async with opened(engine, model=plain) as (app, pilot):
            await say(app, pilot, "/explain")
            await sees(pilot, "so there is nothing to show.")
        assert not engine.sent_of(Explain)


class TestMask:
    def test_two_rows_share_a_line_and_each_group_begins_one(self) -> None:
        assert [line.plain for line in draw_mask(MASK, frozenset(), labelled=True, tall=False)] == [
            "           cache i c  w",
            "input      ▀▀▀▀▀ ▀     ",
            "candidates █████ █ █▄  ",
            "window     ▀▀▀▀▀ ▀    ▀",
        ]

    def test_tall_every_row_has_its_line_and_squares_are_two_wide(self) -> None:
        assert [line.plain for line in draw_mask(MASK, frozenset({"window"}), labelled=False, tall=True)] == [
            "cache in c    w ",
            "█████ ██        ",
            "█████ ██ ██     ",
            "█████ ██ ████   ",
            "█████ ██      ██",
        ]

    @pytest.mark.parametrize(
        ("height", "tall", "lines"),
        [
            (5, False, ["", "i: input, the last token", "c: candidates", "w: window", "cache: the 7 tokens before"]),
            (3, True, ["", "in: input, the last token", "c: candidates"]),
            (2, False, ["", "i: input, the last token"]),
            (1, False, []),
        ],
    )
    def test_the_legend_repeats_the_short_names(self, height: int, tall: bool, lines: list[str]) -> None:
        assert [line.plain for line in draw_legend(MASK, 30, height, tall=tall)] == lines

    @pytest.mark.parametrize("labelled", [False, True])
    @pytest.mark.parametrize("tall", [False, True])
    def test_it_is_as_large_as_foretold(self, labelled: bool, tall: bool) -> None:
        lines = draw_mask(MASK, frozenset(), labelled=labelled, tall=tall)
        assert {line.cell_length for line in lines} == {mask_width(MASK, labelled=labelled, tall=tall)}
        assert len(lines) == mask_height(MASK, tall=tall)
