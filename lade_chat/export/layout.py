"""Text in cells: characters that belong together, tabs, wide characters, rows of a given width, a window of rows."""

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


class Viewport:
    """Shows the end of what is there. Words stand from the first where the finished text has them."""

    def __init__(self, lines: Sequence[Line], rows: int) -> None:
        self._lines, self._rows = lines, rows
        self._top = 0
        # How many rows are complete, and how many glyphs of the next are there.
        self._row = self._count = 0

    def advance(self, moment: float) -> list[tuple[int, Line]]:
        """Let appear what is there by ``moment``; the rows that changed, by their place in the window."""
        first = self._row
        changed = False
        while self._row < len(self._lines):
            line = self._lines[self._row]
            while self._count < len(line) and line[self._count].seconds <= moment:
                self._count += 1
                changed = True
            if self._count < len(line) or not self._goes_on(moment):
                break
            self._row, self._count = self._row + 1, 0
        if not changed:
            return []
        top = max(0, self._last_shown() + 1 - self._rows)
        if top != self._top:
            self._top, first = top, top
        return [(row - top, self._shown(row)) for row in range(max(first, top), self._last_shown() + 1)]

    def _goes_on(self, moment: float) -> bool:
        following = next((line[0] for line in self._lines[self._row + 1 :] if line), None)
        return following is not None and following.seconds <= moment

    def _last_shown(self) -> int:
        return min(self._row, len(self._lines) - 1)

    def _shown(self, row: int) -> tuple[Glyph, ...]:
        return self._lines[row] if row < self._row else self._lines[row][: self._count]
