"""Keeps settings and system prompts for next time: in force at once, written in the store's thread."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial

from lade_chat.settings.catalogue import Value
from lade_chat.settings.file import SettingsError
from lade_chat.settings.preferences import Preferences
from lade_chat.tui.chat.loop import LoopScreen
from lade_chat.tui.conversations.store_worker import StoreTask

SYSTEM_WORDS = ("off", "save")
"""Words that cannot be the name of a system prompt."""


def keep(screen: LoopScreen, values: Mapping[str, Value | None], then: StoreTask = lambda: None) -> None:
    """Keep settings; ``then`` is called once they are saved."""
    kept = screen.preferences
    before = {name: kept.file_values.get(name) for name in values}
    screen.preferences = kept.with_values(values)
    _save(screen, partial(kept.save, values), then, lambda now: now.with_values(before))


def keep_prompt(screen: LoopScreen, name: str, text: str) -> None:
    """Keep a system prompt by its name, and say so once it is saved."""
    kept = screen.preferences
    screen.preferences = kept.with_prompt(name, text)
    offer_names(screen)
    hint = partial(screen.hint, f"Saved: /system {name}, or --system {name}, sets this prompt.")
    _save(screen, partial(kept.save_prompt, name, text), hint, lambda now: replace(now, prompts=kept.prompts))


def offer_names(screen: LoopScreen) -> None:
    """Have the prompt complete the names that the settings give to models and system prompts."""
    screen.prompt.offer("model", *screen.preferences.aliases)
    screen.prompt.offer("system", *SYSTEM_WORDS, *screen.preferences.prompts)


def _save(screen: LoopScreen, write: StoreTask, then: StoreTask, undone: Callable[[Preferences], Preferences]) -> None:
    """Write, then call ``then``; where that fails, take the change back and say why."""

    def work() -> str:
        try:
            write()
        except SettingsError as error:
            return str(error)
        return ""

    def done(problem: str) -> None:
        if not problem:
            then()
            return
        screen.preferences = undone(screen.preferences)
        offer_names(screen)
        screen.transcript.note(problem, "error")

    screen.store_worker.look_up(work, done)
