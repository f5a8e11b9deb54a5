"""Sums told in words, of one or two steps, with somebody's own things."""

from __future__ import annotations

from dataclasses import dataclass

from assets.recipe import words
from assets.recipe.checks import ends_with_number
from assets.recipe.conversation import Exchange
from assets.recipe.draw import Draw
from assets.recipe.skills.sums import work
from assets.recipe.wording import read_wording

_WORDING = read_wording("word_problems")


@dataclass(frozen=True)
class Problem:
    """A story with numbers a, b (and c), the signs between them, and what the result counts."""

    story: str
    signs: str
    answer: str


_PROBLEMS = (
    Problem("{n} has {a} {o} and [buys|gets|finds|is given] {b} more. How many {o} does {n} have[ now|]?",
            "+",
            "{n} has {r} {o}."),
    Problem("There are {a} {o} in one box and {b} in another. How many {o} are there [altogether|in all|in "
            "total]?", "+",
            "There are {r} {o}."),
    Problem("{n} [collects|picks|counts] {a} {o} on Monday and {b} on Tuesday. How many is that?", "+",
            "That is {r} {o}."),
    Problem("{n} has {a} {o}. {m} has {b}. How many do they have together?", "+",
            "Together they have {r} {o}."),
    Problem("A shop sold {a} {o} in the morning and {b} in the afternoon. How many {o} did it sell?", "+",
            "It sold {r} {o}."),
    Problem("{n} is {a} years old. How old will {n} be in {b} years?", "+", "{n} will be {r}."),
    Problem("{n} has {a} {o} and gives {b} to {m}. How many [are left|{o} are left|does {n} still have]?",
            "-",
            "{n} has {r} {o} left."),
    Problem("There were {a} {o} on the table. {n} took {b}. How many are [still there|left]?", "-",
            "There are {r} {o} left."),
    Problem("{n} [loses|sells|gives away] {b} of {a} {o}. How many are left?", "-",
            "There are {r} {o} left."),
    Problem("{n} has {a} {o} and {m} has {b}. How many more does {n} have?", "-", "{n} has {r} more."),
    Problem("A book has {a} pages. {n} has read {b}. How many pages are left?", "-",
            "There are {r} pages left."),
    Problem("A train carries {a} people and {b} get off. How many stay on?", "-",
            "{r} people stay on the train."),
    Problem("{n} buys {a} boxes with {b} {o} in each. How many {o} is that?", "×", "That is {r} {o}."),
    Problem("One ticket costs {b} euros. How much do {a} tickets cost?", "×", "They cost {r} euros."),
    Problem("There are {a} rows of {b} {o}. How many {o} are there?", "×", "There are {r} {o}."),
    Problem("{n} reads {b} pages a day. How many pages are that in {a} days?", "×", "That is {r} pages."),
    Problem("Each of {a} children gets {b} {o}. How many {o} [are needed|do we need]?", "×",
            "{r} {o} are needed."),
    Problem("{n} shares {a} {o} among {b} friends. How many does each get?", "/", "Each gets {r} {o}."),
    Problem("{a} {o} go into boxes of {b}. How many boxes are needed?", "/", "{r} boxes are needed."),
    Problem("{n} pays {a} euros for {b} tickets. What does one ticket cost?", "/",
            "One ticket costs {r} euros."),
    Problem("{n} has {a} {o}, [buys|finds] {b} more and gives {c} to {m}. How many are left?", "+-",
            "{n} has {r} {o} left."),
    Problem("{n} has {a} {o}, gives away {b} and then gets {c}. How many does {n} have now?", "-+",
            "{n} has {r} {o} now."),
    Problem("A bus has {a} passengers. {b} get off and {c} get on. How many are on the bus now?", "-+",
            "There are {r} passengers on the bus."),
    Problem("{n} saves {a} euros, then {b} euros, then {c} euros. How much is that?", "++",
            "That is {r} euros."),
    Problem("{n} buys {a} bags with {b} {o} each and already has {c}. How many {o} does {n} have?", "×+",
            "{n} has {r} {o}."),
    Problem("{n} buys {a} boxes of {b} {o} and gives {c} {o} to {m}. How many are left?", "×-",
            "{n} has {r} {o} left."),
    Problem("{a} tables have {b} chairs each, and {c} chairs stand in the hall. How many chairs are there?",
            "×+",
            "There are {r} chairs."),
    Problem("{n} bakes {a} {o}, eats {b} and sells {c}. How many are left?", "--", "{r} {o} are left."),
)  # fmt: skip
_OPEN = ("", "", "", "[First|Let us see]: ", "Step by step: ", "We have ")


def _numbers(draw: Draw, signs: str) -> list[int]:
    """Numbers for which every step stays whole and not negative."""
    while True:
        if signs[0] == "/":
            b, r = draw.numbers((2, 12), (2, 12))
            return [b * r, b]
        top = 12 if signs[0] == "×" else draw.any((20, 60, 99))
        drawn = draw.numbers(*[(2, top)] * (len(signs) + 1))
        if all(value >= 1 for value in _results(drawn, signs)):
            return drawn


def _results(drawn: list[int], signs: str) -> list[int]:
    so_far, found = drawn[0], []
    for sign, number in zip(signs, drawn[1:], strict=False):
        so_far = work(so_far, number, sign)[1]
        found.append(so_far)
    return found


def _worked(drawn: list[int], signs: str) -> str:
    lines, so_far = [], drawn[0]
    for sign, number in zip(signs, drawn[1:], strict=False):
        line, so_far = work(so_far, number, sign)
        lines.append(line)
    return ". Then ".join(lines)


def compose(draw: Draw) -> list[Exchange]:
    """A problem, and perhaps the same one with another number."""
    stories = draw.side([problem.story for problem in _PROBLEMS])
    problem = draw.any([problem for problem in _PROBLEMS if problem.story in stories])
    name, other = draw.words(words.NAMES, 2)
    fields: dict[str, object] = {"n": name, "m": other, "o": draw.any(words.OBJECTS)}
    drawn = _numbers(draw, problem.signs)
    exchanges = [_exchange(draw, problem, drawn, fields, None)]
    if draw.chance(0.2) and problem.signs in ("+", "×", "++", "×+"):
        (x,) = draw.numbers((2, 12) if "×" in problem.signs else (2, 99))
        ask = draw.ask(_WORDING["with"], x=x, a=drawn[0])
        exchanges.append(_exchange(draw, problem, [x, *drawn[1:]], fields, ask))
    return exchanges


def _exchange(draw: Draw, problem: Problem, drawn: list[int], fields: dict[str, object], ask: str | None) -> Exchange:
    result = _results(drawn, problem.signs)[-1]
    filled = {**fields, **dict(zip("abc", drawn, strict=False)), "r": result}
    question = ask or draw.ask([problem.story], **filled)
    reply = draw.expand(draw.any(_OPEN)) + _worked(drawn, problem.signs) + ". " + problem.answer.format(**filled)
    return Exchange(question, reply, ends_with_number(result), ask is not None)
