"""Queue of races: methods, questions and score; the chat starts one after the other."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

from lade_chat.presentation.comparison import Score
from lade_chat.presentation.methods import LOOKAHEAD, PLAIN, in_force, title
from lade_chat.protocol.commands import Compare
from lade_chat.protocol.events import ComparisonFinished, ReplyFinished
from lade_chat.protocol.values import DecodingOptions, Message, MethodSpec, Side
from lade_chat.suites.prompts import bundled_suites, choose

SUITE_PROMPTS = 10
"""Limit on the questions of a suite that is raced over, so that it ends while somebody looks on."""


class Race(NamedTuple):
    """One race: what is asked, and whether from empty tables, as in a suite."""

    question: str
    messages: tuple[Message, ...]
    fresh: bool = False


class Races:
    """The queue of races, the chosen methods of both sides, and the score over a suite."""

    def __init__(self) -> None:
        self.left, self.right = MethodSpec(LOOKAHEAD), MethodSpec(PLAIN)
        self.current: Race | None = None
        self.score: Score | None = None
        self.suite = ""
        self.total = 0
        self.stopped = False
        self._waiting: deque[Race] = deque()
        self._ends: dict[Side, ReplyFinished] = {}

    def titles(self, options: DecodingOptions) -> tuple[str, str]:
        """Names of the two sides."""
        return title(in_force(self.left, options.sizes)), title(in_force(self.right, options.sizes))

    def single(self, race: Race) -> None:
        """Begin a single race, which is not counted."""
        self.current, self.score, self.suite, self.total, self.stopped = race, None, "", 0, False
        self._waiting.clear()

    def over_suite(self, name: str, system: tuple[Message, ...]) -> None:
        """Queue a race for every question of a bundled suite."""
        (suite,) = choose(bundled_suites(), [name], SUITE_PROMPTS)
        questions = [question.turns[0] for question in suite.questions]
        self._waiting = deque(Race(each, (*system, Message("user", each)), fresh=True) for each in questions)
        self.score, self.suite, self.total, self.stopped = Score(), name, len(questions), False
        self.current = self._waiting.popleft()

    def command(self, options: DecodingOptions) -> Compare:
        """Command for the engine that runs the current race."""
        assert self.current is not None
        self._ends.clear()
        return Compare(self.current.messages, options, self.left, self.right, fresh=self.current.fresh)

    def ended(self, event: ReplyFinished | ComparisonFinished, *, stopped: bool) -> None:
        """Add the race's result to the score, if it belongs to a suite and was not stopped."""
        if isinstance(event, ReplyFinished):
            self._ends[event.side] = event
            return
        if stopped:
            self.give_up()
        elif self.score is not None and len(self._ends) == 2:
            self.score.add(event, self._ends["left"].statistics, self._ends["right"].statistics)

    def next(self) -> bool:
        """Go on to the suite's next question; False if there is none."""
        if not self._waiting:
            return False
        self.current = self._waiting.popleft()
        return True

    def give_up(self) -> None:
        """Drop the remaining races."""
        self._waiting.clear()
        self.stopped = True

    @property
    def last(self) -> bool:
        """True for the last race of the queue."""
        return not self._waiting

    def heading(self) -> str:
        """The number of this race and its suite, after a stop how many were run; empty for a single race."""
        if self.score is None:
            return ""
        number = self.score.races if self.stopped else self.total - len(self._waiting)
        score = f" · {self.score.line()}" if self.score.races else ""
        return f"{self.suite} {number}/{self.total}{score}"
