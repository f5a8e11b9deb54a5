"""Parts of a status line, fitted to a width: the least important are left out first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rich.cells import cell_len, set_cell_size

SEPARATOR = " · "

EXTRA = 5
"""Parts from this rank on are shown only if all others are shown in full."""


class StatusPart(NamedTuple):
    """One metric: its rank (0 is left out last) and its texts, the longest first.

    ``room`` is reserved for the longest text as its number grows, so that a line that is redrawn does not rearrange
    itself. ``metric`` is its name in :mod:`metric_help`.
    """

    rank: int
    forms: tuple[str, ...]
    room: int = 0
    metric: str = ""

    def width(self, form: int) -> int:
        growth = max(self.room - cell_len(self.forms[0]), 0)
        return cell_len(self.forms[form]) + growth


def part(rank: int, *forms: str, room: int = 0, metric: str = "") -> StatusPart:
    """Make a part from its rank and its forms."""
    return StatusPart(rank, forms, room, metric)


def fit(parts: Sequence[StatusPart], width: int) -> str:
    """Join as many ``parts`` as fit a line of ``width`` cells, in the order given."""
    return cut(SEPARATOR.join(form for _, form in fitting(parts, width)), width)


def cut(text: str, width: int) -> str:
    """Cut a line to ``width`` cells, with an ellipsis for the rest."""
    return text if cell_len(text) <= width else f"{set_cell_size(text, max(width - 1, 0))}…"


def fitting(parts: Sequence[StatusPart], width: int) -> list[tuple[StatusPart, str]]:
    """Choose the parts that fit a line of ``width`` cells, each with its form there."""
    shown = _fitting(parts, width)
    extras = [part for part, _ in shown if part.rank >= EXTRA]
    if extras and any(form != part.forms[0] for part, form in shown if part.rank < EXTRA):
        least = max(extras, key=lambda part: part.rank)
        return fitting([part for part in parts if part is not least], width)
    return shown


def _fitting(parts: Sequence[StatusPart], width: int) -> list[tuple[StatusPart, str]]:
    kept = {index: len(each.forms) - 1 for index, each in enumerate(parts)}

    def fits() -> bool:
        needed = sum(parts[index].width(form) for index, form in kept.items())
        return needed + len(SEPARATOR) * (len(kept) - 1) <= width

    by_rank = sorted(kept, key=lambda index: parts[index].rank)
    for index in reversed(by_rank[1:]):
        if fits():
            break
        del kept[index]
    for index in (index for index in by_rank if index in kept):
        shortest = kept[index]
        for form in range(shortest):
            kept[index] = form
            if fits():
                break
            kept[index] = shortest
    return [(parts[index], parts[index].forms[form]) for index, form in sorted(kept.items())]


def pack(items: Iterable[str], width: int, separator: str = SEPARATOR) -> str:
    """Join all ``items``, with line breaks only between them."""
    lines: list[str] = []
    for item in items:
        if lines and cell_len(lines[-1] + separator + item) <= width:
            lines[-1] += separator + item
        else:
            lines.append(item)
    return "\n".join(lines)
