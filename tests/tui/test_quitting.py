"""Quitting: at once, from everywhere; what cannot be saved is lost only by a second press."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from lade_chat.store.all_conversations import Store
from tests.tui.driving import opened, reply_text, say, sees, wait_until
from tests.tui.scripted import FUNCTION, ScriptedEngine, streamed


@pytest.mark.parametrize("screen", ["chat", "f1", "ctrl+r"])
async def test_ctrl_q_quits_at_once_from_everywhere(engine: ScriptedEngine, screen: str) -> None:
    async with opened(engine) as (app, pilot):
        if screen == "chat":
            await say(app, pilot, "Hello")
            engine.tell(*streamed(FUNCTION[:4]))
            await wait_until(pilot, lambda: reply_text(app))
        else:
            app.chat_screen.prompt.put("Hello")
            await pilot.press(screen)
            await wait_until(pilot, lambda: app.screen is not app.chat_screen)
        await pilot.press("ctrl+q")
        await wait_until(pilot, lambda: engine.closed)  # a busy machine looks idle before it has taken the key
    assert app.return_code == 0


async def test_ctrl_c_twice_quits(engine: ScriptedEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lade_chat.tui.app.quitting.INTERRUPT_SECONDS", 3600.0)
    async with opened(engine) as (app, pilot):
        await pilot.press("ctrl+c", "ctrl+c")
        await wait_until(pilot, lambda: app._exit)
        assert engine.closed


@pytest.mark.parametrize("key", ["ctrl+q", "ctrl+c"])
async def test_what_is_not_saved_is_lost_only_by_a_second_press(
    engine: ScriptedEngine, tmp_path: Path, key: str
) -> None:
    (tmp_path / "taken").write_text("a file")
    async with opened(engine, store=Store(tmp_path / "taken" / "data")) as (app, pilot):
        await say(app, pilot, "Hello")
        await sees(pilot, "Conversations cannot be saved")
        await pilot.press(key)
        name = "Ctrl+Q" if key == "ctrl+q" else "Ctrl+C"
        await sees(pilot, f"{name} again quits, and loses")
        assert not engine.closed
        await pilot.press(key)
        await wait_until(pilot, lambda: engine.closed)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
async def test_a_signal_quits_as_ctrl_q_does(engine: ScriptedEngine, number: signal.Signals) -> None:
    async with opened(engine) as (app, pilot):
        signal.raise_signal(number)
        await wait_until(pilot, lambda: app.return_code == 128 + number)
        assert engine.closed


@pytest.mark.parametrize("leave", ["ctrl+q", "signal"])
async def test_what_was_typed_and_not_sent_stands_in_the_prompt_next_time(
    engine: ScriptedEngine, tmp_path: Path, leave: str
) -> None:
    async with opened(engine, store=Store(tmp_path)) as (app, pilot):
        await say(app, pilot, "Hello")
        app.chat_screen.prompt.put("half a thought,\nin two lines")
        if leave == "signal":
            signal.raise_signal(signal.SIGTERM)
        else:
            await pilot.press("ctrl+q")
        await wait_until(pilot, lambda: engine.closed)
    for expected in ("half a thought,\nin two lines", ""):
        async with opened(ScriptedEngine(), store=Store(tmp_path)) as (app, pilot):
            await wait_until(pilot, lambda expected=expected: app.chat_screen.prompt.text == expected)
            app.chat_screen.prompt.put("")
            await pilot.press("up")  # what is recalled is kept already
            await wait_until(pilot, lambda: app.chat_screen.prompt.text == "Hello")


async def test_what_two_windows_leave_is_offered_at_the_next_two_starts(engine: ScriptedEngine, tmp_path: Path) -> None:
    async with opened(engine, store=Store(tmp_path)) as (app, pilot):
        (tmp_path / "unsent.txt").write_text("left meanwhile")
        app.chat_screen.prompt.put("left last")
        await pilot.press("ctrl+q")
        await wait_until(pilot, lambda: engine.closed)
    for expected in ("left last", "left meanwhile", ""):
        async with opened(ScriptedEngine(), store=Store(tmp_path)) as (app, pilot):
            await wait_until(pilot, lambda expected=expected: app.chat_screen.prompt.text == expected)
            await say(app, pilot, "Hello")
            await pilot.press("ctrl+q")


@pytest.mark.parametrize("not_sent_by", ["up", "escape escape up", "ctrl+c up"])
async def test_a_message_that_was_not_sent_after_all_stands_in_the_prompt_next_time(
    engine: ScriptedEngine, tmp_path: Path, not_sent_by: str
) -> None:
    async with opened(engine, store=Store(tmp_path)) as (app, pilot):
        await say(app, pilot, "Hello")
        app.chat_screen.prompt.put("half a thought")
        if "ctrl+c" not in not_sent_by:
            await pilot.press("enter")
        if "escape" in not_sent_by:  # first that is taken back, then the other one is dropped
            await say(app, pilot, "and another")
        await pilot.press(*not_sent_by.split())
        await wait_until(pilot, lambda: app.chat_screen.prompt.text == "half a thought")
        await pilot.press("ctrl+q")
        await wait_until(pilot, lambda: engine.closed)
    async with opened(ScriptedEngine(), store=Store(tmp_path)) as (app, pilot):
        await wait_until(pilot, lambda: app.chat_screen.prompt.text == "half a thought")


async def test_what_is_typed_in_another_window_stays_there(engine: ScriptedEngine, tmp_path: Path) -> None:
    its_file = tmp_path / f"unsent-{os.getppid()}.txt"
    its_file.write_text("half a thought")
    async with opened(engine, store=Store(tmp_path)) as (app, pilot):
        app.chat_screen.prompt.put("another")
        own_file = tmp_path / f"unsent-{os.getpid()}.txt"
        await wait_until(pilot, own_file.exists)
        await say(app, pilot, "Hello")
        await wait_until(pilot, lambda: not own_file.exists())
        await pilot.press("ctrl+q")
        await wait_until(pilot, lambda: engine.closed)
    assert its_file.read_text() == "half a thought"
    assert sorted(file.name for file in tmp_path.glob("*.txt")) == [its_file.name]
