"""Sums told in words, of one step or several, with somebody's own things.

The stories are text: `signs: story => what the result is`. The story's fields are the numbers {a}, {b} and {c} in
the order of the sum, the names {n} and {m}, the things {o} and {p}, one such thing {s}, a town {t}, a vehicle {v} or
some {vs}, what holds things, {k} or {ks}, and a time, {z} or {zs}. A number written after a sign is the story's own ("a
week" is ×7), and `to 30` in front of the colon keeps numbers small. In place of the signs a plan such as `a×b, c-x` may
stand, as arithmetic.worked has it, with {w} for a number of days that is told as "Monday to Friday", {e} for a dozen.

Beside the stories that are split between training and evaluation there are varied ones for training alone, of which
each line stands for hundreds: a model this small learns a sum's words, not its sense, unless they keep changing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

from assets.recipe import words
from assets.recipe.conversation import Exchange, ends_with_numbers
from assets.recipe.draw import Draw
from assets.recipe.skills.measures import told
from assets.recipe.skills.measures.clauses import ONE_STEP, PLANS, TWO_STEPS, composed, turned
from assets.recipe.skills.numbers.arithmetic import UNEVEN, worked
from assets.recipe.words import read_wording, spelled

_WORDING = read_wording("measures/follow_ups")
_LISTED = re.compile(r"<(\w+)>")
_STEP = re.compile(r"([-+×/⌈⌊%])(\d*)")
_LETTERS = "abcdew"
_DOZENS = {12: "a dozen", 6: "half a dozen"}
_TOPS = (20, 20, 60, 60, 99, 99, 200, 800)
_NOTES = (10, 20, 50, 100, 200, 500)
_EATEN = re.compile(r"\b(eats?|ate|eaten|bakes?|baked|dozen)\b")
_FOOD, _SPANS, _LENGTHS = (words.entries(_WORDING, name) for name in ("food", "spans", "lengths"))
_VEHICLES, _CONTAINERS = (words.pairs(_WORDING, name) for name in ("vehicles", "containers"))
_WOMEN = {*words.entries(_WORDING, "women"), *(name for name in words.NAMES[:100] if name.endswith("a"))}


@dataclass(frozen=True)
class Problem:
    """A story, the plan of its sum, what the result is, and the largest number it may have (0: any)."""

    story: str
    plan: str
    answer: str
    top: int = 0


def plan_of(signs: str) -> str:
    """The plan of a chain of signs: of `×7-` it is `a×7, x-b`."""
    if signs in PLANS:
        return PLANS[signs]
    if signs[0].isalpha():
        return signs
    letters = iter("bcd")
    steps = [f"{sign}{own or next(letters)}" for sign, own in _STEP.findall(signs)]
    return ", ".join(f"{'x' if at else 'a'}{step}" for at, step in enumerate(steps))


def _read(name: str) -> tuple[Problem, ...]:
    """The problems of a file of stories, in the file's order."""
    found = []
    for key, phrases in read_wording(f"measures/{name}").items():
        signs, _, top = key.partition(" to ")
        for story, _, answer in (phrase.partition(" => ") for phrase in phrases):
            found.append(Problem(story, plan_of(signs), answer, int(top or 0)))
    return tuple(found)


_STEPS = tuple(one for name in words.weighted(_WORDING, "files") for one in _read(name))
# By the number of steps that are meant: one, or two and more. Split stories, and those for training alone.
_POOLS = (
    (_read("word_problems"), tuple(one for one in _STEPS if "," not in one.plan)),
    (_read("two_steps"), tuple(one for one in _STEPS if "," in one.plan)),
    ((), _read("shapes")),
)
_STEPS_SHARES, _COMPOSED_SHARE, _FRAMED_SHARE = (0.6, 0.6, 1), 0.7, 0.12
_COUNTED = "|".join((*words.OBJECTS, *words.entries(_WORDING, "counted")))
_SINGLE = re.compile(rf"(=(?:1|one)\x02 )({_COUNTED})\b", re.IGNORECASE)


def one_of(things: str) -> str:
    """The singular of a word of words.OBJECTS."""
    return things[:-2] if things.endswith(("ches", "xes", "toes")) else things[:-1]


def _numbers(draw: Draw, problem: Problem) -> dict[str, int]:
    """Numbers for which the sum comes out: times and parts stay small, what is shared comes of its parts."""
    plan, steps = problem.plan, problem.plan.split(", ")
    small = f"×/{UNEVEN}"
    factors = {part for step in steps if step[1] in small for part in (step[0] * (step[1] == "×"), step[2])}
    factors |= {step[0] for step in steps if step[1:] == "+1"}
    top = problem.top or draw.any(_TOPS)
    while True:
        letters = sorted(name for name in _LETTERS if name in plan or f"{{{name}}}" in problem.story)
        tops = (7 if letter == "w" else (problem.top or 12) if letter in factors else top for letter in letters)
        drawn = draw.numbers(*((2, most) for most in tops))
        numbers = dict(zip(letters, drawn, strict=True))
        if draw.chance(0.4) and steps[0][1] == "×" and steps[0][2:] != steps[0][0]:
            numbers[steps[0][0]] = draw.whole(2, problem.top or draw.any((20, 40, 40, 250)))
        if steps[0][1] == "/":
            by = steps[0][2:]
            numbers[steps[0][0]] = (numbers[by] if by in numbers else int(by)) * draw.whole(2, 20)
        if (whole := steps[-1][0]) in "cd":
            numbers[whole] = draw.any((draw.whole(20, 200), draw.whole(20, 200), *_NOTES))
        if "w" in numbers and draw.chance(0.4):
            numbers["w"] = 5
        if "e" in numbers:
            numbers["e"] = draw.any((12, 12, 6))
        elif draw.chance(0.05) and not factors & {name := draw.any(letters), "w"}:
            numbers[name] = 1
        done = worked(plan, numbers)
        if done and (done[1] > 1 or "%" in plan):
            return numbers


def _own(problem: Problem) -> str:
    """The pattern of what the plan's own number is told as in the story, or nothing."""
    if own := re.search(r"[+×/](\d+)", problem.plan):
        ways = (*_WORDING.get(f"own {own[1]}", ()), *_WORDING.get(f"count {own[1]}", ()), own[1])
        return next((way for way in ways if re.search(rf"\b(?:{way})\b", problem.story, re.IGNORECASE)), "")
    return ""


def _days(draw: Draw, count: int) -> str:
    """So many days in a row by their names."""
    days = words.KINDS["days"]
    first = 0 if count == 5 and draw.chance(0.7) else draw.whole(0, 6)
    told = f"{days[first]} {draw.any(('to', 'to', 'to', 'until', 'till', 'through'))} {days[(first + count - 1) % 7]}"
    return told.lower() if draw.chance(0.25) else told


def fields(draw: Draw, story: str) -> dict[str, object]:
    """The story's names and things; no thing that the story speaks of anyway."""
    (name, other), vehicle, container = draw.names(2), draw.any(_VEHICLES), draw.any(_CONTAINERS)
    pool = _FOOD if _EATEN.search(story) else words.OBJECTS
    things = [thing for thing in pool if one_of(thing) not in story]
    if "a {s}" in story.lower():
        things = [thing for thing in things if words.article(thing).startswith("a ")]
    thing, second = draw.rng.sample(things, 2)
    her = name in _WOMEN or (name not in words.NAMES[:100] and draw.chance(0.5))
    return {
        "n": name, "h": "she" if her else "he", "H": "She" if her else "He", "him": "her" if her else "him",
        "m": other, "o": thing, "p": second, "s": one_of(thing), "t": draw.any(words.CITIES), "u": draw.any(_LENGTHS),
        "v": vehicle[0], "vs": vehicle[1], "k": container[0], "ks": container[1], "z": (span := draw.any(_SPANS)),
        "zs": f"{span}s",
    }  # fmt: skip


def _problem(draw: Draw, steps: int) -> Problem:
    """A problem of one of the pools, its choices settled; where it is new each time, no two are alike."""
    split, planned = _POOLS[steps]
    pool = planned
    if not draw.chance(_STEPS_SHARES[steps]):
        if not draw.held_out and draw.chance(_COMPOSED_SHARE):
            signs = draw.any(TWO_STEPS if steps else ONE_STEP)
            story, plan, answer = composed(draw, signs)
            return Problem(story, plan or plan_of(signs), answer)
        pool = split
    plans = [one.plan for one in pool]
    plan = draw.any(draw.any((*[plans] * 4, sorted(set(plans)))))
    some = [one for one in pool if one.plan == plan] if pool is not split else pool
    stories = set(draw.side([one.story for one in some]))
    problem = draw.any([one for one in some if one.story in stories])
    listed = _LISTED.sub(lambda found: f"[{'|'.join(words.entries(_WORDING, found[1]))}]", problem.story)
    story = " ".join(draw.expand(listed).split()) if pool is not split else problem.story
    story = turned(draw, story) if pool is not split and draw.chance(0.1) else story
    if all(f"{{{name}}}" in story for name in _LETTERS if name in problem.plan):
        return replace(problem, story=story, answer=_counted(problem, story))
    return _problem(draw, steps)


def _counted(problem: Problem, story: str) -> str:
    """The noun of the result: the one of the template's words for it that the story has, such as muffins for cakes."""
    verb, _, what = problem.answer.partition(" ")
    groups = (group.split("|") for group in re.findall(r"\[([a-z|]+)\]", problem.story))
    others = [one for group in groups if what in group and what not in story for one in group if f" {one}" in story]
    return f"{verb} {others[0]}" if others and others[0] else problem.answer


def compose(draw: Draw, steps: int = 0) -> list[Exchange]:
    """A problem of one step, of several (steps 1) or of a shape (2), and perhaps the same one with another number."""
    problem = _problem(draw, steps)
    story = told.marked(problem.story)
    if not draw.held_out and draw.chance(_FRAMED_SHARE):
        story = draw.expand(draw.any(_WORDING["frame"])).replace("STORY", story)
    given, numbers = fields(draw, problem.story), _numbers(draw, problem)
    top, often = draw.any((0, 0, 0, 0, 13, 13, 100)), draw.any((0.5, 1))
    shown = {name: str(number) for name, number in numbers.items()}
    shown |= {name: spelled(number) for name, number in numbers.items() if number < top and draw.chance(often)}
    shown |= {"w": _days(draw, numbers["w"])} if "w" in numbers else {}
    shown |= {"e": _DOZENS[numbers["e"]]} if "e" in numbers else {}
    for name in re.findall(r"(?:^|[.?!] )\{([a-e])\}", problem.story):
        shown[name] = shown[name].capitalize()
    asked = _SINGLE.sub(lambda found: found[1] + one_of(found[2]), draw.ask([story], **given, **told.fields(shown)))
    exchanges = [_exchange(problem, numbers, given, asked)]
    if draw.chance(0.15):
        exchanges += _with_another(draw, problem, numbers, given, asked)
    return respelled(draw, exchanges)


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


def _exchange(problem: Problem, numbers: Mapping[str, int], fields: Mapping[str, object], ask: str,
              later: str = "") -> Exchange:  # fmt: skip
    """The exchange of a story asked in these words (with the marks of told.fields), or later, with another number."""
    said = {name: str(number) for name, number in numbers.items()}
    said |= {found[1]: f"{found[2]} ({said[found[1]]})" for found in re.finditer("\x01([we])=([^\x02]*)", ask)}
    line, result = told.working(ask, problem.plan, numbers, said, _own(problem))
    verb, _, what = problem.answer.format(**fields).partition(" ")
    reply = f"Step by step: {line}. That {verb} {result} {what}".rstrip() + "."
    return Exchange(later or told.clean(ask), reply, ends_with_numbers(result), bool(later))


def _with_another(
    draw: Draw, problem: Problem, numbers: dict[str, int], fields: Mapping[str, object], asked: str
) -> list[Exchange]:
    """The same story, one of its numbers changed, if the sum comes out."""
    name = draw.any(sorted(set(numbers) & set(problem.plan) - {*"we"}))
    changed = {**numbers, name: _numbers(draw, problem)[name]}
    done, before = worked(problem.plan, changed), list(numbers.values())
    if not done or done[1] < 2 or changed == numbers or before.count(numbers[name]) > 1:
        return []
    ask = draw.ask(_WORDING["with"], x=changed[name], a=numbers[name])
    return [_exchange(problem, changed, fields, asked, ask)]
