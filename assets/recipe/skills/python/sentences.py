"""Small functions that say what the user says: a text with values in it, a choice by limits, an expression."""

from __future__ import annotations

import re

from assets.recipe import words
from assets.recipe.draw import Draw, settled
from assets.recipe.skills.python.task import Case, Task, Way, case_of
from assets.recipe.words import read_wording

_WORDING = read_wording("python/sentences")
_NAMES, _CHOOSERS, _KINDS = (words.entries(_WORDING, pool) for pool in ("name", "chooser", "kinds"))
_SIGNS = {"!": "an exclamation mark", ".": "a full stop", "?": "a question mark", "": ""}
_SIGNS_OF = {"least": ">=", "above": ">", "below": "<", "most": "<="}
_FIELD = re.compile(r"\{(\w+)\}")
_MARKS = ("{}", "{{{}}}", "<{}>", "[{}]")


def sentence_task(draw: Draw) -> Task:
    """A function of one of the three kinds, its code on this side of the split."""
    kinds = (_filled, _filled, _chosen, _chosen, _formula, _formula, _formula, _formula)
    return draw.own(lambda: draw.any(kinds)(draw), told=lambda task: task.ways[0].code)


def _some_words(draw: Draw, most: int) -> str:
    found = " ".join(draw.any(words.every_word()) for _ in range(draw.whole(1, most)))
    return draw.any((found, found.capitalize(), found.title())) if draw.chance(0.5) else found


def _filled(draw: Draw) -> Task:
    """A function that puts one value or two into a text."""
    rows = [line.split(" / ") for line in draw.rng.sample(_WORDING["value"], draw.any((1, 1, 2)))]
    values = {name: (told, samples.split()) for name, told, samples in rows}
    template = _around(draw, "before")
    for at, name in enumerate(values):
        template += (_around(draw, "between") if at else "") + f"{{{name}}}"
    sign = draw.any(("", "", "!", "!", ".", "?"))
    if draw.chance(0.4) or template == f"{{{rows[0][0]}}}":
        template += f" {_some_words(draw, 3)}"
    text = _FIELD.sub("", template)
    if set(values) & {word.strip(",:!.?-").lower() for word in text.split()} or '"' in text:
        return _filled(draw)
    mark = draw.any(_MARKS)
    upper = mark == "{}" or draw.chance(0.3)
    shown = _FIELD.sub(lambda name: mark.format(name[1].upper() if upper else name[1]), template) + sign
    quote = draw.any(('"', "'"))
    told = [values[part][0] if part in values else f"{quote}{part}{quote}" for part in _FIELD.split(template) if part]
    if sign and (told[-1].startswith("the") or draw.chance(0.5)):
        told.append(_SIGNS[sign] if draw.chance(0.6) else f"{quote}{sign}{quote}")
    elif sign:
        told[-1] = f"{told[-1][:-1]}{sign}{quote}" if told[-1].endswith(quote) else f"{told[-1]} and {_SIGNS[sign]}"
    joint = draw.expand(draw.any(_WORDING["joint"]))
    fields = {"s": shown, "p": joint.join(told), "v": " and ".join(said for said, _ in values.values())}
    code = f'def $f({", ".join(values)}):\n    return f"{template}{sign}"'
    given = [", ".join(samples[at] for _, samples in values.values()) for at in (0, 1)]
    cases = tuple(case_of(code, one) for one in given)
    why = "The f-string puts the value into the text." if len(values) == 1 else "The f-string puts both into the text."
    return _task(draw, "told", "about", fields, _NAMES, (Way(why, code),), cases)


def _around(draw: Draw, place: str) -> str:
    """The words before the first value, or between two."""
    return draw.expand(draw.any(_WORDING[place])).format(_some_words(draw, 3))


def _chosen(draw: Draw) -> Task:
    """A function that returns one of some words, by limits."""
    way, value = draw.any(("least", "least", "above", "below", "most")), draw.any(_KINDS)
    labels = draw.any(_WORDING["labels"]).split()
    if draw.chance(0.35):
        labels = [_some_words(draw, 1) for _ in range(draw.whole(2, 4))]
    labels = labels[: draw.whole(2, 4)]
    step = draw.any((1, 5, 10))
    limits = sorted(draw.rng.sample(range(step, 100, step), len(labels) - 1), reverse=way in ("least", "above"))
    if way in ("below", "most"):
        labels.reverse()
    if len({*labels, value}) <= len(labels):
        return _chosen(draw)
    quote = draw.any(("'{}'", '"{}"', "{}"))
    clauses = []
    template = draw.expand(draw.any(_WORDING[way]))
    for label, limit in zip(labels, limits, strict=False):
        template = draw.expand(draw.any(_WORDING[way])) if draw.chance(0.15) else template
        clauses.append(template.format(q=quote.format(label), t=limit, v=value))
    told = ", ".join(clauses) + draw.expand(draw.any(_WORDING["else"])).format(q=quote.format(labels[-1]))
    lines = [f"    if {value} {_SIGNS_OF[way]} {limit}:\n        return \"{label}\"\n"
             for label, limit in zip(labels, limits, strict=False)]  # fmt: skip
    code = f"def $f({value}):\n" + "".join(lines) + f'    return "{labels[-1]}"'
    ways = (Way("The first condition that holds decides.", code),)
    cases = tuple(case_of(code, str(at)) for limit in limits for at in (limit, limit - 1, limit + 1))
    names = tuple(name for name in _CHOOSERS if name != value)
    return _task(draw, "choosing", "chosen", {"c": told}, names, ways, cases)


def _formula(draw: Draw) -> Task:
    """A function of an expression, with parameters, numbers and words of the user's own, perhaps with a default."""
    does, taken, returned, names, *asked = draw.any(_WORDING["formula"]).split(" => ")
    kinds = taken.split()
    called = [draw.any(words.entries(_WORDING, f"{kind} called")) for kind in kinds]
    samples = {"text": repr(_some_words(draw, 2)), "digits": repr(str(draw.whole(1, 99))), "count": draw.whole(1, 5)}
    given = [str(samples.get(kind, draw.whole(1, 30))) for kind in kinds]
    if len({*called}) < len(called):
        return _formula(draw)
    quote, w, u = draw.any(('"{}"', "'{}'", "{}")), _some_words(draw, 1), _some_words(draw, 1)
    k = draw.whole(2, draw.any((9, 20, 100)))
    fields = {"k": k, "l": k + draw.whole(2, 30), "w": w, "u": u, "d": draw.whole(2, 6), "q": quote.format(w),
              "r": quote.format(u), "y": w[0].lower()}  # fmt: skip
    forms = (called[0], f"the {called[0]}", words.article(called[0]))
    told = {"a": draw.any(forms[: 1 if len(kinds) == 2 else 2 if forms[0].endswith("s") else 3]), "b": called[-1]}
    said, questions = (
        [one.format(**fields, **told) for text in texts for one in settled(text)]
        for texts in (does.split(" / "), asked)
    )
    result = returned.format(**fields, a=called[0], b=called[-1])
    cases, default = [", ".join(given)], given[-1].replace("'", '"')
    if len(kinds) == 2 and draw.chance(0.35):
        said = [draw.expand(draw.any(_WORDING["defaulted"])).format(does=one, b=called[1], k=default) for one in said]
        questions, cases, called[1] = [], [*cases, given[0]], f"{called[1]}={default}"
    about = tuple(text.partition(" ")[2].replace("True if", "checking if") for text in said
                  if text.startswith(("returns ", "about ")))  # fmt: skip
    said = [text for text in said if not text.startswith("about ")]
    code = f"def $f({', '.join(called)}):\n    return {result}"
    why = "The expression after `return` is the result."
    return Task(tuple(draw.rng.sample(said, 2)), about, tuple(names.split()), (Way(why, code),),
                tuple(case_of(code, one) for one in cases), tuple(questions), literal=True)  # fmt: skip


def _task(draw: Draw, told: str, about: str, fields: dict[str, str], names: tuple[str, ...], ways: tuple[Way, ...],
          cases: tuple[Case, ...]) -> Task:  # fmt: skip
    """The task told in two ways, under its most usual name or two others."""
    does, topics = (
        tuple(draw.expand(draw.any(_WORDING[pool])).format(**fields) for _ in range(2)) for pool in (told, about)
    )
    return Task(does, topics, (names[0], *draw.rng.sample(names[1:], 2)), ways, cases, literal=True)
