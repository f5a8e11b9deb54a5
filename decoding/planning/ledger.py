"""Ledger: what guessing has saved or lost against plain decoding, and the rests that keep its losses bounded."""

from __future__ import annotations

MAX_SLOWDOWN = 0.02
"""The share of plain decoding's time that guessing may lose in the long run."""
OPENING = 4.0
"""The balance to begin with, in plain steps."""
MAX_BALANCE = 8.0
"""Savings beyond this are not kept, so that no text is slow because the one before it was fast."""
MAX_MARGIN = 0.04
"""The gain that a step has to promise where its text has earned nothing; none at a full stake."""
LATE_FACTOR = 4.0
"""What a step takes beyond this many times its expected cost is booked only if the next one is as late: a process that
was held up once is not the decoder's doing."""
WARM_UPS = 3
"""Late steps with a model that are booked as expected: the first ones pay for what later ones reuse."""
MAX_DEBT = 4.0
"""More is not paid back: a hiccup of the machine would end guessing for hundreds of tokens, and the step cost learns
what steps truly take."""
STAKE = 4.0
"""The plain steps that guessing may lose at the beginning of a text."""
RETRY_STAKE = 1.0
"""The same after a rest, and where a loss is taken back."""
PRIOR_TOKENS = 10.0
"""The accepted tokens that are taken to have been expected, and to have come true, before any were."""
CALIBRATION_DECAY = 0.97
RECENT_STEPS = 8
"""The last steps over several tokens, whose loss is taken back if plain steps turn out to take longer as well."""
SLOWER = 1.25
"""Plain steps that take so many times what was expected show that all of the machine has become slower."""
IDLE_STEPS = 8
"""After so many steps in which nothing was worth verifying, the sources rest; so long is the first rest."""
QUICK_IDLE_STEPS, QUICK_STAKE = 3, 2.0
"""Fruitless steps before the first rest, and the stake, where a step is so quick that looking takes a tenth of it."""
MAX_REST_STEPS = 128


class Ledger:
    """Tokens gained less time spent, in plain steps; guessing stops while the balance is not positive.

    The balance grows by :data:`MAX_SLOWDOWN` a token, up to :data:`MAX_BALANCE`. So the time of any run of steps is at
    most (1 + MAX_SLOWDOWN) times that of plain decoding, and MAX_BALANCE plain steps (:data:`OPENING` at first) and the
    loss of two steps beyond that. Three things are not covered: a debt beyond :data:`MAX_DEBT` is forgiven, the first
    :data:`WARM_UPS` late steps with a model count as expected, and a loss is refunded where plain steps then show that
    all of the machine has become slower (:meth:`take_back`).

    Attributes:
        balance: in plain steps.
        overhead: seconds of a plain step outside the model, as seen in rests.
    """

    def __init__(self) -> None:
        self.balance, self.overhead = OPENING, 5e-5
        # If the last step over several tokens was late, and how much of its time was not booked.
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
            if self._late and self._warm_ups:
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

    def take_back(self, slower: float) -> float:
        """Return what the last steps have lost only because all of the machine had become slower.

        Of the balance, no more than another try is given back.

        Args:
            slower: how many times as long as was expected plain steps take now.
        """
        recent, self._recent = self._recent, []
        if slower < SLOWER:
            return 0.0
        loss = lost = excess = 0.0
        for cost, gain in reversed(recent):
            # In plain steps of now it has cost less.
            lost, excess = lost - gain, excess + (1 - 1 / slower) * cost
            loss = max(loss, min(lost, excess))
        self.balance = max(self.balance, min(RETRY_STAKE, self.balance + loss))
        return loss

    def note_overhead(self, seconds: float) -> None:
        """Follow the overhead of plain steps; one outlier hardly counts."""
        self.overhead += 0.1 * (min(seconds, 2 * self.overhead) - self.overhead)


class Stake:
    """The time that guessing may still lose in one text, and the rests that are due once it is lost.

    While guessing does not pay, rests get longer and longer; nothing is looked for in them.

    Attributes:
        left: the plain steps that may still be lost.
        calibration: the share of the accepted tokens expected that came true in this text.
    """

    def __init__(self, ledger: Ledger, *, quick: bool = False) -> None:
        self._ledger, self.left = ledger, QUICK_STAKE if quick else STAKE
        self._patience = QUICK_IDLE_STEPS if quick else IDLE_STEPS
        self._idle, self._resting, self._next_length = 0, 0, IDLE_STEPS
        self.calibration, self._expected, self._accepted = 1.0, PRIOR_TOKENS, PRIOR_TOKENS
        self._at_rest = self.left

    @property
    def margin(self) -> float:
        """The gain over a plain step that a step has to promise, as a share: the less was earned, the more."""
        return MAX_MARGIN * (1 - max(0.0, self.left) / MAX_BALANCE)

    def rest_steps(self, *, has_window: bool, most: int = 1) -> int:
        """Return the number of the next steps, up to ``most``, that belong to a rest; idle sources beside a window
        begin none."""
        if self._resting == 0:
            lost = self._ledger.balance <= 0 or self.left <= 0
            if lost or (self._idle >= self._patience and not has_window):
                # If the next step finds nothing either, the next rest follows it.
                self._idle, self._resting = self._patience - 1, self._next_length
                self._next_length = min(2 * self._next_length, MAX_REST_STEPS)
                self._at_rest = self.left = max(self.left, RETRY_STAKE)
        steps = min(self._resting, most)
        self._resting -= steps
        return steps

    def book(self, gain: float) -> None:
        """Add the gain of a step outside rests, in plain steps; one earned since a rest makes the next one short."""
        self.left = min(MAX_BALANCE, self.left + gain)
        if self.left >= self._at_rest + 1:
            self._next_length = IDLE_STEPS

    def take_back(self, loss: float) -> None:
        """Try again after a loss that was none, and end the rest that it has led to."""
        if loss > 0:
            self.left = max(self.left, min(RETRY_STAKE, self.left + loss))
            self._resting, self._next_length = 0, IDLE_STEPS

    def count_verified(self, expected: float, accepted: int) -> None:
        """Compare the accepted tokens expected of a step with those that it had."""
        self._expected = CALIBRATION_DECAY * self._expected + expected
        self._accepted = CALIBRATION_DECAY * self._accepted + accepted
        self.calibration = min(1.0, self._accepted / self._expected)
        if accepted:
            self._idle = 0

    def count_idle(self) -> None:
        """Count a step awake in which nothing was worth verifying."""
        self._idle += 1
