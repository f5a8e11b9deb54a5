"""The chat application: one engine, one chat screen, and the events between them."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import ClassVar

from platformdirs import user_downloads_path
from rich.console import RenderableType
from textual import on
from textual.app import App, SystemCommand
from textual.binding import BindingType
from textual.command import CommandPalette
from textual.driver import Driver
from textual.events import DeliveryFailed, Event, Key
from textual.screen import Screen
from textual.theme import Theme, ThemeProvider

from lade_chat.engine.process.client import EngineConnection
from lade_chat.errors import summary, unexpected
from lade_chat.presentation.sanitize import printable
from lade_chat.presentation.token_looks import view_named
from lade_chat.protocol.values import DecodingOptions, ModelOptions
from lade_chat.settings.catalogue import Value
from lade_chat.settings.effective import NOTHING_KEPT, Preferences
from lade_chat.store.all_conversations import Store
from lade_chat.tui.app.quitting import QuitKeys
from lade_chat.tui.chat.chat_screen import ChatScreen
from lade_chat.tui.chat.chat_settings import apply_changes, change_chat_settings, keep, offer_names, settings_screen
from lade_chat.tui.chat.decisions import controls
from lade_chat.tui.chat.decisions.replies import close_chat
from lade_chat.tui.chat.slash_dispatch import palette_lines, run
from lade_chat.tui.chat.stored_conversations import unsent_text
from lade_chat.tui.conversations.conversation_session import NEW, Start
from lade_chat.tui.conversations.list_screen import ConversationList
from lade_chat.tui.conversations.store_worker import StoreTask
from lade_chat.tui.key_map import APP_KEYS, BROWSER_KEYS, KeyNames, default_keys, keymap_for
from lade_chat.tui.screens.settings import Changes, SettingsScreen
from lade_chat.tui.terminal.other_programs import end_on_signals
from lade_chat.tui.terminal.output_thread import HANGUP_CODE
from lade_chat.tui.terminal.textual_private import fail_in_a_line
from lade_chat.tui.theme.colouring import Colouring
from lade_chat.tui.theme.themes import default_theme, problem_of
from lade_chat.tui.widgets.dialog import Palette

GOES_ON = "lade-chat --continue goes on with the conversation."


class ChatApp(Colouring):
    """The chat's Textual App: draws its first frame before the engine starts, and never blocks on the engine."""

    TITLE = "lade-chat"
    BINDINGS: ClassVar[list[BindingType]] = APP_KEYS
    CSS_PATH: ClassVar = sorted(Path(__file__).parents[1].rglob("*.tcss"))

    def __init__(
        self,
        engine: EngineConnection,
        model_options: ModelOptions,
        decoding_options: DecodingOptions,
        system: str | None = None,
        *,
        store: Store,
        start: Start = NEW,
        preferences: Preferences = NOTHING_KEPT,
    ) -> None:
        super().__init__()
        fail_in_a_line(self, lambda error: f"error: {printable(unexpected(error))}. {GOES_ON}")
        self.engine = engine
        self.ending = threading.Event()
        """Set when the application has been asked to end."""
        usual = default_keys(ChatScreen, ChatApp)
        is_tab = self.driver_class.__name__ == "TabDriver"
        more = {action: f"{usual[action]},{key}" for action, key in BROWSER_KEYS.items()} if is_tab else {}
        custom, self._refused_keys = keymap_for(preferences.keys, {**usual, **more})
        self._keymap = {**more, **custom}
        self.key_names = KeyNames({**usual, **self._keymap})
        self.set_reactive(ChatApp.colours, preferences.colours)
        self.theme = default_theme(in_browser=is_tab)
        self.chat_screen = ChatScreen(store, engine, preferences, model_options, decoding_options, system)
        self.chat_screen.start = start
        self._quit_keys = QuitKeys(self.chat_screen, self.key_names, self._end)

    @property
    def preferences(self) -> Preferences:
        return self.chat_screen.preferences

    def get_default_screen(self) -> ChatScreen:
        return self.chat_screen

    def get_driver_class(self) -> type[Driver]:
        """Return the chat's own driver in place of Textual's; each is imported only where it can run."""
        driver = super().get_driver_class()
        if driver.__name__ == "LinuxDriver":
            from lade_chat.tui.terminal.driver import TerminalDriver

            return TerminalDriver
        if driver.__name__ == "WebDriver":
            from lade_chat.tui.terminal.tab_driver import TabDriver

            return TabDriver
        return driver

    def on_load(self) -> None:
        end_on_signals(self._end)

    def on_mount(self) -> None:
        """Apply the user's theme and keys, report what is wrong with the settings, and start the engine."""
        change_chat_settings(self.chat_screen, self.preferences.given)
        problems = [*self.preferences.problems]
        if problem := problem_of(self.preferences.theme):
            problems.append(problem)
        elif self.preferences.theme is not None:
            self.theme = self.preferences.theme
        self.set_keymap(self._keymap)
        self.call_after_refresh(self._report, [*problems, *self._refused_keys])
        self.call_after_refresh(offer_names, self.chat_screen)
        self.theme_changed_signal.subscribe(self, self._keep_theme)
        self.app_resume_signal.subscribe(self, self._resume)
        gc.freeze()  # what was imported lives as long as the screen, and need not be searched at every frame
        self.call_after_refresh(lambda: self.run_worker(self.chat_screen.run_engine()))

    def on_unmount(self) -> None:
        self._close()

    def action_command_palette(self) -> None:
        """Open the command palette."""
        if self.use_command_palette and not isinstance(self.screen, CommandPalette):
            self.push_screen(Palette(id="--command-palette"))

    def search_themes(self) -> None:
        """Open the list of themes."""
        self.push_screen(Palette(providers=[ThemeProvider], placeholder="Search for themes…"))

    def deliver_screenshot(
        self, filename: str | None = None, path: str | None = None, time_format: str | None = None
    ) -> str | None:
        """Save a screenshot; where no folder is given and there is none for downloads, in the present one."""
        if path is None and not user_downloads_path().is_dir():
            path = "."
        return super().deliver_screenshot(filename, path, time_format)

    @on(DeliveryFailed)
    def _tell_why(self, event: DeliveryFailed) -> None:
        """Say why a screenshot cannot be saved; Textual only says that it cannot."""
        event.prevent_default()
        why = summary(event.exception).partition("] ")  # behind the number of a system's error
        text = f"The screenshot is not saved: {why[2] or why[0]}."
        self.notify(printable(text), severity="error", markup=False)

    async def action_quit(self) -> None:
        """Quit, even while the engine is busy."""
        self._quit_keys.quit()

    def action_help_quit(self) -> None:
        """Clear the draft or stop the reply; quit at the second Ctrl+C in a row. The editor copies what is selected."""
        self._quit_keys.interrupt()

    async def hand_out(self, event: Event) -> None:
        if isinstance(event, Key):
            self._quit_keys.note(event.key)
        await super().hand_out(event)

    def action_suspend_process(self) -> None:
        """Give the terminal back to the shell; a reply pauses until the chat comes back."""
        self.chat_screen.decide(controls.hold, True)
        super().action_suspend_process()

    def exit(self, result: None = None, return_code: int = 0, message: RenderableType | None = None) -> None:
        """End at once, for whatever reason."""
        self._close("The terminal was closed." if return_code == HANGUP_CODE else "")
        super().exit(result, return_code, message)

    def _end(self, code: int = 0) -> None:
        unsent = unsent_text(self.chat_screen)
        self.exit(return_code=code)
        self.chat_screen.unsent.leave(unsent)  # behind the last task of the store's thread, which may keep it, too

    def _close(self, error: str = "") -> None:
        """End the engine and save everything; idempotent. ``error`` is why a running reply is broken off."""
        self.ending.set()
        self.engine.close()
        self.chat_screen.decide(close_chat, error)
        self.chat_screen.store_worker.close()

    def _resume(self, _: App[None]) -> None:
        """Once the shell has brought the application back, draw it whole and let a reply go on."""
        self.chat_screen.decide(controls.hold, False)
        self.refresh(layout=True)

    def _report(self, problems: Iterable[str]) -> None:
        for trouble in problems:
            self.chat_screen.transcript.note(f"Settings: {trouble}", is_error=True)

    def _keep_theme(self, theme: Theme) -> None:
        if isinstance(self.screen, SettingsScreen):  # only previewed there
            return
        if theme.name != self.preferences.file_values.get("theme", self.preferences.theme):
            self.keep({"theme": theme.name})

    def keep(self, values: Mapping[str, Value | None], then: StoreTask = lambda: None) -> None:
        keep(self.chat_screen, values, then)

    def action_settings(self) -> None:
        """Open the settings screen; changes apply at once, and are saved."""
        if self.screen is self.chat_screen:
            self.push_screen(settings_screen(self.chat_screen), self._settings_changed)

    def _settings_changed(self, changes: Changes | None) -> None:
        if not changes:
            return
        self.keep(changes, lambda: self.chat_screen.hint("The settings are saved."))
        effective = {name: value for name, value in changes.items() if not self.preferences.overruled(name)}
        apply_changes(self.chat_screen, effective, self.preferences.prompts)
        if isinstance(theme := effective.get("theme"), str):
            self.theme = theme
        if "colours" in effective:
            self.colours = view_named(effective["colours"])

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "suspend_process":  # where that cannot be, and in the list of conversations, the key undoes
            can_suspend = self._driver is not None and self._driver.can_suspend
            return can_suspend and not isinstance(self.screen, ConversationList)
        return action != "settings" or self.screen is self.chat_screen

    def action_help(self) -> None:
        self.chat_screen.action_help()

    def action_explain(self) -> None:
        run(self.chat_screen, "/explain")

    def get_system_commands(self, screen: Screen[object]) -> Iterable[SystemCommand]:
        for each in super().get_system_commands(screen):
            if each.title == "Quit":
                about = self.key_names.put_into("At once; what was said is kept ({quit})")
                yield SystemCommand("Quit", about, self.action_quit)
            elif each.title not in ("Keys", "Maximize"):
                yield each
        if screen is not self.chat_screen:
            return
        for title, about, callback in palette_lines(self.chat_screen):
            yield SystemCommand(title, self.key_names.put_into(about), callback)
