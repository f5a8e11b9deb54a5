"""Pairs of parameters for tests of which each value, but not each pair, takes a way of its own through the code.

``LONG_TESTS=1`` in the environment runs the longer form of these tests, with every pair.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import TypeVar

First = TypeVar("First")
Second = TypeVar("Second")

LONG = os.environ.get("LONG_TESTS") == "1"


def in_turn(values: Iterable[Second], number: int, count: int = 1) -> list[Second]:
    """``count`` of the values for the case of this number, in turn; all of them in the longer form."""
    whole = list(values)
    return whole if LONG else [whole[(number * count + at) % len(whole)] for at in range(count)]


def pairs(first: Iterable[First], second: Iterable[Second], each: int = 1) -> list[tuple[First, Second]]:
    """Every one of ``first`` with ``each`` of ``second``, in turn; with all of them in the longer form."""
    others = list(second)
    return [(one, other) for number, one in enumerate(first) for other in in_turn(others, number, each)]
