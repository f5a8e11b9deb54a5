"""The application as its actions know it: the one that holds the preferences, and saves them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, cast

from textual.screen import Screen

from lade_chat.settings.kinds import Value
from lade_chat.settings.preferences import Preferences


class PreferencesOwner(Protocol):
    """Keeps settings: where one cannot be saved, the screen says so and False is returned."""

    preferences: Preferences

    def keep(self, values: Mapping[str, Value | None]) -> bool: ...

    def keep_prompt(self, name: str, text: str) -> bool: ...


def preferences_owner(screen: Screen[None]) -> PreferencesOwner:
    """Return the application of a screen."""
    return cast(PreferencesOwner, screen.app)
