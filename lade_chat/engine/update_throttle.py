"""UpdateThrottle: how often a growing reply is sent to the screen."""

from __future__ import annotations

from time import perf_counter

UPDATE_SECONDS = 0.05
"""Pieces are sent at most 20 times a second, which is fast enough for a screen."""
MANY_PIECES, CROWD = 4, 16
"""An update of at least MANY_PIECES (CROWD) pieces doubles (triples) UPDATE_SECONDS: an update costs the screen a
layout, and such speeds cannot be read along anyway."""


class UpdateThrottle:
    """The time since a reply's last update."""

    def __init__(self) -> None:
        self._updated = perf_counter()

    def restart(self) -> None:
        """Count from now on: the screen is being updated."""
        self._updated = perf_counter()

    def is_due(self, pieces: int) -> bool:
        """Return True if so many waiting pieces are to be sent now."""
        times = 1 if pieces < MANY_PIECES else 2 if pieces < CROWD else 3
        return perf_counter() - self._updated >= times * UPDATE_SECONDS
