"""The outcome of a race in words, and the score of several."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from lade_chat.presentation.methods import OWN_METHODS
from lade_chat.presentation.metric_words import counted, exactness, seconds
from lade_chat.presentation.sanitize import printable
from lade_chat.protocol.events import ComparisonFinished
from lade_chat.protocol.values import Side, Statistics

EVEN = 0.02
"""Sides within this share of one another are called even, since clocks are no more accurate."""


def winner(speedup: float, sides: Sequence[Statistics] = ()) -> Side | None:
    """Return the faster side; None if they are even, or differ by noise alone.

    ``speedup``: the right side's seconds by the left's. ``sides``: the statistics of both, if they are known.
    """
    if speedup <= 0 or abs(speedup - 1) <= EVEN:
        return None
    first: Side = "left" if speedup > 1 else "right"
    if sides and all(side.method is not None and side.method.name in OWN_METHODS for side in sides):
        ahead, behind = sides if first == "left" else reversed(sides)
        if ahead.steps == behind.steps and not behind.guessing_steps:
            return None  # both did the same work: as many steps, those of the side behind over one token each
    return first


def outcome(
    speedup: float, left: str, right: str, times: tuple[float, float] | None = None, sides: Sequence[Statistics] = ()
) -> str:
    """Name the :func:`winner`: ``lookahead is 1.52x as fast as plain decoding``; told with the ``times`` of both."""
    if speedup <= 0:
        return "no time was measured"
    told = [seconds(each) for each in times or ()]
    first = winner(speedup, sides)
    if first is None and winner(speedup) is not None:
        difference = " against ".join(told) or f"{max(speedup, 1 / speedup):.2f}x"
        return (
            f"{left} and {right} took {counted(sides[0].steps, 'step')} each, so neither is faster:"
            f" {difference} is noise"
        )
    if first is None:
        return f"{left} and {right} are even ({speedup:.2f}x" + (f": {' and '.join(told)})" if told else ")")
    if first == "right":
        left, right, speedup = right, left, 1 / speedup
        told.reverse()
    return f"{left} is {speedup:.2f}x as fast as {right}" + (f" ({' against '.join(told)})" if told else "")


STOPPED = "stopped before the end, so there is no winner"


def lead(titles: Sequence[str], sides: Sequence[Statistics], finished: Sequence[bool], *, stopped: bool) -> str:
    """Return who is ahead; of a race that was ``stopped``, who was. ``finished``: whether a side ended by itself."""
    counts = [side.generated_tokens for side in sides]
    ahead = 0 if counts[0] >= counts[1] else 1
    by = counted(abs(counts[0] - counts[1]), "token")
    if finished[ahead]:
        return f"{titles[ahead]} {'had' if stopped else 'has'} finished, {by} ahead"
    if counts[0] == counts[1]:
        return "neck and neck"
    if stopped:
        return f"{titles[ahead]} led by {by}"
    return f"{titles[ahead]} leads by {by} at {seconds(sides[ahead].seconds)}"


def unverified(titles: Sequence[str], sides: Sequence[Statistics]) -> list[str]:
    """A line for each side whose automatic sizes verified no token: it says whether any was checked."""
    lines = []
    for title, side in zip(titles, sides, strict=True):
        if side.is_held_back and not side.verified_tokens:
            none = f"none of the guesses that {counted(side.guessing_steps, 'step')} checked was right"
            why = none if side.guessing_steps else "no guess promised to save time here"
            lines.append(f"{title} verified nothing: {why}")
    return lines


def sameness(finished: ComparisonFinished, dtype: str) -> str:
    """Say whether the texts are identical; if not, where they part and how near the tie was."""
    if finished.identical:
        return "the texts are identical"
    difference = finished.difference
    if difference is None:
        return "the texts differ"
    left, right = (printable(text).replace("\n", "↵") for text in (difference.left, difference.right))
    where = f"first difference at token {difference.index + 1}: “{left}” left, “{right}” right"
    near = "" if difference.gap is None else f"; {nearness(abs(difference.gap))}"
    return f"{where}{near} ({exactness(dtype)[-1]})"


def nearness(gap: float) -> str:
    """Say how near two tokens were, whose logits are ``gap`` apart: how much likelier that makes one of them."""
    likelier = "over twice as likely as" if gap > math.log(2) else f"{100 * math.expm1(gap):.2g} % likelier than"
    return f"their logits are {gap:.3g} apart: one is {likelier} the other" if gap else "their logits are equal"


@dataclass
class Score:
    """Several races between the same two sides, added up."""

    races: int = 0
    left_wins: int = 0
    right_wins: int = 0
    identical: int = 0
    left_seconds: float = 0.0
    right_seconds: float = 0.0
    left_tokens: int = 0
    right_tokens: int = 0

    def add(self, finished: ComparisonFinished, left: Statistics, right: Statistics) -> None:
        """Count a finished race with the statistics of its sides."""
        first = winner(finished.speedup, (left, right))
        self.races += 1
        self.left_wins += first == "left"
        self.right_wins += first == "right"
        self.identical += finished.identical
        self.left_seconds += left.seconds
        self.right_seconds += right.seconds
        self.left_tokens += left.generated_tokens
        self.right_tokens += right.generated_tokens

    @property
    def speedup(self) -> float:
        """The left side's tokens per second over the right side's, over all races."""
        if not (self.left_seconds and self.right_tokens and self.right_seconds):
            return 0.0
        return (self.left_tokens / self.left_seconds) / (self.right_tokens / self.right_seconds)

    @property
    def is_even(self) -> bool:
        """True if neither side has won a race: then their times differ only by noise."""
        return not self.left_wins and not self.right_wins

    def line(self) -> str:
        """``score 7 : 2 in 10 races · 1.31x over all · 10 identical``."""
        speedup = "even" if self.is_even else f"{self.speedup:.2f}x over all"
        return (
            f"score {self.left_wins} : {self.right_wins} in {counted(self.races, 'race')}"
            f" · {speedup} · {self.identical} identical"
        )

    def lines(self, left: str, right: str) -> list[str]:
        """The final score, line by line."""
        if not self.races:
            return ["no race was finished"]
        faster = f"{left} and {right} are even" if self.is_even else outcome(self.speedup, left, right)
        return [
            f"{faster}, over {counted(self.races, 'race')}",
            f"won by {left}: {self.left_wins} · by {right}: {self.right_wins}"
            f" · even: {self.races - self.left_wins - self.right_wins}",
            f"time: {seconds(self.left_seconds)} and {seconds(self.right_seconds)}"
            f" · identical texts: {self.identical} of {self.races}",
        ]
