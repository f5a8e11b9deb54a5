"""Text in cells: characters that belong together, tabs, wide characters, and rows of a given width."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple, TypeAlias

from rich.cells import cell_len

from lade_chat.export.theme import Ink
from lade_chat.presentation.sanitize import printable

TAB = 8
_JOINER = "\N{ZERO WIDTH JOINER}"


class Glyph(NamedTuple):
    """A character with its combining marks, one or two cells wide."""

    text: str
    width: int
    ink: Ink
    seconds: float
    """The time at which it appears."""


Line: TypeAlias = tuple[Glyph, ...]
Stretch: TypeAlias = tuple[str, Ink, float]
"""Text in one ink that appears at one moment."""


class Run(NamedTuple):
    """Neighbouring glyphs of a row that have something in common."""

    column: int
    width: int
    glyphs: Line

    @property
    def text(self) -> str:
        return "".join(glyph.text for glyph in self.glyphs)

    @property
    def ink(self) -> Ink:
        return self.glyphs[0].ink


def written(text: str, ink: Ink, seconds: float = 0.0) -> Line:
    """A label: one line, whatever white space it holds."""
    return tuple(_glyphs([(printable(" ".join(text.split())), ink, seconds)]))


def rows(stretches: Iterable[Stretch], width: int) -> tuple[Line, ...]:
    """Any text in rows of ``width`` cells, broken between words where it can be; rows at the end are not empty."""
    found: list[Line] = []
    line: list[Glyph] = []
    for glyph in _glyphs([(printable(text), ink, seconds) for text, ink, seconds in stretches]):
        if glyph.text == "\n":
            found.extend(_wrap(line, width))
            line = []
        elif glyph.text == "\t":
            column = sum(each.width for each in line)
            line.extend([glyph._replace(text=" ", width=1)] * (TAB - column % TAB))
        else:
            line.append(glyph)
    found.extend(_wrap(line, width))
    while found and not found[-1]:
        found.pop()
    return tuple(found)


def width_of(line: Sequence[Glyph]) -> int:
    """The cells that a row fills."""
    return sum(glyph.width for glyph in line)


def runs(line: Line) -> Iterator[Run]:
    """A row by inks."""
    column = 0
    for _, group in groupby(line, key=lambda glyph: glyph.ink):
        glyphs = tuple(group)
        yield Run(column, width_of(glyphs), glyphs)
        column += width_of(glyphs)


def _glyphs(stretches: Iterable[Stretch]) -> Iterator[Glyph]:
    """The glyphs of a text; one that tokens share looks like the first of them, and is there with the last."""
    last: Glyph | None = None
    for text, ink, seconds in stretches:
        for character in text:
            if last is not None and _belongs(last.text, character):
                whole = last.text + character
                last = Glyph(whole, min(2, max(last.width, cell_len(whole))), last.ink, max(last.seconds, seconds))
                continue
            if last is not None:
                yield last
            last = Glyph(character, cell_len(character), ink, seconds)
    if last is not None:
        yield last


def _belongs(before: str, character: str) -> bool:
    """Tell whether a character joins the one before it: accents, emoji sequences, flags."""
    if character in "\n\t" or before in ("\n", "\t"):
        return False
    if before.endswith(_JOINER) or "\U0001f3fb" <= character <= "\U0001f3ff":  # skin tones
        return cell_len(before) > 0
    if _is_regional(character):
        return len(before) == 1 and _is_regional(before)
    return cell_len(character) == 0


def _is_regional(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


def _wrap(line: Sequence[Glyph], width: int) -> Iterator[Line]:
    start = 0
    while True:
        end, used = start, 0
        while end < len(line) and used + line[end].width <= width:
            used += line[end].width
            end += 1
        if end == len(line):
            yield tuple(line[start:])
            return
        if line[end].text == " ":
            yield tuple(line[start:end])
            while end < len(line) and line[end].text == " ":  # spaces at the edge do not go into the next row
                end += 1
        else:
            end = max(_break(line, start, end), start + 1)
            yield tuple(line[start:end])
        start = end


def _break(line: Sequence[Glyph], start: int, end: int) -> int:
    """The last place where a row may end: behind a space, or beside a wide character; else its edge."""
    for place in range(end, start, -1):
        before, behind = line[place - 1], line[place]
        if (before.text == " " or before.width == 2 or behind.width == 2) and any(
            glyph.text != " " for glyph in line[start:place]
        ):
            return place
    return end
