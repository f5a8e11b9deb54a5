"""The learning rate over a run that is bounded by minutes or by steps: warm-up, stable, linear decay."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Schedule:
    """How long to train (the bound that comes first), the warm-up in steps, the decay as a share."""

    minutes: float | None = None
    steps: int | None = None
    warm_up: int = 60
    decay: float = 0.4

    def progress(self, step: int, seconds: float) -> float:
        """How much of the run is done, from 0 to 1 and beyond."""
        by_time = seconds / (60 * self.minutes) if self.minutes else 0.0
        by_steps = step / self.steps if self.steps else 0.0
        return max(by_time, by_steps)

    def factor(self, step: int, seconds: float) -> float:
        """What the peak learning rates are multiplied by."""
        left = max(0.0, 1.0 - self.progress(step, seconds))
        return min(1.0, (step + 1) / self.warm_up) * max(0.01, min(1.0, left / self.decay))
