"""PlainTiming: follows the time of a plain step, by plain steps that come one after another."""

from __future__ import annotations

from collections.abc import Sequence

from decoding.planning.ledger import Stake
from decoding.planning.step_cost import OUTLIER, StepCost
from decoding.step import Step

REFERENCE_STEPS = 24
"""A plain step is timed anew after this many steps, times one more than the plain steps at stake."""
RESTING_STEPS = 8
"""Steps of a rest are taken and booked so many at a time."""
MIN_PLAIN_RUN = RESTING_STEPS - 1
"""Plain steps in a row whose mean tells what one takes now, whatever was believed: those of a rest but the first."""


class PlainTiming:
    """Teaches a step cost the time of a plain step.

    A plain step behind one over several tokens finds other data in the processor's caches, so it is not timed.
    """

    def __init__(self, cost: StepCost, stake: Stake) -> None:
        """
        Args:
            cost: what steps cost; it is updated.
            stake: told if a loss was one of all the machine's becoming slower.
        """
        self._cost, self._stake = cost, stake
        self._steps_since, self._after_plain = cost.steps_since_plain, False
        # The times of the forward passes of plain steps in a row.
        self._times: list[float] = []

    @property
    def is_due(self) -> bool:
        """True if two plain steps are to be taken, of which the second is timed."""
        return self._cost.live and self._steps_since >= REFERENCE_STEPS * (1 + self._stake.left)

    def beyond(self, step: Step) -> float:
        """Return the bookkeeping around a step over one token beyond that of plain decoding, in plain steps."""
        more = step.seconds - step.forward_seconds - self._cost.ledger.overhead
        return max(0.0, more) / self._cost.seconds(1) if self._cost.live else 0.0

    def note(self, step: Step) -> None:
        """Note a plain step."""
        self._observe(step, ())
        self._steps_since += 1

    def note_rest(self, step: Step, earlier: Sequence[float], steps: int) -> None:
        """Note the plain steps of a rest.

        Args:
            step: the last of them.
            earlier: the times of the forward passes before it, in seconds.
            steps: their number.
        """
        self._after_plain = self._after_plain or steps > 1
        self._steps_since += steps - 1
        self._observe(step, earlier[1:])
        self._steps_since += 1

    def interrupt(self) -> None:
        """Note a step over several tokens: the next plain step is not behind a plain one."""
        self._after_plain = False
        self._times.clear()
        self._steps_since += 1

    def _observe(self, step: Step, earlier: Sequence[float]) -> None:
        if self._after_plain and step.forward_tokens == 1:
            overhead = min(step.seconds - step.forward_seconds, self._cost.ledger.overhead)
            self._times += [*earlier, step.forward_seconds]
            if self._cost.live and len(self._times) >= MIN_PLAIN_RUN:
                # As steps over several tokens are booked: with what holds them up, within limits.
                # Spelt out: functions of `statistics` take several times as long, after every few steps of a rest.
                times = self._times
                most = OUTLIER * sorted(times)[len(times) // 2]
                self._believe(sum([min(each, most) for each in times]) / len(times) + overhead)
            else:
                self._cost.observe(1, step.forward_seconds + overhead)
            self._steps_since = -1
        self._after_plain = True

    def _believe(self, seconds: float) -> None:
        """Believe what the plain steps in a row have taken, and take back what was lost by believing otherwise."""
        self._stake.take_back(self._cost.ledger.take_back(seconds / self._cost.seconds(1)))
        self._cost.observe(1, seconds, len(self._times))
        self._times.clear()
