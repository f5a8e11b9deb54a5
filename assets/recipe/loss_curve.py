"""How the training loss fell: the points of a run's log that lead to its last checkpoint."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from assets.recipe.thinning import thinned

_POINTS = 60


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
