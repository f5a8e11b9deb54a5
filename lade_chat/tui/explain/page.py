"""A page of the tutorial: a sentence or two, a picture, and the attention mask of its step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from rich.cells import cell_len, set_cell_size
from textual.content import Content
from textual.geometry import Size

from lade_chat.protocol.tutorial import Group, Mask
from lade_chat.tui.inspector.step_views import shown

MUTED = "$foreground-muted"
NEW = "bold"
POINTED_OUT = "bold $text-accent"
LABEL = 7
"""The width of what stands before a row of tokens."""
GAP, WIDER = 1, 2
"""Cells between columns; WIDER where there is room."""
NARROWEST, WIDEST = 3, 12
LEGIBLE = 4
"""Cells of a token below which a row is broken into lines instead, where it can be."""


Draw: TypeAlias = Callable[[Size], list[Content]]
"""Draws a picture in the room, in cells, that there is for it."""
Cell: TypeAlias = tuple[str, str]
"""A token and its style."""


@dataclass(frozen=True)
class Page:
    """One page. ``lit``: the mask rows to highlight; ``unseen``: leave the mask's place empty."""

    title: str
    says: str
    draw: Draw
    mask: Mask | None = None
    lit: frozenset[Group] = frozenset()
    unseen: bool = False


class Grid:
    """Rows of tokens in columns, each as wide as its widest token where there is room for that."""

    def __init__(self, rows: Sequence[Sequence[str]], width: int, label: int = LABEL, *, breaks: bool = False) -> None:
        """
        Args:
            rows: all that will ever stand in the columns, so that these stay where they are from page to page.
            label: the cells before a row.
            breaks: a row that would hold mere stubs of tokens is broken into lines.

        Attributes:
            lines: the columns of each line; of one without ``breaks``.
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
            self._widths, self.lines = whole, []
            for column in range(columns):
                first = self.lines[-1].start if self.lines else 0
                if not self.lines or sum(whole[first : column + 1]) > width - label:
                    self.lines.append(slice(column, column + 1))
                else:
                    self.lines[-1] = slice(first, column + 1)

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


def counted(number: int, noun: str) -> str:
    """A number and its noun, small numbers as words."""
    return f"{in_words(number)} {noun}{'' if number == 1 else 's'}"
