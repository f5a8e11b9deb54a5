"""The prompt: earlier prompts and examples, an editor of one's own, and long pastes."""

from __future__ import annotations

import asyncio
import os
import pty
import stat
import threading
import tty
from pathlib import Path

import pytest
from textual._xterm_parser import XTermParser
from textual.app import App
from textual.events import Key, Paste
from textual.message import Message

from lade_chat.protocol.commands import Reply
from lade_chat.protocol.values import DecodingOptions, ModelOptions
from lade_chat.store.all_conversations import Store
from lade_chat.tui.app.application import ChatApp
from lade_chat.tui.terminal.driver import TerminalDriver
from lade_chat.tui.terminal.key_parser import END, START, KeyParser, PasteGuard
from lade_chat.tui.transcript.turn_view import Folded
from lade_chat.tui.transcript.welcome import BUNDLED_EXAMPLES
from tests.tui.driving import opened, say, screen_text, sees, sees_no, status, wait_until
from tests.tui.scripted import FUNCTION, ScriptedEngine, finished, streamed
from tests.tui.talking import asked


async def test_an_example_is_reached_and_picked_by_key(engine: ScriptedEngine) -> None:
    async with opened(engine) as (_app, pilot):
        await pilot.press("shift+tab", "down", "enter")
        await wait_until(pilot, lambda: engine.sent_of(Reply))
        assert asked(engine).messages[-1].content in BUNDLED_EXAMPLES


async def test_recalling_goes_on_over_a_command(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        for text in ("/lookahead", "/system Be brief.", "/lookahead"):
            await say(app, pilot, text)
        for expected in ("/lookahead", "/system Be brief.", "/lookahead"):
            await pilot.press("up")
            assert app.chat_screen.prompt.text == expected


async def test_a_message_is_written_in_an_editor(
    engine: ScriptedEngine, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor = here / "editor"
    editor.write_text('#!/bin/sh\nprintf "%s and more\\n\\n" "$(cat "$1")" > "$1.new" && mv "$1.new" "$1"\n')
    editor.chmod(editor.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("VISUAL", str(editor))
    _suspendable(monkeypatch)
    async with opened(engine) as (app, pilot):
        app.chat_screen.prompt.put("a message")
        await pilot.press("ctrl+g")
        assert app.chat_screen.prompt.text == "a message and more"


@pytest.mark.parametrize(
    ("editor", "line"), [("/nowhere/editor", "There is no editor /nowhere/editor"), ("false", "exit code 1")]
)
async def test_an_editor_that_fails_leaves_the_message(
    engine: ScriptedEngine, monkeypatch: pytest.MonkeyPatch, editor: str, line: str
) -> None:
    monkeypatch.setenv("VISUAL", editor)
    _suspendable(monkeypatch)
    async with opened(engine) as (app, pilot):
        app.chat_screen.prompt.put("a message")
        await pilot.press("ctrl+g")
        await wait_until(pilot, lambda: line in status(app))
        assert app.chat_screen.prompt.text == "a message"


def _suspendable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a terminal there is nothing to hand over."""
    from contextlib import nullcontext

    monkeypatch.setattr(App, "suspend", lambda _app: nullcontext())


LONG = "\n".join(f"line {number}" for number in range(60))


async def test_a_long_paste_is_folded_and_sent_whole(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        prompt = app.chat_screen.prompt
        await pilot.press(*"see ")
        prompt.post_message(Paste(LONG))
        await wait_until(pilot, lambda: prompt.text == "see [60 lines pasted]")
        await sees(pilot, "Tab opens a folded paste")
        text = prompt.text
        prompt.put("")
        await sees_no(pilot, "Tab opens")  # no longer true
        prompt.put(text)
        prompt.post_message(Paste(LONG.upper()))
        await wait_until(pilot, lambda: prompt.text == "see [60 lines pasted][60 lines pasted, 2]")
        await pilot.press("ctrl+w", "enter")
        await wait_until(pilot, lambda: engine.sent_of(Reply))
        (command,) = engine.sent_of(Reply)
        assert isinstance(command, Reply)
        assert command.messages[-1].content == f"see {LONG}"
        engine.tell(*streamed(FUNCTION), finished(FUNCTION))
        await sees(pilot, "▸ 56 more lines", "line 59", "ready")
        assert "line 9" not in screen_text(app)
        await pilot.press("shift+tab", "up", "space")
        await wait_until(pilot, lambda: app.screen.query_one(Folded).size.height == 61)
        await pilot.press("space")
        await sees(pilot, "▸ 56 more lines")
        await pilot.click(Folded)
        await wait_until(pilot, lambda: app.screen.query_one(Folded).size.height == 61)
        await pilot.press("enter", "m")
        await sees(pilot, "Copied the message")
        assert app.clipboard == f"see {LONG}"


async def test_what_was_copied_here_is_pasted_like_anything_else(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        prompt = app.chat_screen.prompt
        app.copy_to_clipboard(LONG)
        await pilot.press(*"see ", "ctrl+v")
        await wait_until(pilot, lambda: prompt.text == "see [60 lines pasted]")
        app.copy_to_clipboard("a\x1b[2Jb")
        await pilot.press("ctrl+c", "ctrl+v")
        await wait_until(pilot, lambda: prompt.text == "a[2Jb")


async def test_a_folded_paste_comes_back_folded(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        prompt = app.chat_screen.prompt
        await say(app, pilot, "first")
        engine.tell(*streamed(FUNCTION), finished(FUNCTION))
        await sees(pilot, "ready")
        await pilot.press(*"see ")
        prompt.post_message(Paste(LONG))
        folded = "see [60 lines pasted]"
        await wait_until(pilot, lambda: prompt.text == folded)
        await pilot.press("ctrl+c")
        assert prompt.text == ""
        await pilot.press("up")
        assert prompt.text == folded
        await pilot.press("enter")
        await wait_until(pilot, lambda: len(engine.sent_of(Reply)) == 2)
        command = engine.sent_of(Reply)[-1]
        assert isinstance(command, Reply)
        assert command.messages[-1].content == f"see {LONG}"
        engine.tell(*streamed(FUNCTION), finished(FUNCTION))
        await sees(pilot, "ready")
        await pilot.press("up")
        assert prompt.text == folded
        await pilot.press("up")
        assert prompt.text == "first"
        await pilot.press("down")
        assert prompt.text == folded
        await pilot.press("tab")
        assert prompt.text == f"see {LONG}"


async def test_a_folded_paste_can_be_opened(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        prompt = app.chat_screen.prompt
        prompt.post_message(Paste(LONG))
        await wait_until(pilot, lambda: prompt.text == "[60 lines pasted]")
        await pilot.press("tab")
        assert prompt.text == LONG
        prompt.clear_all()
        prompt.post_message(Paste("\n".join("0123456789")))
        await wait_until(pilot, lambda: prompt.text == "\n".join("0123456789"))


async def test_a_long_paste_without_line_breaks_is_folded_too(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        prompt, words = app.chat_screen.prompt, "lorem ipsum " * 90_000
        prompt.post_message(Paste(words))
        await wait_until(pilot, lambda: prompt.text == "[1,080,000 characters pasted]")
        await pilot.press("enter")
        await wait_until(pilot, lambda: engine.sent_of(Reply))
        command = engine.sent_of(Reply)[0]
        assert isinstance(command, Reply)
        assert command.messages[-1].content.strip() == words.strip()


# --- A paste reaches the prompt in one piece, whatever is in it and however the terminal's output is cut up

LOG = "see this log:\r\x1b[31mERROR\x1b[0m bad\x1b \x1b[A\x1b\x1b[20\rplease explain\x1b\r"


def parsed(data: str, size: int) -> list[Message]:
    """What the parser makes of ``data`` that arrives ``size`` characters at a time."""
    parser, guard = XTermParser(), PasteGuard()
    reads = (data[start : start + size] for start in range(0, len(data), size))
    return [event for read in reads if (text := guard.clean(read)) for event in parser.feed(text)]


@pytest.mark.parametrize("size", [*range(1, 24), 1000])
def test_a_paste_with_escapes_stays_one_paste(size: int) -> None:
    events = parsed(f"a{START}{LOG}{END}\x1b[B{START}{END}{START}two{END}b", size)
    said = [event.key if isinstance(event, Key) else event.text for event in events if isinstance(event, Key | Paste)]
    assert said == ["a", LOG.replace("\x1b", ""), "down", "", "two", "b"]


@pytest.mark.parametrize("size", [1, 2, 3, 1000])
def test_outside_a_paste_nothing_is_changed(size: int) -> None:
    data = "x\x1b[A\x1b\x1b[20~\x1b[2\x1b[201~\x1b[<0;1;1Mé\x1b[13;2u\x1b"
    guard = PasteGuard()
    assert [guard.clean(data[at : at + size]) for at in range(0, len(data), size)] == [
        data[at : at + size] for at in range(0, len(data), size)
    ]


async def test_what_is_typed_is_sent_as_it_was_typed(engine: ScriptedEngine) -> None:
    family, persian, blanks = "👨‍👩‍👧‍👦", "می‌خواهم", "a\u00a0b\u3000c"
    commands = "\x9b\u202e\u2066"  # what a terminal would obey, or what reads otherwise than it is
    parser, typed = KeyParser(), f"{family} {persian} {blanks}"
    async with opened(engine) as (app, pilot):
        for event in (*parser.feed(f"typed {commands}{typed}"), *parser.feed("\x1b[8205;;8205u")):
            app.post_message(event)
        await wait_until(pilot, lambda: app.chat_screen.prompt.text == f"typed {typed}\u200d")
        await say(app, pilot, app.chat_screen.prompt.text)
        await wait_until(pilot, lambda: asked(engine).messages[-1].content == f"typed {typed}\u200d")


def test_the_chat_reads_its_terminal_through_the_guard(engine: ScriptedEngine) -> None:
    assert ChatApp(engine, ModelOptions(), DecodingOptions(), store=Store()).driver_class is TerminalDriver


def driver_of(terminal: int, monkeypatch: pytest.MonkeyPatch) -> tuple[TerminalDriver, list[Message]]:
    """A driver that reads this terminal, and the messages that it hands on."""
    told: list[Message] = []
    driver = TerminalDriver.__new__(TerminalDriver)
    driver._debug = False
    driver.fileno = terminal
    driver.exit_event = threading.Event()
    monkeypatch.setattr(driver, "process_message", told.append)
    return driver, told


async def test_the_driver_hands_on_keys_and_pastes(monkeypatch: pytest.MonkeyPatch) -> None:
    master, slave = pty.openpty()
    driver, told = driver_of(slave, monkeypatch)
    thread = threading.Thread(target=driver.run_input_thread)
    thread.start()
    try:
        os.write(master, f"ké{START}one\x1b[1m\n".encode())
        os.write(master, f"two{END}\n".encode())
        for _ in range(500):
            if any(isinstance(event, Paste) for event in told):
                break
            await asyncio.sleep(0.01)
    finally:
        driver.exit_event.set()
        thread.join()
        os.close(master)
        os.close(slave)
    pastes = [event.text for event in told if isinstance(event, Paste)]
    assert pastes == ["one[1m\ntwo"]


async def test_a_driver_that_waits_for_a_key_gets_it_and_ends_when_it_is_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lade_chat.tui.terminal.driver.TICK_SECONDS", 0.001)
    master, slave = pty.openpty()
    tty.setraw(slave)
    driver, told = driver_of(slave, monkeypatch)
    monkeypatch.setattr(driver, "_disable_mouse_support", lambda: None)
    driver._key_thread = threading.Thread(target=driver.run_input_thread, daemon=True)
    driver._key_thread.start()
    for count, key in enumerate("ab", start=1):
        await asyncio.sleep(0.1)  # it is waiting without ticks by now
        os.write(master, key.encode())
        for _ in range(500):
            if len(told) == count:
                break
            await asyncio.sleep(0.01)
    ending = threading.Thread(target=driver.disable_input, daemon=True)
    monkeypatch.setattr("signal.signal", lambda *_: None)  # only the main thread may
    ending.start()
    ending.join(5)
    assert not driver._key_thread.is_alive()
    assert [event.character for event in told if isinstance(event, Key)] == ["a", "b"]
    os.close(master)
    os.close(slave)
