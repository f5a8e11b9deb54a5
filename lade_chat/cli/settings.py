"""``lade-chat settings``: every setting with its value and origin, and changes to the settings file."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from shutil import get_terminal_size
from textwrap import wrap
from typing import Annotated, Any

import typer

from lade_chat.cli.flags.arguments import PARSERS, Json, folder_path
from lade_chat.cli.flags.options import SHARED, SharedOptions
from lade_chat.cli.flags.shared import origins, with_shared_options
from lade_chat.cli.running.process_exit import FAILURE, epilog
from lade_chat.errors import ModelError
from lade_chat.loading.checkpoint import lasting_path
from lade_chat.paths import expanded
from lade_chat.presentation.sanitize import printable
from lade_chat.settings import file
from lade_chat.settings.catalogue import SETTINGS, Value
from lade_chat.settings.effective import Settings, SettingSource, nearest, parse

MAX_VALUE_COLUMNS = 14
"""Longer values, such as a system message, push what they mean aside."""
MIN_MEANING_COLUMNS = 20
NOT_SET = "(not set)"
EPILOG = epilog("""
lade-chat settings
lade-chat settings temperature=0.8 top_p=0.9 theme=lade-paper
lade-chat settings temperature= "stop=END"
LADE_CHAT_DTYPE=float32 lade-chat settings --json | jq .settings.dtype
""")


@with_shared_options()
def settings(
    context: typer.Context,
    options: SharedOptions,
    assignments: Annotated[
        list[str] | None, typer.Argument(metavar="NAME=VALUE", help="Settings to write to the file; NAME= removes one.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Show every setting with its value and origin, or change some.

    Flags override the environment (LADE_CHAT_TEMPERATURE, …), which overrides the file. A bad name or value is
    reported, and the rest applies.
    """
    if assignments:
        change(context.obj, assignments)
        return
    raise typer.Exit(show(options, context.obj, origins(context, context.obj), as_json=as_json))


def show(options: SharedOptions, settings: Settings, origins: Mapping[str, SettingSource], *, as_json: bool) -> int:
    """Print every setting with its value and origin; return 1 if one of them is bad, else 0."""
    from lade_chat.tui.app.application import ChatApp
    from lade_chat.tui.chat.chat_screen import ChatScreen
    from lade_chat.tui.key_map import default_keys, keymap_for
    from lade_chat.tui.theme.themes import problem_of

    usual = default_keys(ChatScreen, ChatApp)
    keymap, refused = keymap_for(settings.keys, usual)
    theme = settings.get("theme")
    if problem := problem_of(theme if isinstance(theme, str) else None):
        refused.append(problem)
    problems = (*settings.problems, *refused)
    sys.stderr.write("".join(f"warning: {printable(problem)}\n" for problem in refused))
    rows = [(name, _value(options, settings, name), origins[name]) for name in SETTINGS]
    keys: list[tuple[str, str, SettingSource]] = [
        (name, keymap.get(name, keys), "file" if name in keymap else "default") for name, keys in usual.items()
    ]
    if as_json:
        table = {
            "file": str(settings.path),
            "settings": {name: {"value": value, "origin": origin} for name, value, origin in rows},
            "keys": {name: {"value": value, "origin": origin} for name, value, origin in keys},
            "problems": list(problems),
        }
        sys.stdout.write(json.dumps(table) + "\n")
    else:
        missing = "" if settings.path.exists() else " (does not exist yet)"
        sys.stdout.write(printable(f"file: {settings.path}{missing}") + "\n\n")
        _write_table([(name, origin, _shown(value), SETTINGS[name].meaning) for name, value, origin in rows])
        sys.stdout.write("\n[keys]\n")
        _write_table([(name, origin, _shown(value), "") for name, value, origin in keys])
    return FAILURE if problems else 0


def _write_table(rows: Sequence[tuple[str, str, str, str]]) -> None:
    """Write names, origins, values and meanings in columns; on a terminal the meanings break between words."""
    names, origins, values = (max(len(row[column]) for row in rows) for column in range(3))
    values = min(values, MAX_VALUE_COLUMNS)
    columns = get_terminal_size().columns if sys.stdout.isatty() else sys.maxsize
    at = names + origins + values + 6
    for name, origin, value, meaning in rows:
        begin = f"{name:<{names}}  {origin:<{origins}}  {value:<{values}}  "
        told = [meaning] if columns < at + MIN_MEANING_COLUMNS else wrap(meaning, columns - at)
        if len(begin) > at and len(begin) + len(meaning) > columns:
            told.insert(0, "")  # below the long value
        row = begin + f"\n{' ' * at}".join(told)
        sys.stdout.write(f"{row.rstrip()}\n")


def change(settings: Settings, assignments: Sequence[str]) -> None:
    """Write ``NAME=VALUE`` to the file, or remove NAME for ``NAME=``. Raises typer.BadParameter, SettingsError."""
    values: dict[str, Value | None] = {}
    for assignment in assignments:
        name, equals, text = assignment.partition("=")
        name = name.strip().replace("-", "_")
        if not name:
            raise typer.BadParameter(f"'{assignment}' is not of the form NAME=VALUE (NAME= removes a setting)")
        if name not in SETTINGS:
            raise typer.BadParameter(_no_setting(name, settings))
        if not equals:
            raise typer.BadParameter(f"{name} needs a value: {name}=VALUE, or {name}= to remove it")
        try:
            values[name] = _kept(name, parse(name, text))
        except (ValueError, ModelError) as error:
            raise typer.BadParameter(str(error)) from None
    file.change(settings.path, values)
    defaults = Settings(settings.path)
    removed = {name: _value(SharedOptions(), defaults, name) for name, value in values.items() if value is None}
    now = [
        f"{name} is no longer set ({SETTINGS[name].meaning})"
        if value is None
        else f"{name} is by default {_shown(value)}"
        for name, value in removed.items()
    ]
    sys.stderr.write(printable("; ".join([f"{settings.path} saved", *now])) + "\n")


def _no_setting(name: str, settings: Settings) -> str:
    """Say what was perhaps meant: another setting, or a key of this name."""
    from lade_chat.tui.app.application import ChatApp
    from lade_chat.tui.chat.chat_screen import ChatScreen
    from lade_chat.tui.key_map import default_keys

    if name == "keys" or name.startswith("keys.") or name in default_keys(ChatScreen, ChatApp):
        return f'keys are set in the file: a line such as help = "f1" below [keys] in {settings.path}'
    near = nearest(name, SETTINGS)
    return f"there is no setting {name}{f'; did you mean {near}?' if near else ''}"


def _kept(name: str, value: Value | None) -> Value | None:
    """The value to write; a path means the same in other working folders. Raises typer.BadParameter, ModelError."""
    if isinstance(value, str) and name == "model_path":
        return lasting_path(value)
    if isinstance(value, str) and name == "data_dir":
        return str(folder_path(expanded(value)).absolute())
    if value is not None and name in PARSERS:
        PARSERS[name](value)
    return value


def _value(options: SharedOptions, settings: Settings, name: str) -> Any:
    field = SETTINGS[name].field
    if field in SHARED:
        return getattr(options, field)
    given = settings.get(name)
    return SETTINGS[name].default if given is None else given


def _shown(value: object) -> str:
    if value is None:
        return NOT_SET
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) and value == printable(value) and "\n" not in value else json.dumps(value)
