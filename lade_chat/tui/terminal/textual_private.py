"""Interfaces of Textual that it does not document and the screen needs, all in one place.

Tested with Textual 8.2.8, as the range in pyproject.toml says; tests/tui/test_textual_private.py names what is gone.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Any

from rich.text import Text
from textual._ansi_sequences import ANSI_SEQUENCES_KEYS
from textual._keyboard_protocol import FUNCTIONAL_KEYS
from textual._xterm_parser import XTermParser as XTermParser
from textual.app import App
from textual.content import Content
from textual.driver import Driver
from textual.events import Key
from textual.filter import LineFilter, Monochrome, NoColor
from textual.keys import Keys, _character_to_key
from textual.screen import Screen
from textual.strip import Strip
from textual.widgets import Checkbox
from textual.widgets.markdown import MarkdownBlock, MarkdownFence
from textual.worker import WorkerFailed

from lade_chat.errors import TRACEBACK


class TextCheckbox(Checkbox):
    """A checkbox that can be read without colours, and in any: ``[X]`` or ``[ ]``."""

    @property
    def _button(self) -> Content:
        return Content.styled("[X]" if self.value else "[ ]", self.get_visual_style("toggle--button"))


def app_of(driver: Driver) -> App[Any]:
    """Return the application that a driver serves."""
    return driver._app


def let_go(driver: Any) -> None:
    """Have a LinuxDriver leave the terminal as before a SIGTSTP, unless it has, or another program is run on it."""
    if driver._auto_restart and not driver._must_signal_resume:
        driver.suspend_application_mode()
        driver._must_signal_resume = True


def key_event(key: str) -> Key:
    """Return the press of a key, by its name or as the character that it types."""
    return Key(_character_to_key(key), key) if len(key) == 1 else Key(key, None)


def sent_key(key: str) -> str | None:
    """Return a key as Textual sends it: ``ctrl+shift+slash`` for ``shift+ctrl+/``; None if it sends no such key."""
    *modifiers, base = re.split(r"\+(?=.)", key)
    name = _character_to_key(base) if len(base) == 1 and key != Keys.ControlAt else base
    named = (each.value for keys in ANSI_SEQUENCES_KEYS.values() if isinstance(keys, tuple) for each in keys)
    known = {*FUNCTIONAL_KEYS.values(), *(each.rpartition("+")[2] for each in named)}
    if len(name) > 1 and name not in known and name not in map(_character_to_key, map(chr, range(0x20000))):
        return None
    return "+".join([*sorted(set(modifiers)), name])


def strips_of(screen: Screen[Any]) -> list[Strip]:
    """Return what a screen shows, row by row."""
    return screen._compositor.render_strips()


def fail_in_a_line(app: App[Any], line: Callable[[BaseException], str]) -> None:
    """Have the first unexpected error end an application with a line, where Textual prints all variables.

    Once the application is to end, in the middle of its start perhaps, parts miss one another: it ends as it was to.
    """
    handle = app._handle_exception

    def handle_exception(error: Exception) -> None:
        asked = app._return_code if app._exit else None
        handle(error)
        if asked is not None:
            app._return_code = asked

    def fail() -> None:
        error = app._exception
        if error is not None and not app._exit_renderables and not app._exit:
            cause = error.error if isinstance(error, WorkerFailed) else error
            app._exit_renderables.append(Text(line(cause)))
        app._close_messages_no_wait()

    if not os.environ.get(TRACEBACK):
        app._handle_exception = handle_exception  # type: ignore[method-assign]
        app._fatal_error = fail  # type: ignore[method-assign]


def is_debugged(driver: Driver) -> bool:
    """Return True if a driver logs its input."""
    return driver._debug


def end_sequence(parser: XTermParser) -> None:
    """Have the parser's next tick take what it has read of a key, if anything, for a whole one."""
    if parser._timeout_time is not None:
        parser._timeout_time = 0.0


def parse_tabs_with(parser: type[XTermParser]) -> None:
    """Have every WebDriver read its keys with this parser."""
    from textual.drivers import web_driver

    web_driver.XTermParser = parser  # type: ignore[attr-defined]


def replace_monochrome(app: App[Any], line_filter: LineFilter) -> None:
    """Have this filter do what Textual's does for NO_COLOR, which sends greys."""
    kept = [each for each in app._filters if not isinstance(each, Monochrome | NoColor)]
    app._filters = [*kept, line_filter]


def write_through(driver: Driver, write: Callable[[bytes], object]) -> None:
    """Have everything that a WebDriver tells its server go through ``write``."""
    driver._write = write  # type: ignore[attr-defined]


def content_of(block: MarkdownBlock) -> Content:
    """Return what a block of Markdown shows; empty for one that only holds others."""
    return block._content


def code_of(fence: MarkdownFence) -> Content:
    """Return a code block's highlighted code, without anything laid over it."""
    return fence._highlighted_code
