"""Other programs: what the system signals, the user's own editor, and the clipboard's tools."""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import webbrowser
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from markdown_it import MarkdownIt

from lade_chat.errors import LadeChatError

COPY_SECONDS = 2.0
"""Limit on the time that a clipboard's tool may take."""
_NAMES = ("SIGINT", "SIGTERM", "SIGHUP")
ENDING = tuple(signal.Signals[name] for name in _NAMES if name in signal.Signals.__members__)
"""The signals that end the chat; some systems lack one."""


def end_on_signals(end: Callable[[int], None]) -> None:
    """Quit on a signal as on Ctrl+Q, so that the terminal is restored; ``end`` gets the exit code."""
    # Some systems have no such handlers, and only the main thread may set them.
    with suppress(NotImplementedError, RuntimeError, ValueError):
        loop = asyncio.get_running_loop()
        for number in ENDING:
            loop.add_signal_handler(number, end, 128 + number)


@contextmanager
def interrupts_left_alone() -> Iterator[None]:
    """While another program has the terminal, leave Ctrl+C to that one; obey other signals afterwards."""
    came: list[int] = []
    event_loop = signal.set_wakeup_fd(-1)
    handlers = {number: signal.signal(number, lambda number, _: came.append(number)) for number in ENDING}
    try:
        yield
    finally:
        for each, handler in handlers.items():
            signal.signal(each, handler)
        signal.set_wakeup_fd(event_loop)
        for number in set(came) - {signal.SIGINT}:
            signal.raise_signal(number)


def editor_command() -> list[str]:
    """Return the command in $VISUAL or $EDITOR, else an installed editor. Raises LadeChatError if there is none."""
    named = os.environ.get("VISUAL") or os.environ.get("EDITOR") or ""
    try:
        command = shlex.split(named)
    except ValueError:
        raise LadeChatError("$VISUAL or $EDITOR cannot be understood: a quotation mark is not closed.") from None
    if not command:
        command = [next((name for name in ("sensible-editor", "nano", "vi", "notepad") if shutil.which(name)), "")]
    if not shutil.which(command[0]):
        raise LadeChatError(f"There is no editor {command[0] or 'here'}. Set VISUAL or EDITOR.")
    return command


def edit(text: str, command: list[str]) -> str:
    """Have ``text`` edited and return it without trailing line breaks; blocks. Raises LadeChatError."""
    try:
        handle, name = tempfile.mkstemp(prefix="lade-chat-", suffix=".md")
    except OSError as error:
        raise LadeChatError(f"There is no place for {command[0]}'s file: {error.strerror or error}.") from None
    path = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", errors="replace") as file:
            file.write(text)
        with interrupts_left_alone():
            code = subprocess.run([*command, name], check=False).returncode
        if code:
            raise LadeChatError(f"{command[0]} ended with exit code {code}: the message is as it was.")
        return path.read_text(encoding="utf-8", errors="replace").rstrip("\n")
    except OSError as error:
        raise LadeChatError(f"{command[0]} cannot be run: {error.strerror or error}.") from None
    finally:
        with suppress(OSError):
            path.unlink()


def browses_in_terminal() -> bool:
    """Tell whether Python knows only a browser that it waits for, as lynx or w3m: there is no desktop."""
    try:
        browser = webbrowser.get()
    except webbrowser.Error:
        return False
    waits = isinstance(browser, webbrowser.GenericBrowser) and not isinstance(browser, webbrowser.BackgroundBrowser)
    return waits or browser.name == "elinks"


def code_blocks(text: str) -> list[str]:
    """Return the contents of a text's fenced code blocks."""
    return [token.content.rstrip("\n") for token in MarkdownIt().parse(text) if token.type == "fence"]


def clipboard_tool() -> list[str] | None:
    """The command that takes text for the system's clipboard; None where the terminal has to do it."""
    tools: list[list[str]] = []
    if sys.platform == "darwin":
        tools = [["pbcopy"]]
    elif sys.platform == "win32":
        tools = [["clip"]]
    elif os.environ.get("WAYLAND_DISPLAY"):
        tools = [["wl-copy"]]
    elif os.environ.get("DISPLAY"):
        tools = [["xclip", "-selection", "clipboard"], ["xsel", "--clipboard", "--input"]]
    return next((tool for tool in tools if shutil.which(tool[0])), None)


def to_system_clipboard(text: str) -> None:
    """Copy a text to the system's clipboard if a tool is installed. Blocks: call it in a thread."""
    tool = clipboard_tool()
    if tool is None:
        return
    with suppress(OSError, subprocess.SubprocessError):
        subprocess.run(
            tool,
            input=text.encode("utf-8", "replace"),
            stdout=subprocess.DEVNULL,  # xclip stays behind and would keep a pipe open
            stderr=subprocess.DEVNULL,
            timeout=COPY_SECONDS,
            check=False,
        )
