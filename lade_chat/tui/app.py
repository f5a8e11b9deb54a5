"""The chat application: one engine, one main screen, and the events that go from one to the other."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import ClassVar

from textual.app import App, SystemCommand
from textual.driver import Driver
from textual.screen import Screen

from lade_chat.protocol import DecodingOptions, ModelOptions
from lade_chat.tui.chat_screen import ChatScreen
from lade_chat.tui.engine_link import Engine


class ChatApp(App[None]):
    """Draws before the engine starts, and never waits for it."""

    TITLE = "lade-chat"
    HORIZONTAL_BREAKPOINTS = [  # noqa: RUF012
        (0, "-narrow"),
        (80, "-wide"),
        (120, "-very-wide"),
    ]
    VERTICAL_BREAKPOINTS = [(0, "-short"), (22, "-tall")]  # noqa: RUF012
    CSS_PATH: ClassVar = sorted(Path(__file__).parent.glob("*.tcss"))

    def __init__(
        self,
        engine: Engine,
        model_options: ModelOptions,
        decoding_options: DecodingOptions,
        system: str | None = None,
        debug: bool = False,
    ) -> None:
        super().__init__()
        self.engine = engine
        self.chat_screen = ChatScreen(engine.send, self._restart, model_options, decoding_options, system, debug=debug)

    def get_default_screen(self) -> ChatScreen:
        return self.chat_screen

    def get_driver_class(self) -> type[Driver]:
        driver = super().get_driver_class()
        if driver.__name__ != "LinuxDriver":
            return driver
        # Imported only where there is a terminal of this kind.
        from lade_chat.tui.terminal_driver import TerminalDriver

        return TerminalDriver

    def on_mount(self) -> None:
        self._obey_signals()
        self.call_after_refresh(lambda: self.run_worker(self._run_engine()))

    def on_unmount(self) -> None:
        self.engine.close()

    async def action_quit(self) -> None:
        """Quit at once, whatever the engine is doing."""
        self._end(0)

    def _end(self, code: int) -> None:
        self.engine.close()
        self.exit(return_code=code)

    def _obey_signals(self) -> None:
        """Asked to end from outside, quit as by Ctrl+Q: the terminal is put back as it was."""
        # Not every system has these signals, and only a main thread may handle them.
        with suppress(AttributeError, NotImplementedError, RuntimeError, ValueError):
            loop = asyncio.get_running_loop()
            for number in (signal.SIGTERM, signal.SIGHUP):
                loop.add_signal_handler(number, self._end, 128 + number)

    def action_help_quit(self) -> None:
        """Ctrl+C with nothing to copy; in many programs it stops or quits."""
        self.chat_screen.hint("Esc stops · Ctrl+Q quits")

    def action_help(self) -> None:
        self.chat_screen.action_help()

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        yield from super().get_system_commands(screen)
        if screen is not self.chat_screen:
            return
        chat = self.chat_screen
        yield SystemCommand("Lookahead on or off", "Also in mid-reply (Ctrl+L)", chat.action_toggle_lookahead)
        yield SystemCommand("Race", "Lookahead on against off, side by side (Ctrl+R)", chat.action_race)
        yield SystemCommand("Stop the reply", "What was said is kept (Esc)", chat.action_stop)
        yield SystemCommand("New conversation", "Forget all turns (Ctrl+N)", chat.action_new_conversation)
        yield SystemCommand("Open a model", "A folder or a hub id (Ctrl+O)", chat.action_open_model)
        yield SystemCommand("Debug panel", "Speed-up, steps, accepted runs (Ctrl+D)", chat.action_toggle_debug)
        yield SystemCommand("Thoughts", "Open or fold them (F5)", chat.action_toggle_thoughts)
        yield SystemCommand("Help", "What this is, and its keys (F1)", chat.action_help)

    async def _run_engine(self) -> None:
        await self.engine.start()
        self.chat_screen.chat.load()
        async for event in self.engine.events():
            self.chat_screen.chat.handle(event)

    async def _restart_engine(self) -> None:
        await self.engine.restart()
        self.chat_screen.chat.load()

    def _restart(self) -> None:
        self.run_worker(self._restart_engine())
