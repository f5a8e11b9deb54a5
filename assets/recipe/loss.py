"""The fall of the training loss: the points of a run's log, and their curve as a small SVG.

Its colours can be read on a light page and on a dark one.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, log10
from pathlib import Path

from assets.recipe.conversation import thinned

_POINTS = 60
_WIDTH, _HEIGHT = 720, 280
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 704, 16, 236
# In the middle between black and white.
_GREY, _BLUE = "#7a7a7a", "#2f81f7"
_MOST_TICKS = 8


@dataclass(frozen=True)
class Point:
    """The loss (nats per token, a running mean) by the step after which so many tokens were read."""

    step: int
    tokens: int
    loss: float


def read_curve(log: Path, last: Point) -> list[Point]:
    """The log's points up to the last one, thinned; where training went back and on again, what it did last."""
    points: list[Point] = []
    lines = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
    for entry in map(json.loads, lines):
        point = Point(entry["step"], entry["tokens"], entry["loss"])
        points = [before for before in points if before.step < point.step] + [point]
    return thinned([*(point for point in points if point.step < last.step), last], _POINTS)


def draw(points: Sequence[Point]) -> str:
    """The picture: loss on a logarithmic scale by millions of tokens read. There has to be a point."""
    most = points[-1].tokens / 1e6
    losses = [point.loss for point in points]
    low, high = log10(min(losses)) - 0.05, log10(max(losses)) + 0.05

    def x(millions: float) -> float:
        return round(_LEFT + (_RIGHT - _LEFT) * millions / most, 1)

    def y(loss: float) -> float:
        return round(_TOP + (_BOTTOM - _TOP) * (high - log10(loss)) / (high - low), 1)

    path = " ".join(f"{x(point.tokens / 1e6)},{y(point.loss)}" for point in points)
    # 1, 2 and 5 times the powers of ten in between.
    rounds = [loss for power in range(-4, 3) for loss in (10.0**power, 2 * 10.0**power, 5 * 10.0**power)]
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" height="{_HEIGHT}"'
        f' font-family="sans-serif" font-size="12" fill="{_GREY}">',
        f"<title>Training loss: {losses[0]:.2f} to {losses[-1]:.2f}</title>",
    ]
    for loss in (loss for loss in rounds if 10**low <= loss <= 10**high):
        lines += [_line(_LEFT, y(loss), _RIGHT, y(loss), 0.35), _text(_LEFT - 6, y(loss) + 4, "end", f"{loss:g}")]
    for millions in _ticks(most):
        lines.append(_line(x(millions), _BOTTOM, x(millions), _BOTTOM + 5, 1.0))
        lines.append(_text(x(millions), _BOTTOM + 18, "middle", f"{millions:g}"))
    lines += [
        _line(_LEFT, _BOTTOM, _RIGHT, _BOTTOM, 1.0),
        _text((_LEFT + _RIGHT) / 2, _HEIGHT - 8, "middle", "million tokens read"),
        f'<polyline points="{path}" fill="none" stroke="{_BLUE}" stroke-width="2" stroke-linejoin="round"/>',
        f'<circle cx="{x(most)}" cy="{y(losses[-1])}" r="3" fill="{_BLUE}"/>',
    ]
    return "\n".join([*lines, "</svg>", ""])


def _line(x1: float, y1: float, x2: float, y2: float, opacity: float) -> str:
    return f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="{_GREY}" stroke-opacity="{opacity}"/>'


def _text(x: float, y: float, anchor: str, text: str) -> str:
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}">{text}</text>'


def _ticks(most: float) -> list[float]:
    """From zero to the most in round steps, as few of them as can be read side by side."""
    power = 10.0 ** ceil(log10(most / _MOST_TICKS) - 1)
    step = next(digit * power for digit in (1, 2, 5, 10) if digit * power * _MOST_TICKS >= most)
    return [float(f"{at * step:.6g}") for at in range(int(most / step + 1e-9) + 1)]
