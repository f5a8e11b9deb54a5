"""StepClock: measures what a step takes."""

from __future__ import annotations

from time import perf_counter


class StepClock:
    """The time of the step under way; it stands still while the caller holds the last one.

    What is done after :meth:`lap`, the rest of the bookkeeping, counts in the next step.
    """

    __slots__ = ("_held", "_started")

    def __init__(self) -> None:
        self._started, self._held = perf_counter(), 0.0

    def resume(self) -> None:
        """Go on: the next step was asked for."""
        self._started = perf_counter() - self._held

    def pause(self) -> None:
        """Stand still."""
        self._held = perf_counter() - self._started

    def lap(self) -> float:
        """Return the seconds of the step, and begin the next one."""
        now = perf_counter()
        seconds, self._started = now - self._started, now
        return seconds
