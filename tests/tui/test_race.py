"""The race: two panes, each with its own figures, and a verdict at the end."""

from __future__ import annotations

import pytest

from lade_chat.protocol import (
    Difference,
    EngineLost,
    Failed,
    Message,
    ModelInfo,
    Race,
    RaceFinished,
    Stop,
)
from lade_chat.tui.chat import Phase
from lade_chat.tui.race_pane import RacePane
from lade_chat.tui.race_screen import RaceScreen
from tests.tui.driving import opened, reply_text, say, sees, status, wait_until
from tests.tui.scripted import FUNCTION, ScriptedEngine, finished, streamed

PLAIN = tuple((token,) for step in FUNCTION for token in step)


def run_both(engine: ScriptedEngine) -> None:
    engine.tell(*streamed(FUNCTION)[1:], finished(FUNCTION))
    engine.tell(*streamed(PLAIN, side="right", lookahead=False)[1:])
    engine.tell(finished(PLAIN, side="right", lookahead=False))


async def test_what_an_engine_tells_at_once_is_shown_once_the_panes_are_there(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        screen = RaceScreen("Write a function.", "float32", lambda: None)
        app.push_screen(screen)
        for event in streamed(FUNCTION)[1:]:
            screen.tell(event)
        await sees(pilot, "16 steps")
        assert reply_text(app).count("It adds the numbers one by one.") == 1


@pytest.mark.parametrize(("key", "width"), [("ctrl+r", 120), ("f3", 80)])
async def test_both_sides_run_and_the_verdict_is_told(engine: ScriptedEngine, key: str, width: int) -> None:
    async with opened(engine, size=(width, 40)) as (app, pilot):
        app.chat_screen.prompt.put("Write a function.")
        await pilot.press(key)
        await wait_until(pilot, lambda: isinstance(app.screen, RaceScreen))
        assert engine.sent_of(Race) == [Race((Message("user", "Write a function."),), app.chat_screen.chat.options)]
        await sees(pilot, "slower than life")
        run_both(engine)
        await sees(pilot, "51 steps")
        left, right = app.screen.query(RacePane)
        assert (left.region.y == right.region.y) == (width == 120)
        engine.tell(RaceFinished(2.94, identical=True))
        await sees(pilot, "2.94x as fast with lookahead")
        await sees(pilot, "16 steps", "0.90 s", "2.65 s", "56.7 tok/s", "The two texts are identical")
        assert reply_text(app).count("It adds the numbers one by one.") == 2
        await pilot.press("escape")
        assert app.screen is app.chat_screen
        assert app.chat_screen.prompt.text == "Write a function."
        assert app.chat_screen.chat.conversation.messages == ()


async def test_the_first_difference_is_told(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        app.chat_screen.prompt.put("Hello")
        await pilot.press("ctrl+r")
        run_both(engine)
        engine.tell(RaceFinished(0.5, identical=False, difference=Difference(11, " sum", " total")))
        await sees(pilot, "First difference at token 12")
        await sees(pilot, "2.00x slower with lookahead", "“ sum” with lookahead, “ total” without")


async def test_an_empty_prompt_races_the_last_question(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        await pilot.press("ctrl+r")
        assert "Nothing to race yet" in status(app)
        await say(app, pilot, "one")
        await pilot.press("ctrl+r")
        assert "still answering" in status(app)
        engine.tell(*streamed((("1",),)), finished((("1",),)))
        await wait_until(pilot, lambda: app.chat_screen.chat.phase is Phase.READY)
        await pilot.press("ctrl+r")
        (command,) = engine.sent_of(Race)
        assert isinstance(command, Race)
        assert command.messages == (Message("user", "one"),)


async def test_escape_stops_the_race_and_then_closes_it(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        app.chat_screen.prompt.put("Hello")
        await pilot.press("ctrl+r")
        engine.tell(*streamed(FUNCTION[:4])[1:])
        await sees(pilot, "4 steps")
        await pilot.press("escape")
        assert engine.sent_of(Stop)
        assert isinstance(app.screen, RaceScreen)
        engine.tell(finished(FUNCTION[:4], "cancelled"), finished(PLAIN[:4], "cancelled", side="right"))
        engine.tell(RaceFinished(1.0, identical=False))
        await sees(pilot, "Stopped")
        await pilot.press("escape")
        assert app.screen is app.chat_screen
        assert app.chat_screen.chat.phase is Phase.READY


@pytest.mark.parametrize("event", [Failed("out of memory"), EngineLost("killed")])
async def test_a_race_that_breaks_off_says_so(engine: ScriptedEngine, event: Failed | EngineLost) -> None:
    async with opened(engine) as (app, pilot):
        app.chat_screen.prompt.put("Hello")
        await pilot.press("ctrl+r")
        engine.tell(event)
        await sees(pilot, f"broke off: {event.message}")
        await pilot.press("escape")
        assert app.screen is app.chat_screen


async def test_there_is_no_race_where_there_is_no_lookahead(engine: ScriptedEngine) -> None:
    model = ModelInfo("rwkv", "cpu", "float32", 1, 2048, lookahead_supported=False)
    async with opened(engine, model=model) as (app, pilot):
        app.chat_screen.prompt.put("Hello")
        await pilot.press("ctrl+r")
        assert not engine.sent_of(Race)
        assert "nothing to race" in status(app)
