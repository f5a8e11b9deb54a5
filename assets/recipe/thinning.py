"""A few of many, spread evenly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


def thinned(items: Sequence[T], most: int) -> list[T]:
    """At most so many of the items in their order, the first and the last among them."""
    if len(items) <= most:
        return list(items)
    if most < 2:
        return list(items[:most])
    return [items[round(at * (len(items) - 1) / (most - 1))] for at in range(most)]
