"""The method explained: walks become pages, the space bar leads through them, and all of it fits."""

from __future__ import annotations

import signal
from collections.abc import Callable

import msgspec
import pytest
from textual.widgets import Static

from lade_chat.protocol.commands import Explain, Stop
from lade_chat.protocol.events import EngineLost, Event, Failed, LoadFailed, Loading
from lade_chat.protocol.tutorial import Convergence
from lade_chat.tui.explain import explain_screen
from lade_chat.tui.explain.explain_screen import MOMENT, ExplainScreen
from lade_chat.tui.explain.page import draw_legend, draw_mask, mask_width
from tests.pairs import LONG
from tests.tui.driving import resize, screen_text, wait_until
from tests.tui.explained import MASK, explaining, one_line, pages, raced_walks, said, sees, walk_of, walks
from tests.tui.scripted import MODEL, ScriptedEngine


async def test_the_space_bar_alone_leads_from_start_to_end_and_tells_what_matters(engine: ScriptedEngine) -> None:
    async with explaining(engine) as (app, pilot):
        told = list(said(await pages(pilot)))
        await wait_until(pilot, lambda: not app.is_running)
    assert app.trouble == ""
    whole = " ".join(told)
    for words in (
        "words, or pieces of words",
        "runs of n tokens, called n-grams",
        "A token of the reply is often said at the wrong place first.",
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


async def test_nothing_is_drawn_once_its_parts_are_gone(engine: ScriptedEngine) -> None:
    """As while the application ends."""
    async with explaining(engine) as (app, pilot):
        await app.screen.query_one("#explain-mask").remove()
        await resize(pilot, 100, 30)
    assert app.trouble == ""


async def test_a_second_ctrl_c_quits(engine: ScriptedEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lade_chat.tui.app.quitting.INTERRUPT_SECONDS", 3600.0)
    async with explaining(engine) as (app, pilot):
        await pilot.press("ctrl+c")
        await pilot.pause()
        assert app.is_running
        await pilot.press("ctrl+c")
        await wait_until(pilot, lambda: not app.is_running)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
async def test_a_signal_ends_it_with_its_own_exit_code(engine: ScriptedEngine, number: signal.Signals) -> None:
    async with explaining(engine) as (app, pilot):
        signal.raise_signal(number)
        await wait_until(pilot, lambda: app.return_code == 128 + number)


async def test_a_download_is_told_with_the_key_that_cancels_it(engine: ScriptedEngine) -> None:
    async with explaining(engine, events=[Loading("download", 1_000_000, 4_000_000)], model=None) as (_app, pilot):
        await sees(pilot, "1.0 MB of 4.0 MB", "Esc cancels")


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


@pytest.mark.parametrize(
    ("size", "events"),
    [((60, 18), walks), ((60, 18), raced_walks), *([((80, 24), walks), ((160, 50), raced_walks)] if LONG else [])],
)
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


@pytest.mark.parametrize("size", [(40, 12), (59, 18), (60, 17)])
async def test_a_screen_too_small_for_its_pages_is_told_the_size(engine: ScriptedEngine, size: tuple[int, int]) -> None:
    async with explaining(engine, size=size) as (_, pilot):
        await sees(pilot, "It needs a screen of 60 × 18 or more.", "Leave")
        assert "space Next" not in one_line(pilot)
        await pilot.press("space", "p")
        await pilot.resize_terminal(60, 18)
        await sees(pilot, "1 / ", "words, or pieces of words", "space Next")


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


# --- The attention mask as it is drawn, with its legend


class TestMask:
    def test_two_rows_share_a_line_and_each_group_begins_one(self) -> None:
        assert [line.plain for line in draw_mask(MASK, None, labelled=True)] == [
            "           cache i c  w",
            "input      ▀▀▀▀▀ ▀     ",
            "candidates █████ █ █▄  ",
            "window     ▀▀▀▀▀ ▀    ▀",
        ]

    @pytest.mark.parametrize(
        ("height", "lines"),
        [
            (
                5,
                ["", "i: input, the last token", "c: guesses being checked", "w: window", "cache: the 7 tokens before"],
            ),
            (2, ["", "i: input, the last token"]),
            (1, []),
        ],
    )
    def test_the_legend_repeats_the_short_names(self, height: int, lines: list[str]) -> None:
        assert [line.plain for line in draw_legend(MASK, 30, height)] == lines

    @pytest.mark.parametrize("labelled", [False, True])
    def test_it_is_as_wide_as_foretold(self, labelled: bool) -> None:
        lines = draw_mask(MASK, None, labelled=labelled)
        assert {line.cell_length for line in lines} == {mask_width(MASK, labelled=labelled)}
