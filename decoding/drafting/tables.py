"""Tables: what has been learnt of a conversation, from step to step and from turn to turn."""

from __future__ import annotations

from dataclasses import dataclass, field

from decoding.drafting.acceptance import Acceptance
from decoding.drafting.context import ContextIndex
from decoding.drafting.successors import SuccessorTable
from decoding.drafting.trajectory import TrajectoryPool
from decoding.planning.window_size import WindowChoice


@dataclass
class Tables:
    """One table for each source of candidates, how often each was right, and what the window paid; all bounded."""

    trajectory: TrajectoryPool = field(default_factory=TrajectoryPool)
    context: ContextIndex = field(default_factory=ContextIndex)
    successors: SuccessorTable = field(default_factory=SuccessorTable)
    acceptance: Acceptance = field(default_factory=Acceptance)
    window_choice: WindowChoice = field(default_factory=WindowChoice)

    def __repr__(self) -> str:
        held = f"{len(self.trajectory)} n-grams, {len(self.context)} tokens of context"
        return f"Tables({held}, {len(self.successors)} tokens with successors)"

    def copy(self) -> Tables:
        """Tables of their own with the same contents."""
        return Tables(
            self.trajectory.copy(),
            self.context.copy(),
            self.successors.copy(),
            self.acceptance.copy(),
            self.window_choice.copy(),
        )
