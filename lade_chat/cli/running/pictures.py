"""``--export``: where pictures are wanted, checked before a model is loaded, and written after its reply."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from lade_chat.cli.flags.usage import usage
from lade_chat.presentation.sanitize import printable

if TYPE_CHECKING:
    from lade_chat.export.content import Content

Exports: TypeAlias = Annotated[
    list[Path] | None,
    typer.Option(
        "--export",
        metavar="FILE",
        help="Also keep it as a picture: .html, .svg, .cast, .gif or .png; repeatable.",
        show_default=False,
    ),
]


def check_exports(paths: Sequence[Path]) -> None:
    """Raises LadeChatError if one of them cannot be written, a usage error if its name asks for no format there is."""
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
