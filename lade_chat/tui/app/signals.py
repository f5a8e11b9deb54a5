"""Signals: what ends the chat from outside, and the shell's Ctrl+Z."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable
from contextlib import suppress

from textual.app import App
from textual.driver import Driver

from lade_chat.tui.control.reply_controls import ReplyControls


def end_on_signals(end: Callable[[int], None]) -> None:
    """Quit on a signal as on Ctrl+Q, so that the terminal is restored; ``end`` gets the exit code."""
    # Some systems lack these signals, and only the main thread may handle them.
    with suppress(AttributeError, NotImplementedError, RuntimeError, ValueError):
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, end, 128 + number)


def can_suspend(driver: Driver | None) -> bool:
    """Return True in a terminal, which a shell may take back."""
    return driver is not None and driver.can_suspend


def resume_after_suspension(app: App[None], controls: ReplyControls) -> None:
    """Once the shell has brought the application back, draw it whole and let a reply go on."""

    def resume(_: App[None]) -> None:
        controls.release()
        app.refresh(layout=True)

    app.app_resume_signal.subscribe(app, resume)
