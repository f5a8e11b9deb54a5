"""Paths as users write them."""

from __future__ import annotations

import os
from pathlib import Path

MAX_SHOWN = 80
"""Characters of a path in a line about what is wrong with it."""


def expanded(name: str | Path) -> Path:
    """Return the path with its ``~`` replaced as a shell does: ``~bob`` stays where there is no such user."""
    return Path(os.path.expanduser(name))


def is_there(path: Path) -> bool:
    """Tell whether something has this path already. Raises OSError if that cannot be told, or never will be so."""
    try:
        os.lstat(path)
    except FileNotFoundError:
        return False
    except ValueError as error:  # a NUL byte, or characters that no file's name can have
        raise OSError(str(error)) from None
    return True


def unwritable(path: Path, error: OSError) -> str:
    """Say in a line that a file cannot be written, and why; a path without end is cut."""
    name = str(path)
    name = name if len(name) <= MAX_SHOWN else f"{name[: MAX_SHOWN - 1]}…"
    return f"{name} cannot be written: {error.strerror or error}."
