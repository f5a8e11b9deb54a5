"""Account: a model's balance of what guessing saved and cost; while it is in debt, no candidates are looked for.

The balance of a model on this machine grows by the tokens that a step yields, and :data:`MAX_SLOWDOWN` of them more,
and shrinks by the time that the step takes, in plain steps. While it is not positive, the decoder *rests*: it takes
plain steps without looking for candidates. So the time of any run of steps is at most (1 + MAX_SLOWDOWN) times that of
plain decoding, and :data:`MAX_BALANCE` plain steps and the loss of one step more, but for this: a debt beyond
:data:`MAX_DEBT` is forgiven, and all of it where a rest shows that the whole machine has become slower; a single late
step is booked up to :data:`LATE_FACTOR`; and a text's first step, and a model's first few over several tokens, count as
expected.
"""

from __future__ import annotations

from decoding.costs.step_cost import OUTLIER, StepCost
from decoding.planning.planner import StepPlan
from decoding.step import Step

MAX_SLOWDOWN = 0.02
"""The slowdown against plain decoding that guessing may cause in the long run, as a fraction."""
MAX_BALANCE = 8.0
"""Cap on the balance, so that what a text has saved does not allow its end to lose as much."""
MAX_DEBT = 4.0
"""Cap on the debt: a stall of the machine must not end guessing for hundreds of tokens."""
LATE_FACTOR = 4.0
"""Time beyond this multiple of a step's expected cost is booked only if the step before was as late: a single stall has
other causes than the decoder."""
REFERENCE_STEPS = 128
"""Steps after which a plain one is timed, if none was."""
SLOWER = 1.25
"""Ratio of a plain step's measured to its expected time from which the whole machine counts as slower."""
RETRY_BALANCE = 1.0
"""The loss allowed then, in plain steps."""
RUN_STEPS = 7
"""Steps of a rest that are booked together: code runs in less time while it is in the processor's caches."""


class Account:
    """The account of guessing in one text; it keeps the :class:`StepCost` up to date.

    :meth:`book` depends on its arguments alone, and :meth:`rests` may be asked any number of times.
    """

    def __init__(self, cost: StepCost) -> None:
        """Take what steps cost, with the balance of earlier texts; both are updated."""
        self._cost = cost
        cost.begin_text()
        self._resting, self._rested = 0, list[Step]()
        # Only a plain step after another one is timed: a longer step leaves other data in the processor's caches.
        self._after_plain = False
        self._is_first, self._is_late = True, False

    def rests(self) -> bool:
        """Return True if the next step must not look for candidates."""
        cost = self._cost
        if cost.live and not self._resting and cost.steps_since_plain >= REFERENCE_STEPS:
            # The second of them is timed.
            self._resting, cost.steps_since_plain = 2, 0
        return cost.balance <= 0 or self._resting > 0

    def book(self, plan: StepPlan | None, step: Step) -> None:
        """Book what a step yielded and took; without a plan it was a step of a rest."""
        is_first, self._is_first = self._is_first, False
        if plan is None:
            self._rested.append(step)
            self._resting -= self._resting > 0
            if len(self._rested) == RUN_STEPS:
                self._book_rest()
            return
        self._book_rest()
        cost = self._cost
        taken = expected = cost.in_plain_steps(step.forward_tokens)
        seconds = step.seconds
        if plan.is_plain:
            # The forward pass costs as much as in any plain step; only the search for candidates is extra.
            search = max(0.0, seconds - step.forward_seconds - cost.overhead)
            seconds -= search
            if cost.live and not is_first:
                taken += search / cost.seconds(1)
            if self._after_plain and step.forward_tokens == 1:
                cost.observe(1, seconds)
        elif cost.live and not is_first:
            # A text's first step also holds what was prepared for all of them: once a model, the probe of steps. And a
            # model's first ones allocate, and run code that no cache holds yet.
            seconds += cost.aftermath(step.forward_tokens)
            taken, was_late = seconds / cost.seconds(1), self._is_late
            self._is_late = taken > LATE_FACTOR * expected
            if cost.is_doubtful:
                taken = min(taken, expected)
            elif not was_late:
                taken = min(taken, LATE_FACTOR * expected)
            cost.observe(step.forward_tokens, seconds)
        self._add(len(step.tokens), taken)
        self._after_plain = plan.is_plain

    def _add(self, tokens: int, taken: float) -> None:
        """Book tokens and the time that they took, in plain steps."""
        balance = self._cost.balance + (1 + MAX_SLOWDOWN) * tokens - taken
        self._cost.balance = max(-MAX_DEBT, min(MAX_BALANCE, balance))

    def _book_rest(self) -> None:
        """Book the steps of a rest since the last booking, and learn their time."""
        if not self._rested:
            return
        cost, rested = self._cost, self._rested
        self._add(len(rested), sum([cost.in_plain_steps(step.forward_tokens) for step in rested]))
        timed = [step for step in rested[not self._after_plain :] if step.forward_tokens == 1]
        if cost.live and (count := len(timed)):
            times = sorted([step.forward_seconds for step in timed])
            most = OUTLIER * times[count // 2]
            overhead = sum([min(step.seconds - step.forward_seconds, 2 * cost.overhead) for step in timed]) / count
            cost.overhead += min(1.0, 0.1 * count) * (overhead - cost.overhead)
            seconds = sum([min(each, most) for each in times]) / count + cost.overhead
            if count >= RUN_STEPS - 1 and seconds > SLOWER * cost.seconds(1):
                cost.balance = max(cost.balance, RETRY_BALANCE)
            cost.observe(1, seconds, count)
        self._rested, self._after_plain = [], True
