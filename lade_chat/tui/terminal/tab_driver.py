"""Textual driver for a browser tab; a stalled browser or a vanished server blocks nothing."""

from __future__ import annotations

from typing import Any

from textual.app import App
from textual.drivers.web_driver import WebDriver

from lade_chat.tui.terminal.key_parser import KeyParser
from lade_chat.tui.terminal.output_thread import Output, is_picture
from lade_chat.tui.terminal.textual_private import app_of, parse_tabs_with, write_through


class TabDriver(WebDriver):
    """Writes packets as WebDriver does, but in a thread; ends with the server."""

    def __init__(self, app: App[Any], **options: Any) -> None:
        super().__init__(app, **options)
        self._output = Output(self.fileno, lambda: app.call_later(app.refresh), lambda: app.call_later(app.exit))
        # Also what tells the server of things other than pictures goes this way.
        write_through(self, self._output.write)

    def write(self, data: str) -> None:
        payload = data.encode("utf-8")
        packet = b"D%s%s" % (len(payload).to_bytes(4, "big"), payload)
        self._output.write(packet, picture=is_picture(data))

    def close(self) -> None:
        super().close()
        self._output.close()

    def run_input_thread(self) -> None:
        parse_tabs_with(KeyParser)
        super().run_input_thread()
        if not self.exit_event.is_set():  # nothing more will ever be received
            app_of(self).call_later(app_of(self).exit)
