"""Small plots from block characters: sparklines and columns."""

from __future__ import annotations

from collections.abc import Sequence

BLOCKS = " ▁▂▃▄▅▆▇█"


def columns(values: Sequence[float], height: int = 1, top: float | None = None, *, floor: float = 0.0) -> list[str]:
    """One column a value, as many lines as ``height``, the top one first.

    Args:
        values: what is drawn; all that is above ``floor`` shows at least a little.
        top: the value of a full column; None for the largest.
        floor: the value of an empty one.
    """
    top = max(values, default=0.0) if top is None else top
    span, steps = max(top - floor, 1e-12), len(BLOCKS) - 1
    filled = [
        0 if value <= floor else max(1, round(min(1.0, (value - floor) / span) * height * steps)) for value in values
    ]
    return [
        "".join(BLOCKS[max(0, min(steps, full - line * steps))] for full in filled) for line in reversed(range(height))
    ]


def sparkline(values: Sequence[float], width: int, top: float | None = None) -> str:
    """The last ``width`` values on one line."""
    return columns(values[-width:] if width > 0 else (), top=top)[0]
