"""The chat application: one engine, one main screen, and the events that go from one to the other."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import ClassVar

from textual.app import SystemCommand
from textual.binding import Binding, BindingType
from textual.command import CommandPalette
from textual.driver import Driver
from textual.screen import Screen
from textual.theme import Theme, ThemeProvider

from lade_chat.presentation.colours import view_named
from lade_chat.presentation.metrics import part
from lade_chat.protocol.events import Loaded, Waiting
from lade_chat.protocol.values import DecodingOptions, ModelOptions
from lade_chat.settings import models
from lade_chat.settings.file import SettingsError
from lade_chat.settings.kinds import Value
from lade_chat.settings.settings import nearest
from lade_chat.store.store import Store
from lade_chat.tui.app.apply_settings import settle
from lade_chat.tui.app.engine_link import Engine
from lade_chat.tui.app.key_names import KeyNames, named, other_keys, usual_keys
from lade_chat.tui.app.palette import commands
from lade_chat.tui.app.preferences import NOTHING_KEPT, Preferences
from lade_chat.tui.app.start import NEW, Start
from lade_chat.tui.chat.keys import ChatKeys
from lade_chat.tui.chat.phase import Phase
from lade_chat.tui.chat.screen import ChatScreen
from lade_chat.tui.screens.model import ModelScreen
from lade_chat.tui.screens.settings import Changes, SettingsScreen
from lade_chat.tui.theme.colouring import Colouring
from lade_chat.tui.theme.palettes import THEMES
from lade_chat.tui.widgets.dialog import Palette


class ChatApp(Colouring):
    """Draws before the engine starts, and never waits for it."""

    TITLE = "lade-chat"
    HORIZONTAL_BREAKPOINTS = [  # noqa: RUF012
        (0, "-narrow"),
        (80, "-wide"),
        (120, "-very-wide"),
    ]
    VERTICAL_BREAKPOINTS = [(0, "-short"), (22, "-tall")]  # noqa: RUF012
    BINDINGS: ClassVar[list[BindingType]] = named(
        [
            Binding("ctrl+s,f12", "settings", "Settings", priority=True, show=False),
            Binding("ctrl+b", "toggle_colours", "Colours", priority=True, show=False),
            Binding("ctrl+p", "command_palette", "Commands", priority=True, show=False),
        ]
    )
    CSS_PATH: ClassVar = sorted(Path(__file__).parents[1].rglob("*.tcss"))

    def __init__(
        self,
        engine: Engine,
        model_options: ModelOptions,
        decoding_options: DecodingOptions,
        system: str | None = None,
        debug: bool = False,
        *,
        store: Store,
        start: Start = NEW,
        preferences: Preferences = NOTHING_KEPT,
    ) -> None:
        super().__init__()
        self.engine = engine
        self.ending = threading.Event()
        """Set when the application has been asked to end."""
        self.preferences = preferences
        self.data_folder = store.path.parent
        usual = usual_keys(ChatKeys, ChatApp)
        self._keymap_wished, self._keys_refused = other_keys(preferences.keys, usual)
        self.key_names = KeyNames({**usual, **self._keymap_wished})
        self.colours = preferences.colours
        for theme in THEMES:
            self.register_theme(theme)
        self.chat_screen = ChatScreen(
            store, engine.send, self._restart, model_options, decoding_options, system, debug=debug, start=start
        )

    def get_default_screen(self) -> ChatScreen:
        return self.chat_screen

    def get_driver_class(self) -> type[Driver]:
        driver = super().get_driver_class()
        # Imported only where there is a terminal of this kind, or a browser.
        if driver.__name__ == "LinuxDriver":
            from lade_chat.tui.terminal.driver import TerminalDriver

            return TerminalDriver
        if driver.__name__ == "WebDriver":
            from lade_chat.tui.terminal.tab_driver import TabDriver

            return TabDriver
        return driver

    def on_load(self) -> None:
        self._obey_signals()

    def on_mount(self) -> None:
        self._obey_preferences()
        self.call_after_refresh(lambda: self.run_worker(self._run_engine()))

    def on_unmount(self) -> None:
        self._close()

    def action_command_palette(self) -> None:
        """Everything that can be done here, to be searched."""
        if self.use_command_palette and not isinstance(self.screen, CommandPalette):
            self.push_screen(Palette(id="--command-palette"))

    def search_themes(self) -> None:
        """All themes, to be searched."""
        self.push_screen(Palette(providers=[ThemeProvider], placeholder="Search for themes…"))

    async def action_quit(self) -> None:
        """Quit at once, whatever the engine is doing."""
        self._end(0)

    def _end(self, code: int) -> None:
        self._close()
        self.exit(return_code=code)

    def _close(self) -> None:
        """End the engine and have everything saved; more than once is harmless."""
        self.ending.set()
        self.engine.close()
        self.chat_screen.chat.close()

    def _obey_preferences(self) -> None:
        """Colours and keys as the user has settled them; what cannot be obeyed is told, and so is what was wrong."""
        troubles = [*self.preferences.troubles]
        theme = self.preferences.theme
        if theme is not None and theme in self.available_themes:
            self.theme = theme
        elif theme is not None:
            near = nearest(theme, self.available_themes)
            troubles.append(f"there is no theme {theme}{f'; did you mean {near}?' if near else ''}")
        self.set_keymap(self._keymap_wished)
        troubles += self._keys_refused
        self.call_after_refresh(self._tell, troubles)
        self.theme_changed_signal.subscribe(self, self._keep_theme)

    def _tell(self, troubles: Iterable[str]) -> None:
        for trouble in troubles:
            self.chat_screen.transcript.note(f"Settings: {trouble}", "error")

    def _keep_theme(self, theme: Theme) -> None:
        if theme.name != self.preferences.file_values.get("theme", self.preferences.theme):
            self.keep({"theme": theme.name})

    def keep(self, values: Mapping[str, Value | None]) -> bool:
        """Save settings; where that fails a notice says why."""
        try:
            self.preferences = self.preferences.saved(values)
        except SettingsError as error:
            self.chat_screen.transcript.note(str(error), "error")
            return False
        return True

    def _obey_signals(self) -> None:
        """Asked to end from outside, quit as by Ctrl+Q: the terminal is put back as it was."""
        # Not every system has these signals, and only a main thread may handle them.
        with suppress(AttributeError, NotImplementedError, RuntimeError, ValueError):
            loop = asyncio.get_running_loop()
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                loop.add_signal_handler(number, self._end, 128 + number)

    def on_model_screen_keep(self, event: ModelScreen.Keep) -> None:
        options = event.options
        self.keep({"model_path": options.path, "device": options.device, "dtype": options.dtype})

    def action_settings(self) -> None:
        """The settings screen; what is changed there counts at once, and is kept."""
        if self.screen is not self.chat_screen:
            return
        themes = sorted(self.available_themes, key=lambda name: (not name.startswith("lade-"), name))
        self.push_screen(SettingsScreen(self.preferences, themes), self._settle)

    def _settle(self, changes: Changes | None) -> None:
        if not changes or not self.keep(changes):
            return
        counting = {name: value for name, value in changes.items() if not self.preferences.overruled(name)}
        settle(self.chat_screen, counting)
        if isinstance(theme := counting.get("theme"), str):
            self.theme = theme
        if "colours" in counting:
            self.show_colours(view_named(counting["colours"]))
        self.chat_screen.hint("The settings are kept.")

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return action != "settings" or self.screen is self.chat_screen

    def action_help_quit(self) -> None:
        """Ctrl+C with nothing to copy; in many programs it stops or quits."""
        self.chat_screen.hint(self.key_names.put_into("{stop} stops · {quit} quits"))

    def action_help(self) -> None:
        self.chat_screen.action_help()

    def action_explain(self) -> None:
        self.chat_screen.action_explain()

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        yield from super().get_system_commands(screen)
        if screen is not self.chat_screen:
            return
        yield from commands(self.chat_screen)
        about = self.key_names.put_into("What is kept for next time ({settings})")
        yield SystemCommand("Settings", about, self.action_settings)

    async def _run_engine(self) -> None:
        await self.engine.start()
        self.chat_screen.chat.load()
        async for event in self.engine.events():
            self.chat_screen.chat.handle(event)
            if isinstance(event, Waiting) and self.chat_screen.chat.phase in (Phase.REPLYING, Phase.LOADING):
                before = "another tab" if event.ahead == 1 else f"{event.ahead} others"
                self.chat_screen.status.show([part(0, f"waiting: {before} first")])
            if isinstance(event, Loaded) and (options := self.chat_screen.chat.model_options).path is not None:
                remember = partial(models.remember, self.data_folder, options.path, options.device, options.dtype)
                self.run_worker(remember, thread=True)

    async def _restart_engine(self) -> None:
        await self.engine.restart()
        self.chat_screen.chat.load()

    def _restart(self) -> None:
        self.run_worker(self._restart_engine())
