"""How the training loss fell: the points of a run's log, and their curve as a small SVG.

Its colours can be read on a light page and on a dark one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil, log10
from pathlib import Path

from assets.recipe.checks import thinned

_POINTS = 60
_WIDTH, _HEIGHT = 720, 280
_LEFT, _RIGHT, _TOP, _BOTTOM = 52, 16, 16, 44
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
        while points and points[-1].step >= point.step:
            points.pop()
        points.append(point)
    return thinned([*(point for point in points if point.step < last.step), last], _POINTS)


def draw(points: Sequence[Point]) -> str:
    """The picture: loss on a logarithmic scale by millions of tokens read. There has to be a point."""
    read = [point.tokens / 1e6 for point in points]
    low, high = (log10(end(point.loss for point in points)) for end in (min, max))
    low, high = low - 0.05, high + 0.05

    def x(millions: float) -> float:
        return round(_LEFT + (_WIDTH - _LEFT - _RIGHT) * millions / read[-1], 1)

    def y(loss: float) -> float:
        return round(_TOP + (_HEIGHT - _TOP - _BOTTOM) * (high - log10(loss)) / (high - low), 1)

    bottom, right = _HEIGHT - _BOTTOM, _WIDTH - _RIGHT
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" height="{_HEIGHT}"'
        f' font-family="sans-serif" font-size="12" fill="{_GREY}">',
        f"<title>Training loss: {points[0].loss:.2f} to {points[-1].loss:.2f}</title>",
    ]
    for loss in _round_losses(10**low, 10**high):
        lines.append(_line(_LEFT, y(loss), right, y(loss), 0.35))
        lines.append(f'<text x="{_LEFT - 6}" y="{y(loss) + 4}" text-anchor="end">{loss:g}</text>')
    for millions in _round_millions(read[-1]):
        lines.append(_line(x(millions), bottom, x(millions), bottom + 5, 1.0))
        lines.append(f'<text x="{x(millions)}" y="{bottom + 18}" text-anchor="middle">{millions:g}</text>')
    path = " ".join(f"{x(millions)},{y(point.loss)}" for millions, point in zip(read, points, strict=True))
    lines += [
        _line(_LEFT, bottom, right, bottom, 1.0),
        f'<text x="{(_LEFT + right) / 2}" y="{_HEIGHT - 8}" text-anchor="middle">million tokens read</text>',
        f'<polyline points="{path}" fill="none" stroke="{_BLUE}" stroke-width="2" stroke-linejoin="round"/>',
        f'<circle cx="{x(read[-1])}" cy="{y(points[-1].loss)}" r="3" fill="{_BLUE}"/>',
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _line(x1: float, y1: float, x2: float, y2: float, opacity: float) -> str:
    return f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="{_GREY}" stroke-opacity="{opacity}"/>'


def _round_losses(low: float, high: float) -> Iterator[float]:
    """1, 2 and 5 times the powers of ten in between."""
    for power in range(-4, 3):
        for digit in (1, 2, 5):
            if low <= (loss := digit * 10.0**power) <= high:
                yield loss


def _round_millions(most: float) -> Iterator[float]:
    """From zero on in round steps, as few of them as can be read side by side."""
    power = 10.0 ** ceil(log10(most / _MOST_TICKS) - 1)
    step = next(digit * power for digit in (1, 2, 5, 10) if digit * power * _MOST_TICKS >= most)
    for at in range(int(most / step + 1e-9) + 1):
        yield float(f"{at * step:.6g}")
