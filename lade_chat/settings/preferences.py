"""The application's part of the settings: theme, colours, keys, and the values its settings screen changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from lade_chat.presentation.sources import ColourView, view_named
from lade_chat.settings import file
from lade_chat.settings.catalogue import Value
from lade_chat.settings.effective import Settings, SettingSource


@dataclass(frozen=True)
class Preferences:
    """The user's choices that are kept for next time; nothing is saved without ``path``."""

    path: Path | None = None
    file_values: Mapping[str, Value] = field(default_factory=dict)
    origins: Mapping[str, SettingSource] = field(default_factory=dict)
    """The source of each setting's value at the start of the application."""
    keys: Mapping[str, str] = field(default_factory=dict)
    theme: str | None = None
    colours: ColourView = "verified"
    given: Mapping[str, Value] = field(default_factory=dict)
    """The values of the file and the environment at the start of the application."""
    aliases: Mapping[str, str] = field(default_factory=dict)
    """Short names of models."""
    prompts: Mapping[str, str] = field(default_factory=dict)
    """System prompts by name."""
    problems: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        settings: Settings,
        origins: Mapping[str, SettingSource],
        theme: str | None,
        colours: ColourView | None = None,
    ) -> Preferences:
        """``theme`` and ``colours`` are the initial ones; without ``colours``, those of the settings."""
        colours = colours or view_named(settings.get("colours"))
        kept = {name: value for name, (value, origin) in settings.values.items() if origin == "file"}
        return cls(
            settings.path,
            kept,
            origins,
            settings.keys,
            theme,
            colours,
            given={name: value for name, (value, _origin) in settings.values.items()},
            aliases=settings.aliases,
            prompts=settings.prompts,
            problems=settings.problems,
        )

    def overruled(self, name: str) -> bool:
        """Return True if a flag or the environment overrides the file for this setting."""
        return self.origins.get(name) in ("flag", "environment")

    def with_values(self, values: Mapping[str, Value | None]) -> Preferences:
        """Return the preferences with these values, without those that are None; nothing is saved."""
        kept = {**self.file_values, **values}
        return replace(self, file_values={name: value for name, value in kept.items() if value is not None})

    def save(self, values: Mapping[str, Value | None]) -> None:
        """Write these values to the file, and delete those that are None. Waits for the disk; raises SettingsError."""
        if self.path is not None:
            file.change(self.path, values)

    def with_prompt(self, name: str, text: str) -> Preferences:
        """Return the preferences with a system prompt of this name; nothing is saved."""
        return replace(self, prompts={**self.prompts, name: text})

    def save_prompt(self, name: str, text: str) -> None:
        """Write a system prompt to the file by its name. Waits for the disk; raises SettingsError."""
        if self.path is not None:
            file.change(self.path, {name: text}, table=file.PROMPTS)


NOTHING_KEPT = Preferences()
