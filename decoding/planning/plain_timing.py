"""PlainTiming: keeps the measured time of a plain step up to date, from consecutive plain steps."""

from __future__ import annotations

from collections.abc import Sequence

from decoding.planning.ledger import Stake
from decoding.planning.step_cost import OUTLIER, StepCost
from decoding.step import Step

REFERENCE_STEPS = 24
"""Steps between measurements of a plain step, multiplied by 1 + :attr:`Stake.left`."""
PLAIN_BATCH = 16
"""Maximum number of plain steps planned and booked together."""
MIN_PLAIN_RUN = 7
"""Consecutive plain steps whose mean replaces the earlier estimate."""


class PlainTiming:
    """Updates a :class:`StepCost` with the time of plain steps.

    Only a plain step after another one is timed: after a step over several tokens the processor's caches hold other
    data.
    """

    def __init__(self, cost: StepCost, stake: Stake) -> None:
        """
        Args:
            cost: what steps cost; it is updated.
            stake: refunded if a loss turns out to be a slowdown of the whole machine.
        """
        self._cost, self._stake = cost, stake
        self._steps_since, self._after_plain = cost.steps_since_plain, False
        # The times of the forward passes of plain steps in a row.
        self._times: list[float] = []

    @property
    def is_due(self) -> bool:
        """True when it is time to take two plain steps and time the second."""
        return self._cost.live and self._steps_since >= REFERENCE_STEPS * (1 + self._stake.left)

    def extra_cost(self, step: Step) -> float:
        """Return a plain step's time outside the model in excess of plain decoding's, in plain steps."""
        more = step.seconds - step.forward_seconds - self._cost.ledger.overhead
        return max(0.0, more) / self._cost.seconds(1) if self._cost.live else 0.0

    def note(self, step: Step) -> None:
        """Note a plain step."""
        self._observe(step, ())
        self._steps_since += 1

    def note_several(self, step: Step, earlier: Sequence[float], steps: int) -> None:
        """Note several consecutive plain steps.

        Args:
            step: the last of them.
            earlier: the times of the other forward passes, in seconds.
            steps: their number.
        """
        self._after_plain = self._after_plain or steps > 1
        self._steps_since += steps - 1
        self._observe(step, earlier[1:])
        self._steps_since += 1

    def interrupt(self) -> None:
        """Note a step over several tokens, after which the next plain step is not timed."""
        self._after_plain = False
        self._times.clear()
        self._steps_since += 1

    def _observe(self, step: Step, earlier: Sequence[float]) -> None:
        if self._after_plain and step.forward_tokens == 1:
            overhead = min(step.seconds - step.forward_seconds, self._cost.ledger.overhead)
            self._times += [*earlier, step.forward_seconds]
            if self._cost.live and len(self._times) >= MIN_PLAIN_RUN:
                # A mean with delays included up to OUTLIER medians, as steps over several tokens are booked.
                # Written out because functions of `statistics` take several times as long.
                times = self._times
                most = OUTLIER * sorted(times)[len(times) // 2]
                self._set_plain_seconds(sum([min(each, most) for each in times]) / len(times) + overhead)
            else:
                self._cost.observe(1, step.forward_seconds + overhead)
            self._steps_since = -1
        self._after_plain = True

    def _set_plain_seconds(self, seconds: float) -> None:
        """Adopt the measured time, and refund the losses that were due to the earlier estimate."""
        self._stake.refund(self._cost.ledger.refund(seconds / self._cost.seconds(1)))
        self._cost.observe(1, seconds, len(self._times))
        self._times.clear()
