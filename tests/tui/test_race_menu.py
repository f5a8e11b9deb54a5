"""The race's menu: other methods over the same question, and suites with a running score."""

from __future__ import annotations

from textual.pilot import Pilot

from lade_chat.protocol.commands import Compare
from lade_chat.protocol.events import ComparisonFinished
from lade_chat.protocol.values import Message, MethodSpec
from lade_chat.suites.prompts import BUNDLED, bundled_suites
from lade_chat.tui.app.application import ChatApp
from lade_chat.tui.race.menu import RaceMenu
from lade_chat.tui.race.race_screen import RaceScreen
from tests.tui.driving import opened, screen_text, sees, wait_until
from tests.tui.racing import run_both
from tests.tui.scripted import ScriptedEngine, finished


async def menu_of(app: ChatApp, pilot: Pilot[None], engine: ScriptedEngine) -> RaceMenu:
    """The menu after a first race."""
    app.chat_screen.prompt.put("Hello")
    await pilot.press("ctrl+r")
    await sees(pilot, "longer than the clocks")
    await pilot.press("ctrl+o")
    assert isinstance(app.screen, RaceScreen)
    run_both(engine)
    engine.tell(ComparisonFinished(2.94, identical=True))
    await sees(pilot, "identical")
    await pilot.press("ctrl+o")
    await wait_until(pilot, lambda: isinstance(app.screen, RaceMenu))
    assert isinstance(app.screen, RaceMenu)
    return app.screen


async def test_other_methods_race_over_the_same_question(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        await menu_of(app, pilot, engine)
        await sees(pilot, "plain decoding", "prompt lookup 10", "as many guesses as pay here")
        await pilot.press("down", "down", "tab", "end", "enter")
        await sees(pilot, "Jacobi decoding", "prompt lookup 10", "waiting")
        command = engine.sent_of(Compare)[-1]
        assert isinstance(command, Compare)
        assert (command.left, command.right) == (MethodSpec("jacobi"), MethodSpec("hf-prompt-lookup-10"))
        assert command.messages == (Message("user", "Hello"),)
        run_both(engine)
        engine.tell(ComparisonFinished(0.5, identical=True))
        await sees(pilot, "Prompt lookup 10 is 2.00x as fast as Jacobi decoding")
        await pilot.press("ctrl+r")
        await sees(pilot, "waiting")
        assert engine.sent_of(Compare)[-2:] == [command, command]
        run_both(engine)
        engine.tell(ComparisonFinished(1.01, identical=True))
        await sees(pilot, "Jacobi decoding and prompt lookup 10 are even")
        await pilot.press("escape")
        assert app.screen is app.chat_screen


async def test_a_suite_is_raced_over_with_a_running_score(engine: ScriptedEngine) -> None:
    questions = [question.turns[0] for question in bundled_suites()[0].questions][:10]
    async with opened(engine, size=(120, 30)) as (app, pilot):
        await menu_of(app, pilot, engine)
        await pilot.press("tab", "tab", "down", "enter")
        for number, question in enumerate(questions):
            await sees(pilot, f"{BUNDLED[0]} {number + 1}/10", "waiting", "esc Stop", "Both start with nothing")
            command = engine.sent_of(Compare)[-1]
            assert isinstance(command, Compare)
            assert command.fresh
            assert command.messages == (Message("user", question),)
            if number:
                wins = number - (number > 3)
                await sees(pilot, f"score {wins} : {number - wins} in {number} race")
            run_both(engine)
            engine.tell(ComparisonFinished(0.5 if number == 3 else 2.94, identical=number != 5))
        await sees(pilot, "score 9 : 1 in 10 races", "9 identical", "Lookahead auto is 2.94x as fast")
        await sees(pilot, "Won by lookahead auto: 9 · by plain decoding: 1", "identical texts: 9 of 10")
        assert len(engine.sent_of(Compare)) == 11


async def test_a_suite_that_is_stopped_ends_there(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        await menu_of(app, pilot, engine)
        await pilot.press("tab", "tab", "down", "enter")
        await sees(pilot, "1/10", "waiting")
        run_both(engine)
        engine.tell(ComparisonFinished(2.94, identical=True))
        await sees(pilot, "2/10", "waiting")
        await pilot.press("escape")
        await sees(pilot, "Stopping…", "stopping")
        assert "waiting" not in screen_text(app)
        engine.tell(finished((), "cancelled"), finished((), "cancelled", side="right"))
        engine.tell(ComparisonFinished(1.0, identical=True))
        await sees(pilot, "1/10 · score 1 : 0 in 1 race", "Stopped at", "over 1 race", "esc Close")
        assert "e Explain" not in screen_text(app)
        await pilot.press("escape")
        assert app.screen is app.chat_screen
        assert len(engine.sent_of(Compare)) == 3
