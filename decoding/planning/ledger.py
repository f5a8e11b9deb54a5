"""Accounting of speculation: time saved or lost against plain decoding, and the back-off that bounds the loss.

While speculation does not pay, the decoder *rests*: it takes plain steps, 8 at first, doubled up to 128.
:class:`Ledger` keeps the balance of a model on this machine, :class:`Stake` that of one text.
"""

from __future__ import annotations

MAX_SLOWDOWN = 0.02
"""The slowdown against plain decoding that speculation may cause in the long run, as a fraction."""
OPENING = 4.0
"""The initial balance, in plain steps."""
MAX_BALANCE = 8.0
"""Cap on the balance, so that savings in one text do not permit a slow next one."""
MAX_MARGIN = 0.04
"""The gain that a step must promise, as a fraction, if its text has saved nothing; 0 at a full stake."""
LATE_FACTOR = 4.0
"""Time beyond this multiple of a step's expected cost is booked only if the next step is as late: a single stall has
other causes than the decoder."""
WARM_UPS = 3
"""Number of steps with a model that are booked at their expected cost when they take longer: the first ones allocate
and compile, and run code that no cache holds yet."""
MAX_DEBT = 4.0
"""Cap on the debt: a stall of the machine must not end speculation for hundreds of tokens."""
STAKE = 4.0
"""The loss allowed at the beginning of a text, in plain steps."""
RETRY_STAKE = 1.0
"""The loss allowed after a rest or a refund, in plain steps."""
PRIOR_TOKENS = 10.0
"""Weight of the prior in the calibration: this many accepted tokens count as both expected and observed."""
CALIBRATION_DECAY = 0.97
RECENT_STEPS = 8
"""Number of recent steps over several tokens whose loss is refunded if plain steps turn out to be slower as well."""
SLOWER = 1.25
"""Ratio of a plain step's measured to its expected time from which the whole machine counts as slower."""
IDLE_STEPS = 8
"""Consecutive steps without a candidate worth verifying that start a rest; also the length of the first rest."""
QUICK_IDLE_STEPS, QUICK_STAKE = 3, 2.0
"""IDLE_STEPS and STAKE for models so quick that the search for candidates takes a tenth of a step."""
MAX_REST_STEPS = 128


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

        The refund raises the balance to :data:`RETRY_STAKE` at most.

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
        self.balance = max(self.balance, min(RETRY_STAKE, self.balance + loss))
        return loss

    def note_overhead(self, seconds: float) -> None:
        """Update the moving average of a plain step's overhead; an outlier counts at most double."""
        self.overhead += 0.1 * (min(seconds, 2 * self.overhead) - self.overhead)


class Stake:
    """The loss still allowed in one text, and the rests after it is used up, each twice as long as the last.

    Attributes:
        left: the loss still allowed, in plain steps.
        calibration: accepted tokens over expected ones in this text, at most 1.
    """

    def __init__(self, ledger: Ledger, *, quick: bool = False) -> None:
        self._ledger, self.left = ledger, QUICK_STAKE if quick else STAKE
        self._patience = QUICK_IDLE_STEPS if quick else IDLE_STEPS
        self._idle, self._resting, self._next_length = 0, 0, IDLE_STEPS
        self.calibration, self._expected, self._accepted = 1.0, PRIOR_TOKENS, PRIOR_TOKENS
        self._at_rest = self.left

    @property
    def margin(self) -> float:
        """The gain over a plain step that a step must promise, as a fraction; falls as the stake grows."""
        return MAX_MARGIN * (1 - max(0.0, self.left) / MAX_BALANCE)

    def rest_steps(self, *, has_window: bool, most: int = 1) -> int:
        """Return how many of the next ``most`` steps belong to a rest. With a window, idle steps start no rest."""
        if self._resting == 0:
            lost = self._ledger.balance <= 0 or self.left <= 0
            if lost or (self._idle >= self._patience and not has_window):
                # If the first step after the rest is idle too, the next rest follows at once.
                self._idle, self._resting = self._patience - 1, self._next_length
                self._next_length = min(2 * self._next_length, MAX_REST_STEPS)
                self._at_rest = self.left = max(self.left, RETRY_STAKE)
        steps = min(self._resting, most)
        self._resting -= steps
        return steps

    def book(self, gain: float) -> None:
        """Add the gain of a step outside rests, in plain steps; a gain of 1 since the last rest shortens the next."""
        self.left = min(MAX_BALANCE, self.left + gain)
        if self.left >= self._at_rest + 1:
            self._next_length = IDLE_STEPS

    def refund(self, loss: float) -> None:
        """Give back a refunded loss, and end the rest that it caused."""
        if loss > 0:
            self.left = max(self.left, min(RETRY_STAKE, self.left + loss))
            self._resting, self._next_length = 0, IDLE_STEPS

    def count_verified(self, expected: float, accepted: int) -> None:
        """Update the calibration with a step's expected and actual accepted tokens."""
        self._expected = CALIBRATION_DECAY * self._expected + expected
        self._accepted = CALIBRATION_DECAY * self._accepted + accepted
        self.calibration = min(1.0, self._accepted / self._expected)
        if accepted:
            self._idle = 0

    def count_idle(self) -> None:
        """Count a step outside rests without a candidate worth verifying."""
        self._idle += 1
