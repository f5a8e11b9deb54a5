"""The settings file: TOML in the platform's folder for user configuration."""

from __future__ import annotations

import os
import sys
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from lade_chat.errors import LadeChatError
from lade_chat.paths import atomic_write, expanded
from lade_chat.settings.catalogue import Value

if sys.platform != "win32":
    import fcntl

VARIABLE = "LADE_CHAT_SETTINGS"
ALIASES, PROMPTS = "aliases", "prompts"
TABLES = {ALIASES: 'qwen = "Qwen/Qwen2.5-0.5B-Instruct"', PROMPTS: 'brief = "Answer in one sentence."'}
"""The tables of short names of models and of system prompts, each with a line as an example."""
_HEADING = "Settings of lade-chat; `lade-chat settings` lists them all."


class SettingsError(LadeChatError):
    """The settings file cannot be read or written."""


def default_path() -> Path:
    """Return the file named by LADE_CHAT_SETTINGS, else the platform's default."""
    from platformdirs import user_config_path

    named = os.environ.get(VARIABLE)
    return expanded(named) if named else user_config_path("lade-chat", appauthor=False) / "settings.toml"


def read(path: Path) -> dict[str, Any]:
    """Return the file's content, empty without a file. Raises SettingsError if it cannot be read or is not TOML."""
    text = _text(path)
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # a number of thousands of digits is no TOMLDecodeError
        raise SettingsError(f"{path} is not used, because it is not TOML: {error}") from None


def change(path: Path, values: Mapping[str, Value | None], *, table: str | None = None) -> None:
    """Set these keys, or remove those whose value is None, and keep everything else, comments included.

    They are those of a ``table``, if it is given. The file is replaced in one step, and what another program changes
    at the same time is kept, too. Raises SettingsError.
    """
    from tomlkit import comment, dumps, nl, parse
    from tomlkit.exceptions import TOMLKitError

    with _alone(Path(os.path.realpath(path)).parent):
        if path.exists() and not path.is_file():  # /dev/null, say, which a file would take the place of
            raise SettingsError(f"Nothing was saved: {path} is not a file.")
        text = _text(path)
        try:
            tomllib.loads(text)  # tells more plainly than tomlkit what is wrong
            document = parse(text)
        except (ValueError, TOMLKitError, RecursionError) as error:
            raise SettingsError(
                f"Nothing was saved: {path} is not TOML ({error}). Repair it, or move it away."
            ) from None
        if not text.strip():
            document.add(comment(_HEADING))
            document.add(nl())
        holder: Any = document if table is None else document.setdefault(table, {})
        if not isinstance(holder, dict):
            raise SettingsError(f"Nothing was saved: {table} in {path} must be a table, as [{table}]. Repair it first.")
        for name, value in values.items():
            if value is None:
                holder.pop(name, None)
            else:
                holder[name] = list(value) if isinstance(value, tuple) else value
        try:
            atomic_write(path, dumps(document).encode(), sync=True)
        except UnicodeEncodeError:
            raise SettingsError(f"Nothing was saved in {path}: a value is not UTF-8 text.") from None
        except OSError as error:
            raise SettingsError(f"The settings could not be saved in {path}: {error.strerror}") from None


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Hold back other programs that come to change a file in this folder, where the platform can."""
    handle = None
    if sys.platform != "win32":
        with suppress(OSError):  # it cannot be written either, or has no locks
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle = os.open(folder, os.O_RDONLY)
            fcntl.flock(handle, fcntl.LOCK_EX)
    try:
        yield
    finally:
        if handle is not None:
            os.close(handle)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        return ""
    except UnicodeDecodeError:
        raise SettingsError(f"{path} is not used, because it is not UTF-8 text") from None
    except OSError as error:
        raise SettingsError(f"{path} cannot be read: {error.strerror}") from None
