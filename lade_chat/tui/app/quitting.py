"""The chat's keys that quit: at once, or at their second press where the first has something to say."""

from __future__ import annotations

import time
from collections.abc import Callable

from lade_chat.presentation.metric_words import counted
from lade_chat.tui.chat.actions import drop_draft
from lade_chat.tui.chat.chat_screen import ChatScreen
from lade_chat.tui.chat.decisions.controls import stop_all
from lade_chat.tui.key_map import KeyNames
from lade_chat.tui.race.race_screen import RaceScreen

INTERRUPT_SECONDS = 2.0
"""Within so long a second Ctrl+C quits."""
CTRL_C = "Ctrl+C"
UNSAVED_SECONDS = 10.0
"""Within so long the same key again quits although not everything is saved."""


class Interrupts:
    """Remembers the key that was last pressed to quit, and when."""

    def __init__(self) -> None:
        self.key, self._last = "", 0.0
        """The key is empty once another one was pressed."""

    def again(self, key: str = CTRL_C, seconds: float | None = None) -> bool:
        """Count a press; True if it is the key's second in a row, within ``seconds`` if they are given."""
        before, self.key, self._last = (self.key, self._last), key, time.monotonic()
        return before[0] == key and self._last - before[1] < (INTERRUPT_SECONDS if seconds is None else seconds)


class QuitKeys:
    """Quits, but warns before anything is lost."""

    def __init__(self, chat_screen: ChatScreen, key_names: KeyNames, end: Callable[[], None]) -> None:
        self._chat_screen, self._key_names, self._end = chat_screen, key_names, end
        self._interrupts = Interrupts()
        self._keys = {"ctrl+c", *map(str.strip, key_names.keys["quit"].split(","))}

    def quit(self) -> None:
        """Quit at once; at the second press of the key where something would be lost."""
        self._press(self._key_names.first("quit"), at_once=True)

    def interrupt(self) -> None:
        """Clear the draft; without one stop the reply or the race; quit at the second press."""
        screen, above = self._chat_screen, self._chat_screen.app.screen
        if isinstance(above, RaceScreen) and above.check_action("stop", ()):
            above.action_stop()
        if self._is_open and drop_draft(screen):
            return
        done, state = "", screen.state
        if self._is_open and state.is_running and not state.stopping:
            waiting = state.messages_waiting
            dropped = f", {counted(waiting, 'message')} dropped: Up recalls" if waiting else "; its text is kept"
            done = f"Stopped{dropped} · "
            screen.decide(stop_all)
        self._press(CTRL_C, at_once=False, done=done)

    def note(self, key: str) -> None:
        """Note that a key was pressed: a second press counts only right after the first."""
        if key not in self._keys and self._interrupts.key:
            self._interrupts.key = ""
            self._chat_screen.status.review()

    @property
    def _is_open(self) -> bool:
        """True while nothing covers the chat."""
        return self._chat_screen.app.screen is self._chat_screen

    def _press(self, key: str, *, at_once: bool, done: str = "") -> None:
        worker, above = self._chat_screen.store_worker, self._chat_screen.app.screen
        trouble = worker.trouble if worker.store.would_lose else ""
        again = self._interrupts.again(key, UNSAVED_SECONDS if trouble else None)
        if again or (at_once and not trouble):
            self._end()
        elif trouble:
            text = f"{key} again quits, and loses what is not saved. {trouble}"
            self._chat_screen.app.notify(text, severity="warning", timeout=UNSAVED_SECONDS, markup=False)
        elif self._is_open:
            text = f"{done}{key} again quits"
            self._chat_screen.status.hint(text, lambda: bool(self._interrupts.key), INTERRUPT_SECONDS)
        elif isinstance(above, RaceScreen):
            above.hint(f"{key} twice quits.")  # a toast would cover a title or a text
        else:
            self._chat_screen.app.notify(f"{key} again quits", timeout=INTERRUPT_SECONDS)
