"""Tables: what the sources have learnt, from step to step and from turn to turn."""

from __future__ import annotations

from dataclasses import dataclass, field

from decoding.candidates.context import ContextIndex
from decoding.candidates.trajectory import TrajectoryPool


@dataclass
class Tables:
    """One table for each source of candidates; all bounded."""

    trajectory: TrajectoryPool = field(default_factory=TrajectoryPool)
    context: ContextIndex = field(default_factory=ContextIndex)

    def copy(self) -> Tables:
        """Tables of their own with the same contents."""
        return Tables(self.trajectory.copy(), self.context.copy())
