"""How much memory a session's tables take."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Mapping
from typing import Any

from decoding import Tables


def entries_of(tables: Tables) -> int:
    """How many entries all tables hold together: n-grams, indexed tokens and whatever else they count."""
    return sum(tables.sizes().values())


def size_of(tables: Tables) -> int:
    """Bytes that the tables take: the sizes of all objects that can be reached, those of small numbers left out."""
    seen: set[int] = set()
    waiting: list[Any] = [tables]
    total = 0
    while waiting:
        value = waiting.pop()
        if id(value) in seen or isinstance(value, int | float | type | None):
            continue  # a token's number is shared with the text it came from
        seen.add(id(value))
        total += sys.getsizeof(value) + int(getattr(value, "nbytes", 0))
        if isinstance(value, Mapping):
            waiting += [*value.keys(), *value.values()]
        elif isinstance(value, list | tuple | set | frozenset | deque):
            waiting += value
        waiting += [getattr(value, name, None) for name in getattr(type(value), "__slots__", ())]
        waiting.append(getattr(value, "__dict__", None))
    return total
