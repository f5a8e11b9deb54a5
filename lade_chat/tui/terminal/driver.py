"""Textual driver for a terminal: pastes stay whole, and a stalled or vanished terminal blocks nothing."""

from __future__ import annotations

import os
import selectors
import sys
import webbrowser
from codecs import getincrementaldecoder
from contextlib import ExitStack, suppress
from typing import TextIO

from textual.drivers.linux_driver import LinuxDriver

from lade_chat.presentation.sanitize import printable
from lade_chat.tui.terminal.key_parser import ESCAPE_SECONDS, KeyParser
from lade_chat.tui.terminal.other_programs import browses_in_terminal, interrupts_left_alone
from lade_chat.tui.terminal.output_thread import HANGUP_CODE, Output, is_picture
from lade_chat.tui.terminal.textual_private import app_of, is_debugged, let_go

READ_SIZE = 4096
TICK_SECONDS = 0.1
RESTLESS_TICKS = 10
"""Ticks after the last key until the thread blocks without a timeout; ticks tell a lone Escape from a sequence."""


class TerminalDriver(LinuxDriver):
    """Textual's LinuxDriver with its own input loop and writer thread.

    LinuxDriver's writer thread is not used: its queue is short, and once a stalled or vanished terminal has filled it,
    writing blocks the application's event loop for ever.
    """

    _output: Output | None = None
    _waker: int | None = None
    """Closed, it ends the wait for a key."""

    def start_application_mode(self) -> None:
        app = app_of(self)
        self._output = Output(
            _terminal().fileno(),
            lambda: app.call_later(app.refresh),
            lambda: app.call_later(app.exit, return_code=HANGUP_CODE),
        )
        super().start_application_mode()  # type: ignore[no-untyped-call]

    def _sigcont_application(self, *signal: object) -> None:
        """Take the terminal again, after releasing it if a SIGSTOP left no time for that.

        Else a second thread would read keys beside the first, and they would come out of order.
        """
        let_go(self)
        super()._sigcont_application(*signal)

    def write(self, data: str) -> None:
        if self._output is not None:
            self._output.write(data.encode(_terminal().encoding, "replace"), picture=is_picture(data))

    def close(self) -> None:
        super().close()
        if self._output is not None:
            self._output.close()

    def open_url(self, url: str, new_tab: bool = True) -> None:
        """Open a link, or show it; a browser that runs in the terminal, as lynx does, has that until it ends."""
        app = app_of(self)
        with ExitStack() as stack:
            if browses_in_terminal():
                stack.enter_context(app.suspend())
                stack.enter_context(interrupts_left_alone())
            is_open = webbrowser.open(url)
        if not is_open:
            app.notify(f"No browser opens here: {printable(url)}", severity="warning", markup=False)

    def disable_input(self) -> None:
        if self._waker is not None:
            os.close(self._waker)
            self._waker = None
        super().disable_input()

    def run_input_thread(self) -> None:
        """Read until the driver ends, and hand on each event."""
        parser = KeyParser(is_debugged(self))
        decoder = getincrementaldecoder("utf-8")("replace")
        typed_ahead, ticks = True, 0
        woken, self._waker = os.pipe()
        with selectors.SelectSelector() as selector, os.fdopen(woken):
            selector.register(self.fileno, selectors.EVENT_READ)
            selector.register(woken, selectors.EVENT_READ)
            while not self.exit_event.is_set():
                wait = 0 if typed_ahead else TICK_SECONDS if ticks < RESTLESS_TICKS else None
                wait = ESCAPE_SECONDS if parser.is_waiting else wait
                ready = [key.fd for key, _events in selector.select(wait)]
                if self.fileno in ready:
                    ticks = 0
                    data = b""
                    with suppress(OSError):
                        data = os.read(self.fileno, READ_SIZE)
                    if not data:
                        # The terminal is gone, and reading on would only spin.
                        app = app_of(self)
                        app.call_later(app.exit, return_code=HANGUP_CODE)
                        return
                    if typed_ahead and b"\x1b" not in data:  # a paste keeps its line feeds
                        # A terminal that lines are still read from makes a line feed of Enter.
                        data = data.replace(b"\n", b"\r")
                    for event in parser.feed(decoder.decode(data)):
                        self.process_message(event)
                else:
                    typed_ahead, ticks = False, ticks + 1
                for event in parser.tick():
                    self.process_message(event)


def _terminal() -> TextIO:
    """Return the stream that LinuxDriver draws on; the command line has checked that it is a terminal."""
    assert sys.__stderr__ is not None
    return sys.__stderr__
