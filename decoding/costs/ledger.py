"""Ledger: the balance of speculation with a model on this machine, in plain steps, and what is booked in it."""

from __future__ import annotations

MAX_SLOWDOWN = 0.02
"""The slowdown against plain decoding that speculation may cause in the long run, as a fraction."""
OPENING = 4.0
"""The initial balance, in plain steps."""
MAX_BALANCE = 8.0
"""Cap on the balance, so that savings in one text do not permit a slow next one."""
LATE_FACTOR = 4.0
"""Time beyond this multiple of a step's expected cost is booked only if the next step is as late: a single stall has
other causes than the decoder."""
WARM_UPS = 3
"""Number of steps with a model that are booked at their expected cost when they take longer: the first ones allocate
and compile, and run code that no cache holds yet."""
MAX_DEBT = 4.0
"""Cap on the debt: a stall of the machine must not end speculation for hundreds of tokens."""
RETRY_BALANCE = 1.0
"""The loss allowed after a rest or a refund, in plain steps."""
RECENT_STEPS = 8
"""Number of recent steps over several tokens whose loss is refunded if plain steps turn out to be slower as well."""
SLOWER = 1.25
"""Ratio of a plain step's measured to its expected time from which the whole machine counts as slower."""


class Ledger:
    """Balance of tokens gained and time spent, in plain steps; speculation stops unless it is positive.

    The balance grows by :data:`MAX_SLOWDOWN` a token, up to :data:`MAX_BALANCE`. So the time of any run of steps is at
    most (1 + MAX_SLOWDOWN) times that of plain decoding, and MAX_BALANCE plain steps (:data:`OPENING` at first) and the
    loss of two steps beyond that. The bound has three exceptions: a debt beyond :data:`MAX_DEBT` is forgiven, the first
    :data:`WARM_UPS` steps with a model that take longer than expected count as expected, and a loss is refunded where
    plain steps then show that all of the machine has become slower (:meth:`refund`).

    Attributes:
        balance: in plain steps.
        overhead: seconds of a plain step outside the model, as measured in rests.
    """

    def __init__(self) -> None:
        self.balance, self.overhead = OPENING, 5e-5
        # True if the last step over several tokens was late, and the part of its time that was not booked.
        self._late, self._held = False, 0.0
        self._warm_ups = WARM_UPS
        # Cost and gain of the last steps over several tokens since plain steps were measured.
        self._recent: list[tuple[float, float]] = []

    def book(self, tokens: int, cost: float, expected: float | None = None) -> float:
        """Book a step; returns its gain in plain steps.

        Args:
            tokens: those that it emitted.
            cost: its time, in plain steps.
            expected: the cost expected of a step over several tokens; None for a plain one.
        """
        booked = cost
        if expected is not None:
            was_late, self._late = self._late, cost > LATE_FACTOR * expected
            if self._warm_ups and cost > expected:
                self._warm_ups -= 1
                self._late, booked = False, expected
            elif self._late:
                held = cost - LATE_FACTOR * expected
                booked += self._held if was_late else -held
                self._held = 0.0 if was_late else held
        gain = tokens - booked
        self.balance = max(-MAX_DEBT, min(MAX_BALANCE, self.balance + gain + MAX_SLOWDOWN * tokens))
        if expected is not None:
            self._recent = [*self._recent[1 - RECENT_STEPS :], (booked, gain)]
        return gain

    def refund(self, slower: float) -> float:
        """Refund the loss of recent steps that was due to a slowdown of the whole machine, and return it.

        The refund raises the balance to :data:`RETRY_BALANCE` at most.

        Args:
            slower: a plain step's measured time over its expected time.
        """
        recent, self._recent = self._recent, []
        if slower < SLOWER:
            return 0.0
        loss = lost = excess = 0.0
        for cost, gain in reversed(recent):
            # The same time is fewer of the present, slower plain steps.
            lost, excess = lost - gain, excess + (1 - 1 / slower) * cost
            loss = max(loss, min(lost, excess))
        self.balance = max(self.balance, min(RETRY_BALANCE, self.balance + loss))
        return loss

    def note_overhead(self, seconds: float) -> None:
        """Update the moving average of a plain step's overhead; an outlier counts at most double."""
        self.overhead += 0.1 * (min(seconds, 2 * self.overhead) - self.overhead)
