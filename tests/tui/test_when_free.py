"""A race asked for while the model is being loaded begins once it is, unless somebody is typing then."""

from __future__ import annotations

import pytest

from lade_chat.protocol.commands import Compare
from lade_chat.protocol.values import Message, ModelInfo
from lade_chat.tui.chat.chat_state import Phase
from lade_chat.tui.race.screen import RaceScreen
from tests.tui.driving import opened, say, sees, status, wait_until
from tests.tui.scripted import ScriptedEngine

BEGINS = "The race begins once the model is loaded."


@pytest.mark.parametrize("key", [False, True])
async def test_a_race_waits_for_the_model(engine: ScriptedEngine, key: bool) -> None:
    async with opened(engine, model=None) as (app, pilot):
        if key:
            app.chat_screen.prompt.put("Hello")
            await pilot.press("ctrl+r")
        else:
            await say(app, pilot, "/compare Hello")
        await sees(pilot, BEGINS)
        assert not engine.sent_of(Compare)
        engine.load()
        await wait_until(pilot, lambda: isinstance(app.screen, RaceScreen))
        (command,) = engine.sent_of(Compare)
        assert isinstance(command, Compare)
        assert command.messages == (Message("user", "Hello"),)


async def test_a_race_that_waits_interrupts_nobody_who_types(engine: ScriptedEngine) -> None:
    async with opened(engine, model=None) as (app, pilot):
        await say(app, pilot, "/compare Hello")
        await sees(pilot, BEGINS)
        await pilot.press(*"draft")
        engine.load()
        await sees(pilot, "Type /compare now to race")
        assert not engine.sent_of(Compare)
        assert app.screen is app.chat_screen


async def test_a_race_that_waits_can_be_dropped(engine: ScriptedEngine) -> None:
    async with opened(engine, model=None) as (app, pilot):
        await say(app, pilot, "/compare Hello")
        await sees(pilot, BEGINS)
        await pilot.press("escape", "escape")
        engine.load()
        await wait_until(pilot, lambda: app.chat_screen.state.phase is Phase.READY)
        assert not engine.sent_of(Compare)


async def test_a_race_that_waited_for_a_model_without_lookahead_says_so(engine: ScriptedEngine) -> None:
    plain = ModelInfo("rwkv", "cpu", "float32", 1, 2048, lookahead_supported=False)
    async with opened(engine, model=None) as (app, pilot):
        await say(app, pilot, "/compare Hello")
        engine.load(plain)
        await sees(pilot, "nothing to race")
        assert not engine.sent_of(Compare)


async def test_there_is_nothing_to_wait_for_without_a_question(engine: ScriptedEngine) -> None:
    async with opened(engine, model=None) as (app, pilot):
        await pilot.press("ctrl+r")
        await wait_until(pilot, lambda: "Nothing to race yet" in status(app))
