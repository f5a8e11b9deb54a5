"""What is wrong with a command line, in one line that names no flag of its own."""

from __future__ import annotations

import typer

USAGE_ERROR: type[Exception] = typer.BadParameter.__mro__[1]
"""The root of everything that is wrong with a command line; typer names only this one kind of it in public."""


def usage(message: str) -> Exception:
    """To be raised: exit code 2, and where to find help."""
    return USAGE_ERROR(message)
