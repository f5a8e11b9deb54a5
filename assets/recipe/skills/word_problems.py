"""Sums told in words, of one or two steps, with somebody's own things.

The stories are text: `sign: story => what the result is`. The story's fields are the numbers {a}, {b} and {c} in
the order of the sum, the names {n} and {m}, the things {o} and {p}, one such thing {s}, and a town {t}. A number
written after a sign is the story's own ("a week" is ×7), and `to 30` in front of the colon keeps numbers small.

Beside the stories that are split between training and evaluation there are varied ones for training alone, of which
each line stands for hundreds: a model this small learns a sum's words, not its sense, unless they keep changing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from assets.recipe import words
from assets.recipe.conversation import Exchange, ends_with_numbers
from assets.recipe.draw import Draw
from assets.recipe.skills.clauses import ONE_STEP, TWO_STEPS, composed
from assets.recipe.skills.sums import work, worked
from assets.recipe.words import read_wording, spelled

_WORDING, _STEPS = read_wording("follow_ups"), read_wording("steps")
_ONE, _TWO = (tuple(plan for plan in _STEPS if ("," in plan) == long) for long in (False, True))
_STEP = re.compile(r"([-+×/])(\d*)")
_TOPS = (20, 60, 99)
_EATEN = re.compile(r"\b(eats?|ate|eaten|bakes?|baked|dozen)\b")
_FOOD = tuple(_WORDING["food"][0].split())
_WOMEN = {"Ruth", "Grace", "Ines", "Iris", "Kate", "Lily", "Lucy", "Zoe"} | {
    name for name in words.NAMES[:100] if name.endswith("a")
}


@dataclass(frozen=True)
class Problem:
    """A story, the signs between its numbers (and its own number after a sign), and what the result is."""

    story: str
    signs: str
    answer: str
    own: tuple[int | None, ...] = ()
    top: int | None = None


def _read(name: str) -> tuple[Problem, ...]:
    """The problems of a file of stories, in the file's order."""
    found = []
    for key, phrases in read_wording(name).items():
        signs, _, top = key.partition(" to ")
        steps = _STEP.findall(signs)
        own = tuple(int(number) if number else None for _, number in steps)
        for phrase in phrases:
            story, _, answer = phrase.partition(" => ")
            joined = "".join(sign for sign, _ in steps)
            found.append(Problem(story, joined, answer, own, int(top) if top else None))
    return tuple(found)


_PROBLEMS = _read("word_problems")
_TWO_STEPS = _read("two_steps")
_PROBLEMS_VARIED = _read("word_problems_varied")
_TWO_STEPS_VARIED = _read("two_steps_varied")
_COMPOSED_SHARE = 0.55
_VARIED_SHARE = 0.5


def one_of(things: str) -> str:
    """The singular of a word of words.OBJECTS."""
    return things[:-2] if things.endswith(("ches", "xes", "toes")) else things[:-1]


def _told(problem: Problem) -> list[int]:
    """Locate the numbers of the sum that the story is told with, not its own."""
    return [0, *(at for at, own in enumerate(problem.own, 1) if own is None)]


def _ranges(draw: Draw, problem: Problem) -> list[tuple[int, int]]:
    """The range of each number: times and parts stay small."""
    signs = problem.signs
    top = problem.top or draw.any(_TOPS)
    if len(signs) > 1 and any(sign in signs for sign in "×/"):
        top = problem.top or 20
    small = 6 if signs == "××" else 12
    ranges = [(2, top if signs[0] in "+-" else small if signs[0] == "×" else 99)]
    for sign, own in zip(signs, problem.own, strict=True):
        ranges.append((own, own) if own else (2, top if sign in "+-" else small))
    if signs == "×" and not problem.own[0] and draw.chance(0.3):
        ranges[1] = (2, 40)
    if signs == "×" and problem.own[0]:
        ranges[0] = (2, 20)
    return ranges


def _numbers(draw: Draw, problem: Problem) -> list[int]:
    """Numbers for which the sum comes out."""
    ranges = _ranges(draw, problem)
    while True:
        drawn = draw.numbers(*ranges)
        if problem.signs[0] == "/":
            # Drawn the other way round, from what each part is.
            drawn[0] = drawn[1] * (2 + drawn[0] % (19 if len(drawn) == 2 and drawn[1] < 10 else 11))
        if _worked(drawn, problem.signs):
            return drawn


def _worked(drawn: list[int], signs: str) -> tuple[str, int] | None:
    """The steps and what they come to; None if one does not stay whole or comes to less than two."""
    lines, so_far = [], drawn[0]
    for sign, number in zip(signs, drawn[1:], strict=True):
        if sign == "/" and so_far % number:
            return None
        line, so_far = work(so_far, number, sign)
        if so_far < 2:
            return None
        lines.append(line)
    return ". Then ".join(lines), so_far


def fields(draw: Draw, story: str) -> dict[str, object]:
    """The story's names and things; no thing that the story speaks of anyway."""
    name, other = draw.names(2)
    pool = _FOOD if _EATEN.search(story) else words.OBJECTS
    things = [thing for thing in pool if one_of(thing) not in story]
    if "a {s}" in story.lower():
        things = [thing for thing in things if words.article(thing).startswith("a ")]
    thing, second = draw.rng.sample(things, 2)
    her = name in _WOMEN or (name not in words.NAMES[:100] and draw.chance(0.5))
    return {
        "n": name, "h": "she" if her else "he", "H": "She" if her else "He", "him": "her" if her else "him",
        "m": other, "o": thing, "p": second, "s": one_of(thing), "t": draw.any(words.CITIES),
    }  # fmt: skip


def compose(draw: Draw) -> list[Exchange]:
    """A problem of one step, and perhaps the same one with another number or something after it."""
    return respelled(draw, _planned(draw, _ONE) if draw.chance(0.4) else _compose(draw, _PROBLEMS, _PROBLEMS_VARIED))


def compose_two_steps(draw: Draw) -> list[Exchange]:
    """A problem of two steps or three, and perhaps the same one with another number or something after it."""
    return respelled(draw, _planned(draw, _TWO) if draw.chance(0.5) else _compose(draw, _TWO_STEPS, _TWO_STEPS_VARIED))


def _planned(draw: Draw, plans: tuple[str, ...]) -> list[Exchange]:
    """A problem whose steps are no chain, or one of one step, of the stories that training alone has."""
    plan = draw.any(plans)
    story, _, answer = draw.expand(draw.any(draw.side(_STEPS[plan]))).partition(" => ")
    if any(name in plan and f"{{{name}}}" not in story for name in "abcd"):
        return _planned(draw, plans)
    while True:
        a, b, c, d = draw.numbers((2, draw.any((12, 40, 99))), (2, 12), (2, draw.any((12, 12, 60))), (2, 9))
        first = plan.split(", ")[0]
        a = draw.whole(2, 20) if first[1] == "×" else b * draw.whole(2, 20) if first == "a/b" else a
        c = draw.whole(20, 150) if plan.split(", ")[-1][0] == "c" else c
        if done := worked(plan, {"a": a, "b": b, "c": c, "d": d}):
            break
    given = fields(draw, story)
    verb, _, what = answer.format(**given).partition(" ")
    numbers = dict(zip("abcd", (a, b, c, d), strict=True))
    told = _in_words(draw, numbers)
    if story.startswith("{a}"):
        told["a"] = told["a"].capitalize()
    ask = draw.ask([story], **given, **told)
    reply = f"{_listed(story, numbers)}{done[0]}. That {verb} {done[1]} {what}."
    return [Exchange(ask, reply, ends_with_numbers(done[1]))]


def _listed(story: str, numbers: dict[str, int]) -> str:
    """Begin a reply with the story's numbers in its own order: what is read first is copied safely later."""
    told = sorted((story.find(f"{{{name}}}"), number) for name, number in numbers.items() if f"{{{name}}}" in story)
    return f"Numbers: {', '.join(str(number) for _, number in told)}. " if told else ""


def _in_words(draw: Draw, numbers: dict[str, int]) -> dict[str, str]:
    """The numbers as the story tells them: in digits, or now and then the small ones or all of them in letters."""
    top = draw.any((0, 0, 0, 0, 0, 13, 100))
    return {name: spelled(number) if number < top else str(number) for name, number in numbers.items()}


def respelled(draw: Draw, exchanges: list[Exchange]) -> list[Exchange]:
    """The exchanges, half of the time with dollars, and with meters as Americans write them."""
    dollars, meters, sign = draw.chance(0.5), draw.chance(0.5), draw.chance(0.25)

    def changed(text: str) -> str:
        text = text.replace("euro", "dollar").replace("Euro", "Dollar") if dollars else text
        return text.replace("metre", "meter").replace("litre", "liter") if meters else text

    def short(ask: str) -> str:
        return re.sub(r"\b(\d+) (dollars|euros)\b", r"$\1" if dollars else r"€\1", ask) if sign else ask

    others = [replace(one, ask=short(changed(one.ask)), reply=changed(one.reply)) for one in exchanges]
    return [new if new.check and new.check(new.reply) else one for one, new in zip(exchanges, others, strict=True)]


def _problem(draw: Draw, problems: tuple[Problem, ...], varied: tuple[Problem, ...]) -> Problem:
    if not draw.held_out and draw.chance(_COMPOSED_SHARE):
        signs = draw.any(ONE_STEP if problems is _PROBLEMS else TWO_STEPS)
        story, answer = composed(draw, signs)
        return Problem(story, signs, answer, (None,) * len(signs))
    if not draw.held_out and draw.chance(_VARIED_SHARE):
        signs = draw.any(sorted({problem.signs for problem in varied}))
        problem = draw.any([problem for problem in varied if problem.signs == signs])
        return replace(problem, story=" ".join(draw.expand(problem.story).split()))
    stories = set(draw.side([problem.story for problem in problems]))
    return draw.any([problem for problem in problems if problem.story in stories])


def _compose(draw: Draw, problems: tuple[Problem, ...], varied: tuple[Problem, ...]) -> list[Exchange]:
    problem = _problem(draw, problems, varied)
    given = fields(draw, problem.story)
    drawn = _numbers(draw, problem)
    shown = _in_words(draw, _by_letter(problem, drawn))
    if problem.story.startswith("{a}"):
        shown["a"] = shown["a"].capitalize()
    ask = draw.ask([problem.story], **given, **shown)
    exchanges = [_exchange(problem, drawn, given, ask)]
    turn = draw.rng.random()
    if turn < 0.2:
        exchanges += _with_another(draw, problem, drawn, given)
    elif turn < 0.27 and problem.answer.startswith(("makes {o}", "leaves {o}")):
        exchanges += _after_that(draw, problem, drawn, given)
    return exchanges


def _exchange(problem: Problem, drawn: list[int], fields: dict[str, object], ask: str, later: bool = False) -> Exchange:
    worked, result = _worked(drawn, problem.signs) or ("", 0)
    verb, _, what = problem.answer.format(**fields).partition(" ")
    told = _listed(problem.story, _by_letter(problem, drawn))
    return Exchange(ask, f"{told}{worked}. That {verb} {result} {what}.", ends_with_numbers(result), later)


def _by_letter(problem: Problem, drawn: list[int]) -> dict[str, int]:
    return dict(zip("abc", (drawn[at] for at in _told(problem)), strict=False))


def _with_another(draw: Draw, problem: Problem, drawn: list[int], fields: dict[str, object]) -> list[Exchange]:
    """The same story, one of its numbers changed, if the sum comes out."""
    at = draw.any(_told(problem))
    other = _numbers(draw, problem)[at]
    changed = [*drawn[:at], other, *drawn[at + 1 :]]
    if not _worked(changed, problem.signs) or other == drawn[at] or drawn.count(drawn[at]) > 1:
        return []
    return [_exchange(problem, changed, fields, draw.ask(_WORDING["with"], x=other, a=drawn[at]), True)]


def _after_that(draw: Draw, problem: Problem, drawn: list[int], fields: dict[str, object]) -> list[Exchange]:
    """A few more, or fewer, than the story came to."""
    result = (_worked(drawn, problem.signs) or ("", 0))[1]
    sign, name, verb = draw.any((("+", "more", "makes"), ("-", "fewer", "leaves")))
    _, x = draw.numbers((result, result), (2, 20))
    after = Problem("", sign, f"{verb} {problem.answer.partition(' ')[2]}")
    if not _worked([result, x], sign):
        return []
    return [_exchange(after, [result, x], fields, draw.ask(_WORDING[name], x=x), True)]
