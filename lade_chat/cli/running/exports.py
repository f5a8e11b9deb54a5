"""Pictures of ``--export``: checked before the model is loaded, written after its reply."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from lade_chat.cli.flags.usage import usage
from lade_chat.presentation.sanitize import printable

if TYPE_CHECKING:
    from lade_chat.export.content import Content


def check_exports(paths: Sequence[Path]) -> None:
    """Raise LadeChatError if one cannot be written, a usage error if its suffix names no known format."""
    from lade_chat.export.picture import PictureFormatError, check_picture

    for path in paths:
        try:
            check_picture(path)
        except PictureFormatError as error:
            raise usage(f"--export: {str(error).rstrip('.')}") from None


def write_exports(paths: Sequence[Path], content: Content) -> None:
    """Write them all, and say so if stderr is a terminal. Raises LadeChatError."""
    from lade_chat.export.picture import write_picture

    for path in paths:
        write_picture(path, content)
        if sys.stderr.isatty():
            sys.stderr.write(f"{printable(str(path))} written\n")
