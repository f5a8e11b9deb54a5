"""Every metric on the screen tells how it is measured, and the lines around the chat show what fits whole."""

from __future__ import annotations

import re

import msgspec
import pytest
from textual.widget import Widget
from textual.widgets import OptionList

from lade_chat.presentation.metric_help import METRIC_HELP
from lade_chat.presentation.metric_words import reply_parts, sizes_name, speedup_words
from lade_chat.presentation.status_parts import fit
from lade_chat.protocol.events import ComparisonFinished, EngineLost, Tokens
from lade_chat.protocol.values import DecodingOptions, ModelInfo, Sampling, Sizes, Statistics
from lade_chat.tui.app.application import ChatApp
from lade_chat.tui.prompt.editor import PromptEditor
from lade_chat.tui.reply.tinted_text import TextChunk
from lade_chat.tui.transcript.turn_view import Folded
from lade_chat.tui.widgets.bars import HeaderBar, KeyFooter
from lade_chat.tui.widgets.metric_lines import MetricLine, explain
from tests.pairs import LONG
from tests.tui.driving import opened, resize, say, screen_text, sees, status, wait_until
from tests.tui.scripted import FUNCTION, INSPECTED_STEP, MODEL, ScriptedEngine, finished, pieces, statistics, streamed

METRIC = re.compile(r"\d ?(tok|ms\b|s\b|x\b|×|%|steps?\b|tokens?\b|n-grams?\b)|\d/\d|█|━")
NO_METRICS = (TextChunk, Folded, PromptEditor, OptionList, HeaderBar)
"""What people and models say, and what was chosen rather than measured."""
PLAIN = tuple((token,) for step in FUNCTION for token in step)


def metrics(app: ChatApp) -> list[Widget]:
    """The widgets on the screen that show a metric."""
    found = []
    for widget in app.screen.query("*"):
        if isinstance(widget, NO_METRICS) or any(child.display for child in widget.children) or not widget.size:
            continue
        lines = widget.render_lines(widget.size.region)
        if METRIC.search("\n".join(line.text for line in lines)):
            found.append(widget)
    return found


def explained(widget: Widget) -> bool:
    if isinstance(widget, MetricLine):
        widget.on_enter()  # as where a pointer comes to it
    return bool(widget.tooltip) and any(words in str(widget.tooltip) for words in METRIC_HELP.values())


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({}, True),
        ({"lookahead": False}, False),
        ({"verified_tokens": 1, "plain_step_seconds": 0.04}, True),
        ({"verified_tokens": 1, "plain_step_seconds": 0.06}, False),
    ],
)
def test_guesses_save_nothing_only_while_lookahead_is_on_and_no_time_was_saved(
    changes: dict[str, object], told: bool
) -> None:
    s = msgspec.structs.replace(statistics(PLAIN), **changes)
    assert ("guesses save nothing" in fit(reply_parts(s), 200)) is told


async def test_every_metric_of_the_chat_tells_how_it_is_measured(engine: ScriptedEngine) -> None:
    async with opened(engine, size=(160, 50), debug=True) as (app, pilot):
        await say(app, pilot, "Hello")
        told = statistics(FUNCTION, debug=True)
        engine.tell(*streamed(FUNCTION[:8]), Tokens(pieces(FUNCTION[8:], 8), told, inspection=INSPECTED_STEP))
        await sees(pilot, "412 n-grams", "one four seven")
        running = metrics(app)
        assert len(running) == 7  # the status line, the panel's two columns, four views of the step
        assert all(map(explained, running)), [widget for widget in running if not explained(widget)]
        engine.tell(finished(FUNCTION, debug=True))
        await sees(pilot, "SUMMARY", "ready")
        ended = metrics(app)
        assert len(ended) == 9  # and below the reply its own, and the summary
        assert all(map(explained, ended)), [widget for widget in ended if not explained(widget)]


async def test_of_metrics_in_rows_the_one_below_the_pointer_is_told(engine: ScriptedEngine) -> None:
    async with opened(engine, size=(160, 50), debug=True) as (app, pilot):
        await sees(pilot, "speed-up over plain", "n-grams in the pool")
        rows = app.screen.query_one("#debug-metrics")
        for row, line in enumerate(rows.render_lines(rows.size.region)):
            await pilot.hover(rows, offset=(2, row))
            metric, _, words = str(rows.tooltip).partition(": ")
            assert METRIC_HELP[metric] == words
            assert line.text.startswith(metric.replace("tokens/step", "tokens per step"))


async def test_every_metric_of_a_race_tells_how_it_is_measured(engine: ScriptedEngine) -> None:
    async with opened(engine, size=(120, 30)) as (app, pilot):
        app.chat_screen.prompt.put("Hello")
        await pilot.press("ctrl+r")
        engine.tell(*streamed(FUNCTION)[1:], finished(FUNCTION))
        engine.tell(*streamed(PLAIN, side="right", lookahead=False)[1:])
        engine.tell(finished(PLAIN, side="right", lookahead=False), ComparisonFinished(2.94, identical=True))
        await sees(pilot, "identical", "51 steps")
        found = metrics(app)
        assert len(found) == 5  # two tracks, two lines of metrics, the result
        assert all(map(explained, found)), [widget for widget in found if not explained(widget)]


def test_every_metric_of_a_reply_has_its_words_and_there_are_none_without_a_metric() -> None:
    assert fit(reply_parts(Statistics(), "cancelled"), 80) == "stopped by you"  # before the first token
    parts = [*reply_parts(statistics(FUNCTION)), *reply_parts(statistics(FUNCTION), "eos")]
    assert all(part.metric in METRIC_HELP for part in parts if re.search(r"\d", part.forms[0]))
    with pytest.raises(KeyError):
        explain(Widget(), "no such metric")


@pytest.mark.parametrize("sizes", [None, Sizes()])
def test_a_lesser_metric_is_left_out_before_another_is_shortened(sizes: Sizes | None) -> None:
    told = msgspec.structs.replace(statistics(FUNCTION, sizes=sizes), sampling=Sampling(temperature=0.7, seed=3))
    for parts in (reply_parts(told), reply_parts(told, "eos")):
        for width in range(30, 200):
            line = fit(parts, width)
            whole = f"lookahead ON {sizes_name(sizes)}" in line
            assert whole or not any(extra in line for extra in ("first token", "context", "now", "tokens in"))


@pytest.mark.parametrize("debug", [False, True])
async def test_one_place_says_whether_lookahead_is_on(engine: ScriptedEngine, debug: bool) -> None:
    async with opened(engine, size=(110, 30), debug=debug) as (app, pilot):
        await say(app, pilot, "Hello")
        engine.tell(*streamed(FUNCTION, debug=True), finished(FUNCTION, debug=True))
        await wait_until(pilot, lambda: "ready" in status(app))
        await wait_until(pilot, lambda: screen_text(app).count("lookahead ON") == 1)


async def test_the_footer_shows_keys_whole_and_the_most_important_first(engine: ScriptedEngine) -> None:
    names = ["Lookahead", "Race", "Commands", "Settings", "Help", "Chats", "Quit"]
    async with opened(engine, size=(30, 24)) as (app, pilot):
        await sees(pilot, "^l Lookahead")
        for width in (30, 50, 66, 80, 100):
            await resize(pilot, width, 24)

            def fits(width: int = width) -> bool:
                shown, used = shown_keys(app), len(screen_text(app).splitlines()[-1].rstrip())
                following = names[len(shown) :]
                return shown == names[: len(shown)] and (not following or used + 6 + len(following[0]) > width)

            await wait_until(pilot, fits)
        await resize(pilot, 130, 24)
        await wait_until(pilot, lambda: shown_keys(app) == names)


@pytest.mark.parametrize("width", [60, 80, 160] if LONG else [60])
async def test_the_footer_follows_what_is_going_on(engine: ScriptedEngine, width: int) -> None:
    async with opened(engine, size=(width, 24), model=None) as (app, pilot):
        await wait_until(pilot, lambda: {"Commands", "Settings"} <= set(shown_keys(app)))
        engine.load()
        await say(app, pilot, "Hello")
        running = ["Stop", "Pause", "Step", "Lookahead", "Commands"]
        await wait_until(pilot, lambda: shown_keys(app)[:5] == running)
        engine.tell(EngineLost("The engine process ended"))
        await wait_until(pilot, lambda: shown_keys(app)[:3] == ["Restart", "Model", "Commands"])
        await pilot.press("ctrl+o")
        await wait_until(pilot, lambda: not app.chat_screen.query_one(KeyFooter).visible)
        await pilot.press("escape")
        await wait_until(pilot, lambda: shown_keys(app)[:2] == ["Restart", "Model"])


async def test_a_click_on_a_key_of_the_footer_presses_it_and_one_beside_them_nothing(engine: ScriptedEngine) -> None:
    async with opened(engine, size=(120, 24)) as (app, pilot):
        await sees(pilot, "^l Lookahead")
        place = screen_text(app).splitlines()[-1].index("^l Lookahead")
        for offset in (place, 119):
            await pilot.click(KeyFooter, offset=(offset, 0))
            await wait_until(pilot, lambda: app.key_order.is_idle)
        assert not app.chat_screen.state.options.lookahead


def shown_keys(app: ChatApp) -> list[str]:
    return re.findall(r"(?:\^\w|f\d+|esc) (\S+)", screen_text(app).splitlines()[-1])


async def test_the_header_keeps_the_sampling_longer_than_where_the_model_runs(engine: ScriptedEngine) -> None:
    options = DecodingOptions(sampling=Sampling(temperature=0.8, top_p=0.9, seed=4123456789))
    async with opened(engine, size=(130, 24), options=options) as (app, pilot):
        for width, shows in (
            (130, "lade-chat   tiny-12M · cpu · float32 · temperature 0.8, top-p 0.9, seed 4123456789"),
            (80, "tiny-12M · temperature 0.8, top-p 0.9, seed 4123456789"),
            (60, "tiny-12M · temperature 0.8, seed 4123456789"),
            (50, "tiny-12M · seed 4123456789"),
        ):
            await resize(pilot, width, 24)
            await sees(pilot, shows)
            line = screen_text(app).splitlines()[0]
            assert line.split("  ")[0].strip().split()[0] == shows.split()[0]
            assert "lookahead ON" in line


async def test_the_header_never_leaves_out_whether_lookahead_is_on() -> None:
    long_name = ModelInfo("some-maker/some-large-instruct-model-of-8B", "cuda:0", "bfloat16", 1, 2048, True)
    for model in (MODEL, long_name):
        async with opened(ScriptedEngine(), size=(80, 24), model=model) as (_, pilot):
            for width in (80, 50, 33, 20):
                await resize(pilot, width, 24)
                await sees(pilot, "lookahead ON")


@pytest.mark.parametrize(("plain", "words"), [(0.046, "rough: 7.04x"), (0.030, "4.59x")])
def test_a_speed_up_above_the_tokens_of_a_step_is_rough(plain: float, words: str) -> None:
    measured = Statistics(
        generated_tokens=50,
        steps=11,
        seconds=0.42,
        time_to_first_token=0.1,
        plain_step_seconds=plain,
        verified_tokens=39,
    )
    assert speedup_words(measured) == words
