"""Account: told what each step of a text took and yielded, it says what the next one may take.

While speculation does not pay, the decoder *rests*: it takes plain steps for which no candidates are sought, 8 at
first, doubled up to 128. A text that seems to repeat an earlier one interrupts a rest.
"""

from __future__ import annotations

from decoding.costs.ledger import MAX_BALANCE, RETRY_BALANCE
from decoding.costs.step_cost import OUTLIER, StepCost
from decoding.planning.step_plan import StepPlan
from decoding.step import Step

MAX_MARGIN = 0.04
"""The gain that a step must promise, as a fraction, if its text has saved nothing; 0 at a full stake."""
STAKE = 4.0
"""The loss allowed at the beginning of a text, in plain steps."""
PRIOR_TOKENS = 10.0
"""Weight of the prior in the calibration: this many accepted tokens count as both expected and observed."""
CALIBRATION_DECAY = 0.97
MIN_STEP_GAIN = 0.03
"""Expected gain over a plain step, as a fraction, up to which a step without accepted candidates counts as idle."""
IDLE_STEPS = 8
"""Consecutive steps without a candidate worth verifying that start a rest; also the length of the first rest."""
QUICK_IDLE_STEPS, QUICK_STAKE = 3, 2.0
"""IDLE_STEPS and STAKE for models so quick that the search for candidates takes a tenth of a step."""
MAX_REST_STEPS = 128
REFERENCE_STEPS = 24
"""Steps between timings of a plain step, multiplied by 1 + :attr:`Account.stake`."""
MIN_PLAIN_RUN = 7
"""Consecutive plain steps whose mean replaces the earlier estimate."""


class Account:
    """The loss still allowed in one text, and the rests after it is used up, each twice as long as the last.

    It keeps the :class:`StepCost`, and the ledger of that, up to date; :meth:`book` depends on its arguments alone, and
    :meth:`rests` may be asked any number of times.

    Attributes:
        stake: the loss still allowed, in plain steps.
        calibration: accepted tokens over expected ones in this text, at most 1.
    """

    def __init__(self, cost: StepCost, *, quick: bool = False) -> None:
        """
        Args:
            cost: what steps cost; it is updated.
            quick: the search for candidates takes a good part of a step.
        """
        self._cost, self._ledger = cost, cost.ledger
        self.stake = self._at_rest = QUICK_STAKE if quick else STAKE
        self._is_quick = quick
        self._patience = QUICK_IDLE_STEPS if quick else IDLE_STEPS
        self._idle, self._resting, self._next_rest = 0, 0, IDLE_STEPS
        self._is_alert = False  # in a rest, until a search finds nothing worth its cost
        self.calibration, self._expected, self._accepted = 1.0, PRIOR_TOKENS, PRIOR_TOKENS
        # Only a plain step after another one is timed: a longer step leaves other data in the processor's caches.
        self._since_timing, self._after_plain = cost.steps_since_plain, False
        self._times: list[float] = []
        self._undrafted: list[Step] = []
        self._is_first = True

    @property
    def margin(self) -> float:
        """The gain over a plain step that a step must promise, as a fraction; falls as the stake grows."""
        return MAX_MARGIN * (1 - max(0.0, self.stake) / MAX_BALANCE)

    def rests(self, *, has_window: bool, recites: bool = False) -> bool:
        """Return True if no candidates are to be sought for the next step.

        Args:
            has_window: the planner has a window; idle steps then start no rest.
            recites: the text seems to repeat an earlier one, which interrupts a rest while the ledger allows a loss.
        """
        if not self._resting:
            is_idle = self._idle >= self._patience and not has_window
            if self._ledger.balance <= 0 or self.stake <= 0 or is_idle:
                # If the first step after the rest is idle too, the next rest follows at once.
                self._idle, self._resting, self._is_alert = self._patience - 1, self._next_rest, True
                self._next_rest = min(2 * self._next_rest, MAX_REST_STEPS)
                self._at_rest = self.stake = max(self.stake, RETRY_BALANCE)
            elif self._cost.live and self._since_timing >= REFERENCE_STEPS * (1 + self.stake):
                # The second of them is timed.
                self._resting, self._is_alert = 2, False
        return self._resting > 0 and not (recites and self._is_alert and self._ledger.balance > 0)

    def book(self, plan: StepPlan | None, step: Step) -> None:
        """Book a step.

        Args:
            plan: what it verified; None for a plain step without drafting.
            step: what it yielded, and the time that it took.
        """
        is_first, self._is_first = self._is_first, False
        if plan is None:
            self._undrafted.append(step)
            self._resting -= self._resting > 0
            if len(self._undrafted) == MIN_PLAIN_RUN or not (self._resting or self._is_quick):
                self._book_undrafted()
            return
        self._book_undrafted()
        if plan.is_plain:
            # The forward pass costs as much as in any plain step; only the search for candidates is extra. A text's
            # first step also holds what was prepared for all of them: once a model, the probe of what steps cost.
            search = 0.0 if is_first else self._search_cost(step)
            self._add(self._ledger.book(1, self._cost.in_plain_steps(step.forward_tokens) + search))
            self._is_alert = False
            # A step for which there were no candidates at all is not idle: the tables still fill.
            self._idle += plan.has_proposals
        else:
            self._book_branches(plan, step)
            return
        self._time(step)

    def _book_undrafted(self) -> None:
        """Book the plain steps without drafting since the last booking.

        Several are booked together, because code runs in less time while it is in the processor's caches.
        """
        for step in self._undrafted:
            self._ledger.note_overhead(step.seconds - step.forward_seconds)
            self._ledger.book(1, self._cost.in_plain_steps(step.forward_tokens))
            self._time(step)
        self._undrafted.clear()

    def _book_branches(self, plan: StepPlan, step: Step) -> None:
        cost, accepted, promised = self._cost, len(step.tokens) - 1, sum(plan.probabilities)
        if len(plan.candidates):
            self._expected = CALIBRATION_DECAY * self._expected + promised
            self._accepted = CALIBRATION_DECAY * self._accepted + accepted
            self.calibration = min(1.0, self._accepted / self._expected)
        if accepted:
            self._idle = 0
        elif plan.promised_gain <= MIN_STEP_GAIN:
            self._idle += 1
        expected = cost.in_plain_steps(step.forward_tokens)
        taken = step.seconds / cost.seconds(1) if cost.live else expected
        self._add(self._ledger.book(len(step.tokens), taken, expected))
        cost.observe(step.forward_tokens, step.seconds)
        self._after_plain, self._since_timing = False, self._since_timing + 1
        self._times.clear()

    def _add(self, gain: float) -> None:
        """Add the gain of a step outside rests; a gain of 1 since the last rest shortens the next."""
        self.stake = min(MAX_BALANCE, self.stake + gain)
        if self.stake >= self._at_rest + 1:
            self._next_rest = IDLE_STEPS

    def _search_cost(self, step: Step) -> float:
        """Return a plain step's time outside the model in excess of plain decoding's, in plain steps."""
        more = step.seconds - step.forward_seconds - self._ledger.overhead
        return max(0.0, more) / self._cost.seconds(1) if self._cost.live else 0.0

    def _time(self, step: Step) -> None:
        """Learn the time of a plain step that follows another; without drafting that of several together."""
        cost, times = self._cost, self._times
        self._since_timing += 1
        if cost.live and self._after_plain and step.forward_tokens == 1:
            overhead, self._since_timing = min(step.seconds - step.forward_seconds, self._ledger.overhead), 0
            times.append(step.forward_seconds)
            if len(times) >= MIN_PLAIN_RUN:
                # A mean with delays included up to OUTLIER medians, as steps over several tokens are booked.
                # Written out because functions of `statistics` take several times as long.
                most = OUTLIER * sorted(times)[len(times) // 2]
                seconds = sum([min(each, most) for each in times]) / len(times) + overhead
                self._refund(self._ledger.refund(seconds / cost.seconds(1)))
                cost.observe(1, seconds, len(times))
                times.clear()
            elif not (self._resting or self._undrafted):
                cost.observe(1, step.forward_seconds + overhead)
        self._after_plain = True

    def _refund(self, loss: float) -> None:
        """Give back a loss that all of the machine's slowing down explains, and end the rest that it caused."""
        if loss > 0:
            self.stake = max(self.stake, min(RETRY_BALANCE, self.stake + loss))
            self._resting, self._next_rest = 0, IDLE_STEPS
