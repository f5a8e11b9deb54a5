"""The file of a film, in the format of its suffix."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from lade_chat.export.film.cast import film_cast
from lade_chat.export.film.film import Film
from lade_chat.export.picture import PictureFormatError, check_picture, write_file


def _gif(film: Film) -> bytes:
    from lade_chat.export.film.gif import film_gif

    return film_gif(film)


WRITERS: dict[str, Callable[[Film], bytes]] = {".cast": film_cast, ".gif": _gif}


def check_film(path: Path) -> None:
    """Raise LadeChatError if no film can be written there; PictureFormatError if only its suffix is wrong."""
    if path.suffix.lower() not in WRITERS:
        raise PictureFormatError(f"A film is written as {' or '.join(WRITERS)}, and {path.name or path} is neither.")
    check_picture(path)


def write_film(path: Path, film: Film) -> None:
    """Write the film in the format of the file's suffix, whole or not at all. Raises LadeChatError."""
    check_film(path)
    write_file(path, WRITERS[path.suffix.lower()](film))
