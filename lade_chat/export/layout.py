"""Text in cells: stretches of one ink, broken into rows between words."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, TypeAlias

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from lade_chat.export.theme import Ink
from lade_chat.presentation.sanitize import printable

_CONSOLE = Console()


class Stretch(NamedTuple):
    """Text in one ink that appears at one moment."""

    text: str
    ink: Ink
    seconds: float = 0.0


Line: TypeAlias = tuple[Stretch, ...]


def label(text: str, ink: Ink) -> Line:
    """Return one line, whatever white space the text holds."""
    return (Stretch(printable(" ".join(text.split())), ink),)


def rows(stretches: Iterable[Stretch], width: int) -> list[Line]:
    """Break text into rows of ``width`` cells, between words where it can be; rows at the end are not empty."""
    parts, text = list(stretches), Text()
    for place, part in enumerate(parts):
        text.append(printable(part.text), str(place))
    found = []
    for row in text.wrap(_CONSOLE, width, overflow="fold"):
        spans = sorted(span for span in row.spans if span)
        found.append(
            tuple(parts[int(str(each.style))]._replace(text=row.plain[each.start : each.end]) for each in spans)
        )
    while found and not found[-1]:
        found.pop()
    return found


def width_of(line: Line) -> int:
    """Return the cells that a row fills."""
    return sum(cell_len(part.text) for part in line)


def padded(line: Line, width: int, ink: Ink = "plain") -> Line:
    """Fill a row up to ``width`` cells."""
    return (*line, Stretch(" " * (width - width_of(line)), ink))
