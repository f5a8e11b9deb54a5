"""The drivers of the chat's own, in place of Textual's."""

from __future__ import annotations

from textual.driver import Driver


def own_driver(driver: type[Driver]) -> type[Driver]:
    """Return the chat's driver where Textual would take ``driver``; each is imported only where it can run."""
    if driver.__name__ == "LinuxDriver":
        from lade_chat.tui.terminal.driver import TerminalDriver

        return TerminalDriver
    if driver.__name__ == "WebDriver":
        from lade_chat.tui.terminal.tab_driver import TabDriver

        return TabDriver
    return driver
