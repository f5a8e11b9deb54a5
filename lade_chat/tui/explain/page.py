"""A page of the tutorial: a sentence or two, a picture, and the attention mask of its step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from rich.cells import cell_len, set_cell_size
from textual.content import Content
from textual.geometry import Size

from lade_chat.protocol.tutorial import Group, Mask
from lade_chat.tui.inspector.redrawn import shown

MUTED = "$foreground-muted"
NEW = "bold"
POINTED_OUT = "bold $text-accent"
LABEL = 7
"""The width of what stands before a row of tokens."""
GAP, WIDER = 1, 2
"""Cells between columns; WIDER where there is room."""
NARROWEST, WIDEST = 3, 12


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

    def __init__(self, rows: Sequence[Sequence[str]], width: int, label: int = LABEL) -> None:
        """
        Args:
            rows: all that will ever stand in the columns, so that these stay where they are from page to page.
            label: the cells before a row.
        """
        self._label = label
        columns = max(map(len, rows), default=0)
        lengths = [[cell_len(shown(row[column])) for row in rows if column < len(row)] for column in range(columns)]
        self._widths = [GAP + max(NARROWEST, min(WIDEST, max(each))) for each in lengths]
        if sum(self._widths) + WIDER * columns <= width - label:
            self._widths = [WIDER + each for each in self._widths]
        while sum(self._widths) > width - label and max(self._widths) > GAP + NARROWEST:
            self._widths[self._widths.index(max(self._widths))] -= 1

    def row(self, label: str, cells: Sequence[Cell]) -> Content:
        """One row, with what stands before it."""
        parts: list[Cell] = [(set_cell_size(label, self._label), MUTED)]
        for (token, style), width in zip(cells, self._widths, strict=False):
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
