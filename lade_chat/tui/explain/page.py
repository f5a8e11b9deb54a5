"""A page of the tutorial: a sentence or two, a picture of tokens in columns, and the attention mask of its step."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

from rich.cells import cell_len, set_cell_size
from textual.content import Content
from textual.geometry import Size

from lade_chat.presentation.metric_words import counted
from lade_chat.presentation.texts import texts_beside
from lade_chat.protocol.tutorial import Group, Mask
from lade_chat.tui.inspector.step_views import shown

MUTED = "$foreground-muted"
NEW = "bold"
LABEL = 7
"""The width of what stands before a row of tokens."""
GAP, WIDER = 1, 2
"""Cells between columns; WIDER where there is room."""
NARROWEST, WIDEST = 3, 12
LEGIBLE = 4
"""Cells of a token below which a row is broken into lines instead, where it can be."""
_TEXTS = texts_beside(__file__, "tutorial.txt")

Draw: TypeAlias = Callable[[Size], list[Content]]
"""Draws a picture in the room, in cells, that there is for it."""
Cell: TypeAlias = tuple[str, str]
"""A token and its style."""


@dataclass(frozen=True)
class Page:
    """One page. ``lit``: whose rows of the mask to highlight; ``unseen``: leave the mask's place empty."""

    title: str
    says: str
    draw: Draw = lambda room: []
    mask: Mask | None = None
    lit: Group | None = None
    unseen: bool = False


def text(name: str, **values: object) -> str:
    """Return one of the tutorial's texts, with these values filled in."""
    return _TEXTS[name].format(**values)


class Grid:
    """Rows of tokens in columns, each as wide as its widest token where there is room for that."""

    def __init__(self, rows: Sequence[Sequence[str]], width: int, label: int = LABEL, *, breaks: bool = False) -> None:
        """``rows`` is all that will ever stand in the columns, so that these stay where they are from page to page.

        ``breaks``: a row that would hold mere stubs of tokens is broken into ``lines``, each the slice of its columns.
        """
        self._label = label
        columns = max(map(len, rows), default=0)
        lengths = [[cell_len(shown(row[column])) for row in rows if column < len(row)] for column in range(columns)]
        self._widths = [GAP + max(NARROWEST, min(WIDEST, max(each))) for each in lengths]
        if sum(self._widths) + WIDER * columns <= width - label:
            self._widths = [WIDER + each for each in self._widths]
        whole, self.lines = self._widths.copy(), [slice(0, columns)]
        while sum(self._widths) > width - label and max(self._widths) > GAP + (LEGIBLE if breaks else NARROWEST):
            self._widths[self._widths.index(max(self._widths))] -= 1
        if breaks and sum(self._widths) > width - label:
            self._widths, starts = whole, [0]
            for column in range(1, columns):
                if sum(whole[starts[-1] : column + 1]) > width - label:
                    starts.append(column)
            self.lines = [slice(*ends) for ends in pairwise([*starts, columns])]

    def row(self, label: str, cells: Sequence[Cell], line: slice = slice(None)) -> Content:
        """One row, or one line of it, with what stands before it."""
        parts: list[Cell] = [(set_cell_size(label, self._label), MUTED)]
        for (token, style), width in zip(cells[line], self._widths[line], strict=False):
            seen = set_cell_size(shown(token, width - GAP), width)
            # The blanks behind a token belong to no token: they are not tinted.
            parts += [(seen.rstrip(), style), (" " * (len(seen) - len(seen.rstrip())), "")]
        return Content.assemble(*parts)


def in_words(number: int) -> str:
    """A small number as a word."""
    words = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
    return words[number] if number < len(words) else str(number)


def count_in_words(number: int, noun: str) -> str:
    """A number and its noun, small numbers as words."""
    return f"{in_words(number)} {noun}{'' if number == 1 else 's'}"


MASK_LABEL = 11
CACHE = 5
"""Columns that stand for the whole cache, which every token sees."""
FORMS: dict[Group, tuple[str, ...]] = {
    "input": ("input", "in", "i"),
    "guesses": ("guesses", "guess", "g"),
    "candidates": ("candidates", "cand.", "c"),
    "window": ("window", "win.", "w"),
}
SEEN, LIT, UNSEEN = "$foreground 45%", "$success", "on $foreground 7%"
MEANINGS: dict[Group, str] = {"input": "input, the last token", "candidates": "guesses being checked"}
"""Explanations, in the legend, of group names that do not explain themselves."""
_HALVES = {(False, False): " ", (True, False): "▀", (False, True): "▄", (True, True): "█"}


def mask_width(mask: Mask, *, labelled: bool) -> int:
    """Return the width of a drawing in cells."""
    return MASK_LABEL * labelled + CACHE + sum(1 + count for _, count in mask.groups)


def draw_mask(mask: Mask, lit: Group | None, *, labelled: bool) -> list[Content]:
    """The mask, two rows a line to be as wide as high; its groups are named above, and beside if ``labelled``."""
    names = [set_cell_size("cache", CACHE)]
    names += [set_cell_size(_heading(name, count), count) for name, count in mask.groups]
    lines = [Content.styled(" " * MASK_LABEL * labelled + " ".join(names), MUTED)]
    first = 0
    for name, count in mask.groups:
        rows = mask.rows[first : first + count]
        first += count
        for number in range(0, count, 2):
            label = set_cell_size(FORMS[name][0] if number == 0 else "", MASK_LABEL * labelled)
            squares = _line(mask, rows[number : number + 2], LIT if name == lit else SEEN)
            lines.append(Content.assemble((label, MUTED), *squares))
    return lines


def draw_legend(mask: Mask, width: int, height: int) -> list[Content]:
    """Return the legend of the column names, as far as it fits into ``height`` lines."""
    names = [(_heading(name, count), MEANINGS.get(name, name)) for name, count in mask.groups]
    meanings = [f"{short}: {meaning}" for short, meaning in names if len(short) <= 2 or short not in meaning]
    meanings.append(f"cache: the {counted(mask.cached, 'token')} before")
    lines = [""]
    for meaning in meanings:
        broken = textwrap.wrap(meaning, width)
        if len(lines) + len(broken) > height:
            break
        lines += broken
    return [Content.styled(line, MUTED) for line in lines] if len(lines) > 1 else []


def _heading(name: Group, count: int) -> str:
    """A group's name, as much of it as fits above its columns."""
    return next((form for form in FORMS[name] if len(form) <= count), "")


def _line(mask: Mask, rows: Sequence[str], style: str) -> list[Cell]:
    """One or two rows of the mask, drawn on one line; a ground shows empty squares where there are two."""
    pair = len(rows) == 2
    grounded = f"{style} {UNSEEN}" if pair else style
    parts: list[Cell] = [(("█" if pair else "▀") * CACHE, style)]
    column = 0
    for _, count in mask.groups:
        parts.append((" ", ""))
        for place in range(column, column + count):
            seen = [row[place] == "x" for row in rows]
            parts.append((_HALVES[(seen[0], pair and seen[1])], grounded))
        column += count
    return parts
