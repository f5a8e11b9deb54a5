"""The application as its actions know it: the one that holds the preferences, and saves them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, cast

from textual.screen import Screen

from lade_chat.settings.kinds import Value
from lade_chat.settings.preferences import Preferences
from lade_chat.tui.conversations.store_worker import Job


class PreferencesOwner(Protocol):
    """Keeps settings, and saves them beside the screen, which says so where that fails."""

    preferences: Preferences

    def keep(self, values: Mapping[str, Value | None]) -> None: ...

    def keep_prompt(self, name: str, text: str, then: Job) -> None:
        """Keep a system prompt by its name; ``then`` is called once it is saved."""


def preferences_owner(screen: Screen[None]) -> PreferencesOwner:
    """Return the application of a screen."""
    return cast(PreferencesOwner, screen.app)
