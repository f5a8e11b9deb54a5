"""Saves settings in a background thread, so that the screen never waits for the disk."""

from __future__ import annotations

from lade_chat.settings.file import SettingsError
from lade_chat.tui.chat.screen import ChatScreen
from lade_chat.tui.conversations.store_worker import Job


def save_settings(screen: ChatScreen, write: Job, then: Job, take_back: Job) -> None:
    """Run ``write`` in the store's worker thread.

    ``then`` is called afterwards. If ``write`` raises SettingsError, a notice says why, and ``take_back`` is called.
    """

    def work() -> str:
        try:
            write()
        except SettingsError as error:
            return str(error)
        return ""

    def done(problem: str) -> None:
        if problem:
            take_back()
            screen.transcript.note(problem, "error")
        else:
            then()

    screen.store_worker.look_up(work, done)
