"""The settings file: TOML in the platform's folder for a user's configuration, read whole and changed in place."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from lade_chat.errors import LadeChatError
from lade_chat.settings.kinds import Value

VARIABLE = "LADE_CHAT_SETTINGS"
_HEADING = "What lade-chat is to do without being told; `lade-chat settings` lists all that can stand here."


class SettingsError(LadeChatError):
    """The settings file cannot be read or written."""


def default_path() -> Path:
    """The file named by LADE_CHAT_SETTINGS, else the platform's place for it."""
    from platformdirs import user_config_path

    named = os.environ.get(VARIABLE)
    return Path(named).expanduser() if named else user_config_path("lade-chat", appauthor=False) / "settings.toml"


def read(path: Path) -> dict[str, Any]:
    """What stands in the file, empty if there is none. Raises SettingsError if it cannot be read or is no TOML."""
    text = _text(path)
    if not text.strip():
        return {}
    from tomlkit import parse
    from tomlkit.exceptions import TOMLKitError

    try:
        return parse(text).unwrap()
    except (TOMLKitError, RecursionError) as error:
        raise SettingsError(f"{path} is not used, because it is no TOML: {error}") from None


def change(path: Path, values: Mapping[str, Value | None]) -> None:
    """Set these keys, or take out those whose value is None; all else stays as it was, comments too.

    The file is replaced at once or not at all. Raises SettingsError.
    """
    from tomlkit import comment, dumps, nl, parse
    from tomlkit.exceptions import TOMLKitError

    text = _text(path)
    try:
        document = parse(text)
    except (TOMLKitError, RecursionError) as error:
        raise SettingsError(f"Nothing was saved: {path} is no TOML ({error}). Mend it, or move it away.") from None
    if not text.strip():
        document.add(comment(_HEADING))
        document.add(nl())
    for name, value in values.items():
        if value is None:
            document.pop(name, None)
        else:
            document[name] = list(value) if isinstance(value, tuple) else value
    _replace(path, dumps(document))


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""
    except UnicodeDecodeError:
        raise SettingsError(f"{path} is not used, because it is no UTF-8 text") from None
    except OSError as error:
        raise SettingsError(f"{path} cannot be read: {error.strerror}") from None


def _replace(path: Path, text: str) -> None:
    target = Path(os.path.realpath(path))  # a link to a folder of dot-files stays one
    written = None
    try:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle, written = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}-")
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        with suppress(OSError):
            os.chmod(written, target.stat().st_mode & 0o777)
        os.replace(written, target)
    except OSError as error:
        if written is not None:
            with suppress(OSError):
                os.unlink(written)
        raise SettingsError(f"The settings could not be saved in {target}: {error.strerror}") from None
