"""PreferencesOwner: the interface of the application that actions use to read and save preferences."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, cast

from textual.screen import Screen

from lade_chat.settings.kinds import Value
from lade_chat.settings.preferences import Preferences
from lade_chat.tui.conversations.store_worker import Job


class PreferencesOwner(Protocol):
    """An application that applies settings and saves them in the background, with a notice if saving fails."""

    preferences: Preferences

    def keep(self, values: Mapping[str, Value | None]) -> None: ...

    def keep_prompt(self, name: str, text: str, then: Job) -> None:
        """Keep a system prompt by its name; ``then`` is called once it is saved."""


def preferences_owner(screen: Screen[None]) -> PreferencesOwner:
    """Return the application of a screen."""
    return cast(PreferencesOwner, screen.app)
