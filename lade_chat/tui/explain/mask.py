"""Attention mask drawn with block characters: one row per query, filled where it attends to the column's token."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TypeAlias

from rich.cells import set_cell_size
from textual.content import Content

from lade_chat.presentation.metrics import counted
from lade_chat.protocol.tutorial import Group, Mask

LABEL = 11
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

_Part: TypeAlias = tuple[str, str]


def mask_width(mask: Mask, *, labelled: bool) -> int:
    """Return the width of a drawing in cells."""
    return LABEL * labelled + CACHE + sum(1 + count for _, count in mask.groups)


def draw_mask(mask: Mask, lit: frozenset[Group], *, labelled: bool) -> list[Content]:
    """The mask, its groups named above the columns, and beside the rows if ``labelled``.

    Two rows share a line, so that the squares are as high as they are wide.
    """
    names = [set_cell_size("cache", CACHE)]
    names += [set_cell_size(_heading(name, count), count) for name, count in mask.groups]
    lines = [Content.styled(" " * LABEL * labelled + " ".join(names), "$foreground-muted")]
    first = 0
    for name, count in mask.groups:
        rows = mask.rows[first : first + count]
        first += count
        for number in range(0, count, 2):
            label = FORMS[name][0] if number == 0 else ""
            shown: list[_Part] = [(set_cell_size(label, LABEL), "$foreground-muted")] if labelled else []
            lines.append(
                Content.assemble(*shown, *_line(mask, rows[number : number + 2], LIT if name in lit else SEEN))
            )
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
    return [Content.styled(line, "$foreground-muted") for line in lines] if len(lines) > 1 else []


def _heading(name: Group, count: int) -> str:
    """A group's name, as much of it as fits above its columns."""
    return next((form for form in FORMS[name] if len(form) <= count), "")


def _line(mask: Mask, rows: Sequence[str], style: str) -> list[_Part]:
    """One or two rows of the mask, drawn on one line; a ground shows empty squares where there are two."""
    pair = len(rows) == 2
    grounded = f"{style} {UNSEEN}" if pair else style
    parts: list[_Part] = [(("█" if pair else "▀") * CACHE, style)]
    column = 0
    for _, count in mask.groups:
        parts.append((" ", ""))
        for place in range(column, column + count):
            seen = [row[place] == "x" for row in rows]
            parts.append((_HALVES[(seen[0], pair and seen[1])], grounded))
        column += count
    return parts
