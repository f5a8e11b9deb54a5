"""The outcome of a race, and of several, in words: who is faster, and where nobody is."""

from __future__ import annotations

from functools import partial

import pytest
from msgspec.structs import replace

from lade_chat.presentation.race_outcome import Score, outcome, unverified
from lade_chat.protocol.events import ComparisonFinished
from lade_chat.protocol.values import MethodSpec, Statistics


def test_a_score_adds_up_tokens_and_time() -> None:
    score = Score()
    side = partial(Statistics, generated_tokens=100)
    score.add(ComparisonFinished(2.0, identical=True), side(seconds=1.0), side(seconds=2.0))
    score.add(ComparisonFinished(0.5, identical=False), side(seconds=3.0), side(seconds=1.5))
    assert (score.races, score.left_wins, score.right_wins, score.identical) == (2, 1, 1, 1)
    assert score.speedup == pytest.approx(3.5 / 4.0)


def test_guesses_that_were_wrong_are_told_from_those_that_were_not_checked() -> None:
    plain = Statistics(steps=40, generated_tokens=40, method=MethodSpec("plain"))
    side = Statistics(lookahead=True, steps=40, generated_tokens=40, resting_steps=40, method=MethodSpec("lookahead"))
    assert unverified(["A", "B"], [side, plain]) == ["A verified nothing: no guess promised to save time here"]
    wrong = replace(side, guessing_steps=2)
    assert unverified(["A", "B"], [wrong, plain]) == [
        "A verified nothing: none of the guesses that 2 steps checked was right"
    ]


def test_a_hair_is_no_victory() -> None:
    assert outcome(1.01, "a", "b") == "a and b are even (1.01x)"
    assert outcome(1.0, "a", "b", (2.48, 2.49)) == "a and b are even (1.00x: 2.48 s and 2.49 s)"
    assert outcome(0.5, "a", "b") == "b is 2.00x as fast as a"
    assert outcome(0.5, "a", "b", (2.0, 1.0)) == "b is 2.00x as fast as a (1.00 s against 2.00 s)"
    assert Score().lines("a", "b") == ["no race was finished"]


def test_equal_work_has_no_winner_whatever_the_clocks_say() -> None:
    def side(name: str, steps: int = 51, guessing: int = 0) -> Statistics:
        return Statistics(steps=steps, guessing_steps=guessing, method=MethodSpec(name))

    def told(speedup: float, *sides: Statistics) -> str:
        return outcome(speedup, "lookahead", "plain", sides=sides)

    same = "lookahead and plain took 51 steps each, so neither is faster: 1.99x is noise"
    assert told(1.99, side("lookahead", guessing=9), side("plain")) == same
    assert told(1 / 1.99, side("lookahead"), side("plain")) == same
    # Wrong guesses take time, fewer steps save it, and transformers' steps are others than ours.
    assert "plain is 1.25x as fast" in told(0.8, side("lookahead", guessing=9), side("plain"))
    assert "lookahead is 1.99x as fast" in told(1.99, side("lookahead", 40, 9), side("plain"))
    assert "lookahead is 1.99x as fast" in told(1.99, side("plain"), side("hf-generate"))
    score = Score()
    score.add(ComparisonFinished(1.99, identical=True), side("lookahead"), side("plain"))
    assert (score.races, score.left_wins, score.right_wins) == (1, 0, 0)


def test_a_score_of_even_races_alone_is_even_whatever_the_clocks_say() -> None:
    score = Score()
    plain = Statistics(generated_tokens=51, steps=51, method=MethodSpec("plain"))
    left, right = replace(plain, seconds=1.0, method=MethodSpec("lookahead")), replace(plain, seconds=2.0)
    score.add(ComparisonFinished(2.0, identical=True), left, right)
    assert score.line() == "score 0 : 0 in 1 race · even · 1 identical"
    assert score.lines("a", "b")[0] == "a and b are even, over 1 race"
    score.add(ComparisonFinished(2.0, identical=True), replace(left, steps=40, guessing_steps=9), right)
    assert score.line() == "score 1 : 0 in 2 races · 2.00x over all · 2 identical"
