"""Queue of races: methods, questions and score; the chat starts one after the other."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

from lade_chat.presentation.methods import LOOKAHEAD, PLAIN, in_force, title
from lade_chat.presentation.race_outcome import Score
from lade_chat.protocol.commands import Compare
from lade_chat.protocol.events import ComparisonFinished, ReplyFinished
from lade_chat.protocol.values import DecodingOptions, Message, MethodSpec, Statistics
from lade_chat.suites.prompts import bundled_suites, choose

SUITE_PROMPTS = 10
"""Limit on the questions of a suite that is raced over, so that it ends while somebody looks on."""


_LEFT, _RIGHT = MethodSpec(LOOKAHEAD), MethodSpec(PLAIN)


class Race(NamedTuple):
    """One race: what is asked, and whether from empty tables, as in a suite."""

    question: str
    messages: tuple[Message, ...]
    fresh: bool = False


@dataclass(frozen=True)
class Races:
    """The queue of races, the chosen methods of both sides, and the score over a suite."""

    left: MethodSpec = _LEFT
    right: MethodSpec = _RIGHT
    current: Race | None = None
    score: Score | None = None
    suite: str = ""
    total: int = 0
    stopped: bool = False
    waiting: tuple[Race, ...] = ()
    ends: tuple[tuple[str, Statistics], ...] = ()
    """The sides of the current race that have ended, each with its statistics."""

    def titles(self, options: DecodingOptions) -> tuple[str, str]:
        """Names of the two sides."""
        return title(in_force(self.left, options.sizes)), title(in_force(self.right, options.sizes))

    def single(self, race: Race) -> Races:
        """Return the queue of this race alone, which is not counted."""
        return Races(self.left, self.right, race)

    def over_suite(self, name: str, system: str | None) -> Races:
        """Return the queue of a race for every question of a bundled suite."""
        (suite,) = choose(bundled_suites(), [name], SUITE_PROMPTS)
        before = (Message("system", system),) if system else ()
        questions = [question.turns[0] for question in suite.questions]
        first, *later = (Race(each, (*before, Message("user", each)), fresh=True) for each in questions)
        return Races(self.left, self.right, first, Score(), name, len(questions), waiting=tuple(later))

    def command(self, options: DecodingOptions) -> Compare:
        """Command for the engine that runs the current race."""
        assert self.current is not None
        return Compare(self.current.messages, options, self.left, self.right, fresh=self.current.fresh)

    def after(self, event: ReplyFinished | ComparisonFinished, *, stopped: bool) -> Races:
        """Return the queue after an end; the result counts if it belongs to a suite and was not stopped."""
        if isinstance(event, ReplyFinished):
            return replace(self, ends=(*self.ends, (event.side, event.statistics)))
        if stopped:
            return self.given_up()
        sides = dict(self.ends)
        if self.score is None or len(sides) < 2:
            return self
        score = replace(self.score)
        score.add(event, sides["left"], sides["right"])
        return replace(self, score=score)

    def next(self) -> Races | None:
        """Return the queue at the suite's next question; None if there is none."""
        return replace(self, current=self.waiting[0], waiting=self.waiting[1:], ends=()) if self.waiting else None

    def given_up(self) -> Races:
        """Return the queue without the remaining races."""
        return replace(self, waiting=(), stopped=True)

    def heading(self) -> str:
        """The number of this race and its suite, after a stop how many were run; empty for a single race."""
        if self.score is None:
            return ""
        number = self.score.races if self.stopped else self.total - len(self.waiting)
        score = f" · {self.score.line()}" if self.score.races else ""
        return f"{self.suite} {number}/{self.total}{score}"
