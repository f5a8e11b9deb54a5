"""A race that is stopped, breaks off, or loses its engine."""

from __future__ import annotations

import pytest
from textual.pilot import Pilot

from lade_chat.protocol.commands import Stop
from lade_chat.protocol.events import ComparisonFinished, EngineLost, Failed
from lade_chat.tui.app.application import ChatApp
from lade_chat.tui.chat.chat_state import Phase
from lade_chat.tui.race.race_screen import RaceScreen
from tests.tui.driving import opened, sees, wait_until
from tests.tui.racing import PLAIN, run_both
from tests.tui.scripted import FUNCTION, ScriptedEngine, finished, streamed


async def _begin_and_stop_a_race(engine: ScriptedEngine, app: ChatApp, pilot: Pilot[None]) -> None:
    app.chat_screen.prompt.put("Hello")
    await pilot.press("ctrl+r")
    engine.tell(*streamed(FUNCTION[:4])[1:])
    await sees(pilot, "4 steps")
    await pilot.press("escape")


def _end_the_race(engine: ScriptedEngine) -> None:
    engine.tell(finished(FUNCTION[:4], "cancelled"), finished(PLAIN[:4], "cancelled", side="right"))
    engine.tell(ComparisonFinished(1.0, identical=False))


async def test_escape_stops_the_race_and_then_closes_it(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        await _begin_and_stop_a_race(engine, app, pilot)
        assert engine.sent_of(Stop)
        assert isinstance(app.screen, RaceScreen)
        _end_the_race(engine)
        await sees(pilot, "Stopped at", "Lookahead auto led by 7 tokens.")
        await pilot.press("escape")
        assert app.chat_screen.is_current
        assert app.chat_screen.state.phase is Phase.READY


async def test_a_stopped_race_tells_that_a_side_had_finished(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        app.chat_screen.prompt.put("Hello")
        await pilot.press("ctrl+r")
        engine.tell(*streamed(FUNCTION)[1:], finished(FUNCTION))
        await sees(pilot, "has finished")
        await pilot.press("escape")
        engine.tell(finished(PLAIN[:12], "cancelled", side="right"), ComparisonFinished(1.0, identical=False))
        await sees(pilot, "Stopped at", "Lookahead auto had finished, 39 tokens ahead.")


async def test_a_second_escape_closes_the_race_as_soon_as_it_has_stopped(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        await _begin_and_stop_a_race(engine, app, pilot)
        await sees(pilot, "Stopping…", "esc Close")
        await pilot.press("escape")
        await sees(pilot, "Stopping, then back…")
        _end_the_race(engine)
        await wait_until(pilot, lambda: app.screen is app.chat_screen)
        assert engine.sent_of(Stop) == [Stop()]
        assert app.chat_screen.state.phase is Phase.READY


@pytest.mark.parametrize("event", [Failed("out of memory"), EngineLost("killed")])
async def test_a_race_that_breaks_off_says_so(engine: ScriptedEngine, event: Failed | EngineLost) -> None:
    async with opened(engine) as (app, pilot):
        app.chat_screen.prompt.put("Hello")
        await pilot.press("ctrl+r")
        engine.tell(event)
        await sees(pilot, f"broke off: {event.message}")
        await pilot.press("escape")
        assert app.screen is app.chat_screen


async def test_a_race_screen_without_an_engine_says_so_itself_and_which_key_leads_out(engine: ScriptedEngine) -> None:
    lost = "The engine is gone. Esc leads back to the chat."
    async with opened(engine) as (app, pilot):
        app.chat_screen.prompt.put("Hello")
        await pilot.press("ctrl+r")
        engine.tell(EngineLost("killed"))
        await sees(pilot, "broke off: killed", lost)
        await pilot.press("x")
        await sees(pilot, "Nothing is typed here")
        await pilot.press("ctrl+r")
        await sees(pilot, lost)
        await pilot.press("ctrl+o", "enter")
        await sees(pilot, lost)
        await pilot.press("escape")
        await sees(pilot, "F6 restarts it")


async def test_ctrl_c_stops_a_race_as_escape_does(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        app.chat_screen.prompt.put("Hello")
        await pilot.press("ctrl+r")
        engine.tell(*streamed(FUNCTION[:8])[1:])
        await pilot.press("ctrl+c")
        assert engine.sent_of(Stop) == [Stop()]
        await sees(pilot, "Stopping", "Ctrl+C twice quits.")
        assert not app.screen.query("Toast")  # which would cover a title or a text
        assert app.is_running


async def test_a_finished_race_says_that_the_engine_has_gone(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        app.chat_screen.prompt.put("Hello")
        await pilot.press("ctrl+r")
        run_both(engine)
        engine.tell(ComparisonFinished(2.94, identical=True))
        await sees(pilot, "identical")
        engine.tell(EngineLost("killed"))
        await sees(pilot, "identical", "The engine is gone. Esc leads back to the chat.")
