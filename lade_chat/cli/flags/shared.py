"""Gives a command the shared flags, and each flag its value: given behind the command or before it, or a setting's."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import os
import sys
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from lade_chat.cli.flags.options import SHARED, SharedOptions
from lade_chat.cli.flags.usage_errors import usage
from lade_chat.known_models.asked_model import misspelt_alias, named
from lade_chat.paths import SURROGATES, expanded
from lade_chat.presentation.sanitize import printable
from lade_chat.settings.catalogue import SETTINGS
from lade_chat.settings.effective import Settings, SettingSource, load
from lade_chat.store.sqlite.database_files import default_folder

_PATHS = ("model_path", "data_dir")
_TEXTS = ("model_path", "system")
"""Settings that are passed on to other processes, as UTF-8."""


def with_shared_options(
    *, without: Collection[str] = (), settings: Collection[str] = SETTINGS, **defaults: Any
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command that takes ``context`` and ``options: SharedOptions`` a flag for each shared option.

    A flag given before a subcommand applies to it, unless given again behind it. Flags not given take their values
    from the ``settings`` that apply, the command's own flags too; ``context.obj`` holds the settings. ``defaults`` are
    those of flags that have another here.
    """
    without = {*without, "thought_delimiters"}
    fields = [field for field in dataclasses.fields(SharedOptions) if field.name not in without]
    hints = get_type_hints(SharedOptions)
    flags = [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=defaults.get(field.name, field.default),
            annotation=Annotated[hints[field.name], field.metadata["flag"]],
        )
        for field in fields
    ]

    def with_flags(command: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(command)
        def run(context: typer.Context, **values: Any) -> None:
            if context.parent is not None:
                values = _with_values_before(context, values)
            delimiters: tuple[tuple[str, str, str], ...] = ()
            if context.invoked_subcommand is None:
                with_system = values.get("system") is not None
                context.obj = _settle(context, values, settings)
                if values.get("raw") and with_system:
                    raise usage("--raw and --system exclude one another: a bare text has no roles")
                delimiters = context.obj.thought_delimiters
            shared = {field.name: values.pop(field.name) for field in fields}
            command(context=context, options=SharedOptions(**shared, thought_delimiters=delimiters), **values)

        own = inspect.signature(command, eval_str=True).parameters.values()
        parameters = [*(each for each in own if each.name != "options"), *flags]
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        return run

    return with_flags


def _with_values_before(context: typer.Context, values: Mapping[str, Any]) -> dict[str, Any]:
    """Add the values given before a command to those behind it. Raises a usage error for a flag that it lacks."""
    parent = context.parent
    assert parent is not None
    before = [each for each in parent.command.params if _is_given(parent, each.name)]
    for flag in before:
        if flag.name in SHARED and flag.name not in values:
            raise typer.BadParameter("this command has no such flag", param_hint=flag.opts[0])
        if flag.name not in values:
            hint = "; ask --continue continues the latest conversation" if flag.name == "resume" else ""
            raise usage(
                f"{flag.opts[0]} is for the chat itself, without a command: {context.info_name} has no such flag{hint}"
            )
    names = [flag.name for flag in before if flag.name and not _is_given(context, flag.name)]
    return {**values, **{name: parent.params[name] for name in names}}


def _is_given(context: Any, name: str | None) -> bool:
    """Tell whether a flag is on the command line; defaults and the environment do not count."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _settle(context: typer.Context, values: dict[str, Any], counted: Collection[str]) -> Settings:
    """Fill in parameters that were not given as flags, from the settings that ``counted`` names.

    Problems with the settings go to stderr, except for the chat, which shows them itself.
    """
    settings = load()
    for name, setting in SETTINGS.items():
        given = settings.get(name)
        if name in counted and setting.field in values and given is not None and not given_by(context, setting.field):
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
    stored = {name: origin for name, (_, origin) in settings.values.items()}
    return {name: given_by(context, setting.field) or stored.get(name, "default") for name, setting in SETTINGS.items()}


def given_by(context: typer.Context, parameter: str) -> SettingSource | None:
    """Tell what gave a flag, before the command or behind it: itself, or its own environment variable; else None."""
    found = [each.get_parameter_source(parameter) for each in (context, context.parent) if each is not None]
    names = {source.name for source in found if source is not None}
    return "flag" if "COMMANDLINE" in names else "environment" if "ENVIRONMENT" in names else None


def _converted(name: str, value: Any) -> Any:
    """Convert a value as the command line's parser would."""
    if name in _PATHS:
        path = expanded(value)
        return path if name == "data_dir" else str(path) if value.startswith("~") else value
    return list(value) if isinstance(value, tuple) else value
