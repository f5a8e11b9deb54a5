"""Python's garbage collector, kept from searching again and again what lives as long as the process."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

ALLOCATIONS = 20_000
"""Objects made and not freed before the youngest are searched: some megabytes. Python's own 700 come with every frame
drawn; searches took a quarter of the processor time of the screen's tests."""


def leave_out_what_lives() -> None:
    """Leave all objects made so far out of later searches, and search less often."""
    gc.freeze()
    gc.set_threshold(ALLOCATIONS)


@contextmanager
def uncollected() -> Iterator[None]:
    """Import or load inside without searches, which find nothing there: a sixth of the time of importing torch and
    transformers."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        leave_out_what_lives()
        if enabled:
            gc.enable()
