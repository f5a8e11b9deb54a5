"""Entry point: writes a picture or a film in the format that its file's name asks for."""

from __future__ import annotations

from collections.abc import Callable, Container
from importlib.util import find_spec
from pathlib import Path
from pkgutil import resolve_name
from typing import TypeAlias

from lade_chat.errors import LadeChatError, UsageError, not_installed_message
from lade_chat.export.card import Film
from lade_chat.export.cast import cast
from lade_chat.export.content import Content
from lade_chat.export.html_page import html_page
from lade_chat.export.svg_card import svg_card
from lade_chat.export.theme import Theme
from lade_chat.paths import atomic_write, check_writable, unwritable

Writer: TypeAlias = Callable[[Content, Theme], bytes]


def _drawn(name: str) -> Writer:
    """A writer that needs Pillow, imported only when it is called."""
    return lambda content, theme: resolve_name(f"lade_chat.export.raster:{name}")(content, theme)


NEEDS_PILLOW = (".gif", ".png")
WRITERS: dict[str, Writer] = {".html": html_page, ".svg": svg_card, ".cast": cast}
WRITERS |= {suffix: _drawn(suffix[1:]) for suffix in NEEDS_PILLOW}


def check_name(path: Path, suffixes: Container[str]) -> None:
    """Raise UsageError for a name that is only one of these suffixes, as ``.html``."""
    if path.name.lower() in suffixes:
        raise UsageError(f"A name is missing before {path.name}.")


def check_picture(path: Path) -> None:
    """Raise LadeChatError if no picture can be written there: UsageError for a suffix that names no format."""
    check_name(path, WRITERS)
    suffix = path.suffix.lower()
    if suffix not in WRITERS:
        raise UsageError(f"A picture is written as {', '.join(WRITERS)}, not as {path.name or path}.")
    check_writable(path)
    if suffix in NEEDS_PILLOW and find_spec("PIL") is None:
        raise LadeChatError(not_installed_message(suffix, "pillow"))


def write_picture(path: Path, content: Content, *, theme: Theme = "auto") -> None:
    """Write ``content`` to ``path``, whole or not at all, in the format of its suffix. Raises LadeChatError."""
    check_picture(path)
    write_file(path, WRITERS[path.suffix.lower()](content, theme))


def write_file(path: Path, data: bytes) -> None:
    """Write a file whole or not at all. Raises LadeChatError."""
    try:
        atomic_write(path, data, private=False)
    except OSError as error:
        raise LadeChatError(unwritable(path, error)) from None


def check_film(path: Path) -> None:
    """Raise LadeChatError if no film can be written there: UsageError for another suffix."""
    check_name(path, WRITERS)
    if path.suffix.lower() != ".gif":
        raise UsageError(f"A film is written as .gif, not as {path.name or path}.")
    check_picture(path)


def write_film(path: Path, film: Film) -> None:
    """Write the film whole or not at all. Raises LadeChatError."""
    from lade_chat.export.raster import film_gif

    write_file(path, film_gif(film))
