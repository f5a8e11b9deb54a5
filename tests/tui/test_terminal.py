"""The chat in a real terminal: no colour where none is wanted, keys as they were pressed, and back to the shell."""

from __future__ import annotations

import os
import re
import signal
import time
from pathlib import Path

import psutil
import pytest

from tests.tui.terminal import Terminal, is_stopped, terminal, wait_for

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks processes up in /proc")
STYLE = re.compile(rb"\x1b\[([\d;]*)m")
NOT_COLOURS = set(b"0 1 2 3 4 7 9 22 23 24 27".split())


def test_it_is_left_and_taken_back_whole_and_without_colours(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    editor = tmp_path / "editor"
    fails = tmp_path / "fails"
    failing, interrupted = f"[ -e '{fails}' ] && exit 1", "trap : INT\nkill -INT 0\nsleep 0.2"
    editor.write_text(f'#!/bin/sh\n{failing}\n{interrupted}\nprintf edited-outside > "$1"\n')
    editor.chmod(0o700)
    monkeypatch.setenv("VISUAL", str(editor))
    monkeypatch.setenv("NO_COLOR", "1")
    with terminal(tmp_path / "data") as opened:
        _suspend_and_resume(opened)
        _stop_without_warning(opened)
        _edit_outside(opened)
        fails.touch()
        _give_up_editing(opened)
        opened.say("\x1b")  # stops the reply
        time.sleep(0.05)  # sooner than a tenth of a second, by which Textual tells Esc from Alt
        opened.say("abc")
        opened.sees("abc", "ready")
        styles = {code for found in STYLE.findall(opened.all_seen) for code in found.split(b";") if code}
        assert b"1" in styles <= NOT_COLOURS
        opened.process.terminate()
        assert opened.ended() == 128 + signal.SIGTERM


def test_a_browser_of_the_terminal_has_it_until_it_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    browser, opens = tmp_path / "browser", tmp_path / "opens"
    browser.write_text(f'#!/bin/sh\nread key\nprintf "%s %s" "$1" "$key" > "{opens}"\n')
    browser.chmod(0o700)
    monkeypatch.setenv("BROWSER", str(browser))
    with terminal(tmp_path / "data") as opened:
        opened.say("\x1b")
        opened.sees("stopped")
        opened.say("link\r")
        opened.sees("link-to-click", "ready")
        time.sleep(0.5)  # until it is Markdown
        opened.say("".join(f"\x1b[<0;12;{row}M\x1b[<0;12;{row}m" for row in range(2, 20)))
        opened.sees("\x1b[?1049l")
        opened.say("quit\n")
        opened.sees("\x1b[?1049h", "link-to-click")
        assert opens.read_text() == "https://example.com/ quit"
        opened.say("typed")
        opened.sees("typed")


def test_a_link_that_no_browser_opens_is_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    for name in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    with terminal(tmp_path / "data") as opened:
        opened.say("\x1b")
        opened.sees("stopped")
        opened.say("link\r")
        opened.sees("link-to-click", "ready")
        time.sleep(0.5)  # until it is Markdown
        opened.say("".join(f"\x1b[<0;12;{row}M\x1b[<0;12;{row}m" for row in range(2, 20)))
        opened.sees("No browser opens here")


def _suspend_and_resume(opened: Terminal) -> None:
    opened.say("\x1a")
    wait_for(lambda: is_stopped(opened.process.pid), lambda: "it does not stop")
    opened.sees("\x1b[?1049l")  # the shell has its own screen again
    opened.seen = b""
    os.kill(opened.process.pid, signal.SIGCONT)
    opened.sees("\x1b[?1049h", "lade-chat", "Quit", "word-")  # the screen is whole
    opened.seen = b""
    opened.sees("word-")  # and the reply goes on


def _stop_without_warning(opened: Terminal) -> None:
    """One thread reads keys afterwards, as before."""
    program = psutil.Process(opened.process.pid)
    threads = program.num_threads()
    for _ in range(2):
        os.kill(program.pid, signal.SIGSTOP)
        wait_for(lambda: is_stopped(program.pid), lambda: "not stopped")
        opened.say("")
        os.kill(program.pid, signal.SIGCONT)
        opened.sees("\x1b[?1049h", "lade-chat", "Quit", "word-")
    wait_for(lambda: program.num_threads() <= threads, program.threads)


def _edit_outside(opened: Terminal) -> None:
    """An interrupt in the user's editor is not for the chat."""
    opened.say("\x07")  # Ctrl+G
    opened.sees("\x1b[?1049l", "\x1b[?1049h", "edited-outside")
    opened.seen = b""
    opened.sees("word-")  # the reply goes on


def _give_up_editing(opened: Terminal) -> None:
    opened.say("\x07")
    opened.sees("\x1b[?1049l", "\x1b[?1049h", "edited-outside")  # the message is as it was
    opened.seen = b""
    opened.sees("word-")
