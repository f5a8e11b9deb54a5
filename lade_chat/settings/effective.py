"""Settings in force: those of the file and the environment, with their problems, and those that the chat keeps."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, TypeAlias, TypeVar

from lade_chat.presentation.token_looks import ColourView, view_named
from lade_chat.settings import file
from lade_chat.settings.catalogue import ENVIRONMENT, SETTINGS, Value

SettingSource: TypeAlias = Literal["default", "file", "environment", "flag"]
T = TypeVar("T")

_OTHER_VARIABLES = {file.VARIABLE, f"{ENVIRONMENT}TRACEBACK"}
_LINES = {"keys": 'help = "f1"', "thought_delimiters": 'qwen = ["<think>", "</think>"]'}
"""A line as an example for each table whose lines are checked one by one."""
_KEY = re.compile(r"((ctrl|shift|alt|super|hyper|meta)\+)*([a-z0-9_]+|\S)")


@dataclass(frozen=True)
class Settings:
    """The values given, each with its origin. Bad keys and values are a line each in ``problems``; the rest applies."""

    path: Path
    values: Mapping[str, tuple[Value, SettingSource]] = field(default_factory=dict)
    keys: Mapping[str, str] = field(default_factory=dict)
    """The keys of actions by name, separated by commas."""
    aliases: Mapping[str, str] = field(default_factory=dict)
    """Short names of models."""
    prompts: Mapping[str, str] = field(default_factory=dict)
    """System prompts by name."""
    thought_delimiters: tuple[tuple[str, str, str], ...] = ()
    """Paths of models, each with the opening and the closing delimiter of its thoughts."""
    problems: tuple[str, ...] = ()

    def get(self, name: str) -> Value | None:
        """Return the value given, or None."""
        return self.values[name][0] if name in self.values else None


def load(path: Path | None = None, environment: Mapping[str, str] | None = None) -> Settings:
    """Read the file, if there is one, and the environment; never raises."""
    path = path or file.default_path()
    environment = os.environ if environment is None else environment
    values: dict[str, tuple[Value, SettingSource]] = {}
    keys: dict[str, str] = {}
    tables: dict[str, dict[str, str]] = {name: {} for name in file.TABLES}
    delimiters: dict[str, tuple[str, str]] = {}
    problems: list[str] = []
    try:
        table = file.read(path)
    except file.SettingsError as error:
        table, problems = {}, [str(error)]
    for name, value in table.items():
        try:
            if name == "keys":
                keys.update(_each(name, path, value, _key_list, problems))
            elif name == "thought_delimiters":
                delimiters.update(_each(name, path, value, _pair, problems))
            elif name in file.TABLES:
                tables[name].update(_texts(name, value))
            else:
                values[name] = (_known(name, SETTINGS).kind.check(value), "file")
        except (ValueError, LookupError) as error:
            problems.append(f"{path}: {_complaint(name, value, error)}")
    for variable, text in environment.items():
        if variable.startswith(ENVIRONMENT) and variable not in _OTHER_VARIABLES and text:
            name = variable[len(ENVIRONMENT) :].lower()
            try:
                values[name] = (_known(name, SETTINGS).kind.parse(text), "environment")
            except (ValueError, LookupError) as error:
                problems.append(f"the environment variable {variable}: {_complaint(name, text, error)}")
    aliases = tables[file.ALIASES]
    thoughts = tuple((aliases.get(name, name), *pair) for name, pair in delimiters.items())
    return Settings(path, values, keys, aliases, tables[file.PROMPTS], thoughts, tuple(problems))


def parse(name: str, text: str) -> Value | None:
    """Parse a value of this setting; None for a blank text. Raises ValueError with the whole message."""
    if not text.strip():
        return None
    try:
        return SETTINGS[name].kind.parse(text)
    except ValueError as error:
        raise ValueError(f"{name} must be {error}, not {text.strip()}") from None


def _texts(name: str, table: object) -> dict[str, str]:
    if not isinstance(table, dict) or not all(isinstance(text, str) and text for text in table.values()):
        raise ValueError(f"a table, as [{name}] with lines like {file.TABLES[name]}")
    return table


def _each(
    name: str, path: Path, table: object, check: Callable[[object], T], problems: list[str]
) -> Iterator[tuple[str, T]]:
    """Yield the good lines of a table; the others become problems."""
    if not isinstance(table, dict):
        raise ValueError(f"a table, as [{name}] with lines like {_LINES[name]}")
    for key, value in table.items():
        try:
            yield key, check(value)
        except ValueError as error:
            problems.append(f"{path}, [{name}]: {_complaint(key, value, error)}")


def _pair(value: object) -> tuple[str, str]:
    """Return an opening and a closing delimiter; white space around them varies in what models write."""
    texts = [text.strip() if isinstance(text, str) else "" for text in value] if isinstance(value, list) else []
    if len(texts) != 2 or not all(texts) or texts[0] == texts[1]:
        raise ValueError('two different texts, as ["<think>", "</think>"]')
    return texts[0], texts[1]


def _key_list(value: object) -> str:
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, list) or not all(isinstance(part, str) for part in parts):
        raise ValueError('keys as "ctrl+l" or "ctrl+l,f2"')
    keys = [part.strip().lower() if len(part.strip()) > 1 else part.strip() for part in parts]
    if not keys or not all(_KEY.fullmatch(key) for key in keys):
        raise ValueError('keys as "ctrl+l" or "ctrl+l,f2"')
    return ",".join(keys)


def _known(name: str, names: Mapping[str, T]) -> T:
    """Look a name up. Raises LookupError with the nearest one."""
    if name not in names:
        near = nearest(name, names)
        raise LookupError(f"; did you mean {near}?" if near else "")
    return names[name]


def nearest(name: str, names: Collection[str]) -> str | None:
    """Return the name that was perhaps meant."""
    found = difflib.get_close_matches(name.lower().replace("-", "_"), names, n=1)
    return found[0] if found else None


def _complaint(name: str, value: object, error: Exception) -> str:
    if isinstance(error, LookupError):
        return f"there is no setting {name}{error.args[0]}"
    text = repr(value) if isinstance(value, str) else str(value).lower() if isinstance(value, bool) else str(value)
    return f"{name} must be {error}, not {text if len(text) <= 40 else text[:39] + '…'}; it is not used"


@dataclass(frozen=True)
class Preferences:
    """The application's part: theme, colours, keys, and values that it keeps for next time if there is a ``path``."""

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
