"""The inspector: each page shows its part of the step, a reply is paused, stepped and resumed by key."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec
import pytest
from textual.pilot import Pilot

from lade_chat.cli.running.output import details
from lade_chat.protocol.commands import Inspect, Pause, Resume, StepOnce, Stop
from lade_chat.protocol.events import ReplyFinished, Tokens
from lade_chat.protocol.inspection import Candidate
from lade_chat.tui.app.application import ChatApp
from lade_chat.tui.inspector.panel import PAGES, DebugPanel
from lade_chat.tui.inspector.step_views import MAX_LINES, draw_tree, shown
from lade_chat.tui.widgets.metric_lines import columns, sparkline
from tests.tui.driving import opened, say, screen_text, sees, sees_no, status, wait_until
from tests.tui.scripted import FUNCTION, INSPECTED_STEP, ScriptedEngine, finished, pieces, statistics, streamed

PAGE_TEXTS = {
    "metrics": ("speed-up over plain", "guesses kept", "tok/s"),
    "window": ("+1", "+5", "-2", "new", "eight", "3 n-grams", "one four seven"),
    "candidates": ("·the", "✓ ·numbers : trajectory  50%", "· ·list context  10%", "settled ·numbers : ↵"),
    "sources": ("7/12 58%", "75%", "25%", "0/2 0%", "never asked", "412 n-grams"),
    "cost": ("2.4×", "▲", "3 taken: 2.40 tokens expected for 1.30 plain steps, 1.85x"),
}


@asynccontextmanager
async def replying(
    engine: ScriptedEngine, size: tuple[int, int] = (80, 24)
) -> AsyncIterator[tuple[ChatApp, Pilot[None]]]:
    """A reply that has come to its twelfth step, inspected."""
    async with opened(engine, size=size, debug=True) as (app, pilot):
        await say(app, pilot, "Write a function.")
        engine.tell(*streamed(FUNCTION[:8], debug=True))
        engine.tell(Tokens(pieces(FUNCTION[8:12], 8), statistics(FUNCTION[:12], debug=True), inspection=INSPECTED_STEP))
        await sees(pilot, "+= number")
        yield app, pilot


async def test_a_page_at_a_time_where_there_is_little_room(engine: ScriptedEngine) -> None:
    async with replying(engine) as (app, pilot):
        for number, page in enumerate(PAGES):
            if number:
                await pilot.press("f4")
            await sees(pilot, *PAGE_TEXTS[page], f"step 12 of 12 · {page} {number + 1}/5")
        panel = app.screen.query_one(DebugPanel)
        await pilot.press("f4")
        assert not panel.display
        await pilot.press("f4", "f4")
        await sees(pilot, *PAGE_TEXTS["window"], "F4 next")
        await pilot.press("ctrl+d")
        assert not panel.display


async def test_its_page_can_be_turned_before_it_is_composed(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        app.chat_screen.action_toggle_debug()
        app.chat_screen.action_turn_debug_page()
        await sees(pilot, f"{PAGES[1]} 2/5")


@pytest.mark.parametrize("size", [(80, 24), (160, 50)])
async def test_before_the_first_step_it_names_what_will_stand_there_and_no_values(
    engine: ScriptedEngine, size: tuple[int, int]
) -> None:
    async with opened(engine, size=size, debug=True) as (app, pilot):
        await sees(pilot, "speed-up over plain  –", "verified from        –", "nothing yet: ask")
        assert screen_text(app).count("nothing yet") == 1
        await say(app, pilot, "Write a function.")
        await sees_no(pilot, "nothing yet")
        assert not re.search("0\\.0|0 of 0|guesses kept|measur", screen_text(app))
        engine.tell(*streamed(FUNCTION, debug=True), finished(FUNCTION, debug=True))
        await sees(pilot, "50.0 ms", "guesses kept · steps", "tok/step ")


async def test_on_a_narrow_screen_the_accepted_runs_stand_below_the_metrics(engine: ScriptedEngine) -> None:
    async with replying(engine, size=(40, 40)) as (app, pilot):
        await sees(pilot, "verified from trajectory")
        panel = app.screen.query_one(DebugPanel)
        panel.scroll_end(animate=False, immediate=True)
        await sees(pilot, "guesses kept · steps", "tok/step ")


async def test_opened_after_a_reply_it_shows_its_last_step(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        await say(app, pilot, "Write a function.")
        engine.tell(*streamed(FUNCTION), Tokens((), statistics(FUNCTION), inspection=INSPECTED_STEP))
        engine.tell(finished(FUNCTION))
        await sees(pilot, "one by one.", "ready")
        await pilot.press("ctrl+d", "f4")
        await sees(pilot, *PAGE_TEXTS["window"], f"step 12 of {len(FUNCTION)} · window")


async def test_it_says_which_sources_the_verified_tokens_came_from(engine: ScriptedEngine) -> None:
    async with opened(engine, debug=True) as (app, pilot):
        await say(app, pilot, "Write a function.")
        metrics = msgspec.structs.replace(
            statistics(FUNCTION, debug=True),
            verified_from=(("context", 31), ("successor", 4)),
            window_size=0,
            ngram_size=0,
            pool_size=0,
        )
        engine.tell(*streamed(FUNCTION, debug=True), ReplyFinished("eos", metrics))
        await sees(pilot, "no window", "context 31, successor 4")


async def test_what_the_speed_up_follows_from_stands_below_it(engine: ScriptedEngine) -> None:
    script = FUNCTION[:4]  # 11 tokens in 4 steps
    async with opened(engine, debug=True) as (app, pilot):
        await say(app, pilot, "Write a function.")
        engine.tell(*streamed(script, debug=True), finished(script, debug=True))
        await sees(pilot, "SUMMARY")
        metrics = str(app.screen.query_one("#debug-metrics").render())
        rows = {line[:21].rstrip(): line[21:] for line in metrics.splitlines()}
        assert rows["steps that guessed"] == "3 of 4"
        speedup, later, plain, step = (
            float(re.sub("[^0-9.]", "", rows[name]))
            for name in ("speed-up over plain", "is tokens/later step", "times a plain step", "divided by a step")
        )
        assert later == round(10 / 3, 2)
        assert speedup == pytest.approx(later * plain / step, abs=0.01)


async def test_what_a_single_step_cannot_tell_is_not_measured(engine: ScriptedEngine) -> None:
    script = FUNCTION[:1]
    async with opened(engine, debug=True) as (app, pilot):
        await say(app, pilot, "Write a function.")
        single = msgspec.structs.replace(statistics(script), step_milliseconds=0.0)
        engine.tell(Tokens(pieces(script), single))
        await sees(pilot, "measuring…")
        engine.tell(ReplyFinished("eos", single))
        await sees(pilot, "SUMMARY")
        metrics = str(app.screen.query_one("#debug-metrics").render())
        rows = {line[:21].rstrip(): line[21:] for line in metrics.splitlines()}
        unmeasured = {name for name, value in rows.items() if value == "not measured"}
        assert {"tokens/later step", "a step takes"} <= unmeasured
    assert "step                 not measured" in details(single)


async def test_after_a_reply_it_says_that_the_step_shown_is_the_last_that_guessed(engine: ScriptedEngine) -> None:
    plain = ((" on",),) * 40
    async with opened(engine, size=(160, 50), debug=True) as (app, pilot):
        await say(app, pilot, "Write a function.")
        script = (*FUNCTION[:2], *plain)
        engine.tell(*streamed(script)[:-1])
        engine.tell(Tokens(pieces(script[40:], 40), statistics(script), inspection=INSPECTED_STEP), finished(script))
        await sees(pilot, "The last to guess: step 12 of 42", "1 of 42")
        metrics = str(app.screen.query_one("#debug-metrics").render())
        assert re.search(r"tokens per forward +10\n", metrics)  # 1, 3 candidates and a window of 2 rows of 3
        assert re.search(r"candidates +3\n", metrics)


async def test_all_of_it_where_there_is_much(engine: ScriptedEngine) -> None:
    async with replying(engine, (160, 50)) as (_, pilot):
        await sees(pilot, *(text for texts in PAGE_TEXTS.values() for text in texts))


@pytest.mark.parametrize("size", [(60, 18), (160, 50)])
async def test_nothing_is_wider_than_the_panel(engine: ScriptedEngine, size: tuple[int, int]) -> None:
    wide = msgspec.structs.replace(
        INSPECTED_STEP,
        window=tuple(tuple(f"a long token {n}" for n in range(15)) for _ in range(4)),
        new_row=("another",) * 15,
        ngram_size=5,
        candidates=tuple(Candidate("word" * 9, max(0, n - 7), "successor", n < 3, 0.5) for n in range(40)),
        costs=tuple(1 + n / 10 for n in range(49)),
    )
    async with replying(engine, size) as (app, pilot):
        engine.tell(Tokens(pieces(FUNCTION[12:13], 12), statistics(FUNCTION[:13]), inspection=wide))
        for _ in PAGES:
            await pilot.press("f4")
            await pilot.pause()
            panel = app.screen.query_one(DebugPanel)
            assert all(view.region.right <= panel.region.right for view in panel.children if view.display)


@pytest.mark.parametrize(("left_out", "line"), [(1, "… and 1 more branch"), (2, "… and 2 more branches")])
def test_the_branches_that_have_no_room_are_counted(left_out: int, line: str) -> None:
    candidates = tuple(Candidate(f"word{each}", 0, "context", False) for each in range(MAX_LINES + left_out))
    lines = draw_tree(msgspec.structs.replace(INSPECTED_STEP, candidates=candidates), 60)
    assert line in [each.plain.strip() for each in lines]


async def test_a_reply_is_paused_stepped_and_resumed_by_key(engine: ScriptedEngine) -> None:
    async with replying(engine) as (app, pilot):
        await pilot.press("f9")
        await wait_until(pilot, lambda: engine.sent[-1] == Pause())
        await sees(pilot, "paused: F9 goes on, F10 takes one step", "step 12 of 12, paused")
        await pilot.press("f10")
        await wait_until(pilot, lambda: engine.sent[-1] == StepOnce())
        engine.tell(
            Tokens(
                pieces(FUNCTION[12:13], 12),
                statistics(FUNCTION[:13]),
                inspection=msgspec.structs.replace(INSPECTED_STEP, step=12),
            )
        )
        await sees(pilot, "step 13 of 13, paused")
        await pilot.press("f9")
        await wait_until(pilot, lambda: engine.sent[-1] == Resume())
        await sees_no(pilot, "paused")
        engine.tell(finished(FUNCTION))
        await wait_until(pilot, lambda: "ready" in status(app))
        assert engine.sent_of(Resume) == [Resume()]


async def test_a_step_asked_of_a_running_reply_pauses_it(engine: ScriptedEngine) -> None:
    async with replying(engine) as (_, pilot):
        await pilot.press("f10")
        await wait_until(pilot, lambda: engine.sent[-1] == Pause())


async def test_a_paused_reply_can_be_stopped_and_the_next_one_runs(engine: ScriptedEngine) -> None:
    async with replying(engine) as (app, pilot):
        await pilot.press("f9", "escape")
        await wait_until(pilot, lambda: engine.sent_of(Stop))
        engine.tell(finished(FUNCTION[:12], "cancelled"))
        await wait_until(pilot, lambda: "ready" in status(app))
        await say(app, pilot, "Again.")
        engine.tell(*streamed(FUNCTION[:8]))
        await sees(pilot, "tok/s")
        assert "paused" not in screen_text(app)


async def test_opened_in_mid_reply_it_asks_for_what_the_steps_do(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        await say(app, pilot, "Write a function.")
        engine.tell(*streamed(FUNCTION[:8]))
        await sees(pilot, "result")
        assert not engine.sent_of(Inspect)
        await pilot.press("f9", "f4")
        await wait_until(pilot, lambda: engine.sent_of(Inspect) == [Inspect(True)] * 2)
        await pilot.press("f4")
        await sees(pilot, "nothing yet")
        engine.tell(Tokens((), statistics(FUNCTION[:8]), inspection=INSPECTED_STEP))
        await sees(pilot, *PAGE_TEXTS["window"])
        await pilot.press("ctrl+d")
        await wait_until(pilot, lambda: engine.sent_of(Inspect) == [Inspect(True)] * 3)  # single steps are still shown
        assert app.chat_screen.state.paused
        await pilot.press("f9")
        await wait_until(pilot, lambda: engine.sent_of(Inspect)[-1] == Inspect(False))


class TestDrawing:
    def test_tokens_are_seen_as_they_are(self) -> None:
        assert shown(" a\n") == "·a↵"
        assert shown("") == "∅"
        assert shown("\x1b[31m") != "\x1b[31m"
        assert shown("abcdef", 4) == "abc…"

    def test_a_plot_has_a_column_a_value_and_shows_the_least_of_them(self) -> None:
        assert columns([1, 2, 4, 8]) == ["▁▂▄█"]
        assert columns([0, 0.001, 8]) == [" ▁█"]
        assert columns([4, 8], 2) == [" █", "██"]
        assert columns([], 2) == ["", ""]
        assert sparkline([1, 2, 4, 8], 2) == "▄█"
        assert sparkline([1, 2], 0) == ""
