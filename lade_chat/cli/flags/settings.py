"""Settings as defaults of flags, and the origin of each value."""

from __future__ import annotations

import os
import sys
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import typer

from lade_chat.cli.flags.usage_errors import usage
from lade_chat.paths import SURROGATES, expanded
from lade_chat.presentation.sanitize import printable
from lade_chat.settings.catalogue import SETTINGS
from lade_chat.settings.effective import Settings, SettingSource, load
from lade_chat.settings.models_at_hand import misspelt_alias, named
from lade_chat.store.sqlite.database_files import default_folder

_PATHS = ("model_path", "data_dir")
_TEXTS = ("model_path", "system")
"""Settings that are passed on to other processes, as UTF-8."""


def settle(context: typer.Context, values: dict[str, Any], counted: Collection[str]) -> Settings:
    """Fill in parameters that were not given as flags, from the settings that ``counted`` names.

    Problems with the settings go to stderr, except for the chat, which shows them itself.
    """
    settings = load()
    for name, setting in SETTINGS.items():
        given = settings.get(name)
        if name in counted and setting.field in values and given is not None and not is_given(context, setting.field):
            values[setting.field] = _converted(name, given)
    for name in _TEXTS:
        if SURROGATES.search(values.get(name) or ""):
            raise usage(f"--{name.replace('_', '-')}: its bytes are not UTF-8")
    path = values.get("model_path") or ""
    if near := misspelt_alias(path, settings.aliases):
        raise usage(f"there is no folder or short name {path}; did you mean {near}?")
    if path and not os.path.exists(path):
        model = named(path, settings.aliases)
        values["model_path"] = str(expanded(model)) if model and model.startswith("~") else model
    if (prompt := settings.prompts.get(values.get("system") or "")) is not None:
        values["system"] = prompt
    if context.parent is not None:
        sys.stderr.write("".join(f"warning: {printable(trouble)}\n" for trouble in settings.problems))
    return settings


def data_folder(settings: Settings) -> Path:
    """Return the folder of the conversations and of the list of recent models: the settings' or the platform's."""
    chosen = settings.get("data_dir")
    return expanded(str(chosen)) if chosen else default_folder()


def origins(context: typer.Context, settings: Settings) -> Mapping[str, SettingSource]:
    """Return the origin of each setting's value."""
    return {name: _origin(context, name, settings) for name in SETTINGS}


def is_given(context: typer.Context, parameter: str) -> bool:
    """Tell whether a flag was given, before the command or behind it, or through its own environment variable."""
    return not _sources(context, parameter).isdisjoint(("COMMANDLINE", "ENVIRONMENT"))


def _origin(context: typer.Context, name: str, settings: Settings) -> SettingSource:
    field = SETTINGS[name].field
    if is_given(context, field):
        return "flag" if "COMMANDLINE" in _sources(context, field) else "environment"
    return settings.values[name][1] if name in settings.values else "default"


def _sources(context: typer.Context, parameter: str) -> set[str]:
    contexts = [each for each in (context, context.parent) if each is not None]
    found = [each.get_parameter_source(parameter) for each in contexts]
    return {source.name for source in found if source is not None}


def _converted(name: str, value: Any) -> Any:
    """Convert a value as the command line's parser would."""
    if name in _PATHS:
        path = expanded(value)
        return path if name == "data_dir" else str(path) if value.startswith("~") else value
    return list(value) if isinstance(value, tuple) else value
