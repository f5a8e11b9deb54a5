"""Small Python programs that are no functions, classes, mended functions; and what a line prints."""

from __future__ import annotations

import re

from assets.recipe import words
from assets.recipe.conversation import Exchange, code_block, ends_with_numbers
from assets.recipe.draw import Draw
from assets.recipe.skills.python.running import holds
from assets.recipe.skills.python.task import parses
from assets.recipe.user_words import worked
from assets.recipe.words import read_wording

_PROGRAMS = read_wording("programs")
_KINDS = tuple(dict.fromkeys(key.split()[0] for key in _PROGRAMS if key != "prints"))
_FIELD = re.compile(r"\$(k[1234]|\w)")
_CLASSES = ("Counter", "Tally", "Clicker", "Score", "Meter", "Dog", "Person", "Cat", "Robot", "Player", "Car")
_ATTRIBUTES = ("count", "total", "value", "score", "points", "number", "clicks")
_OWN = {"fix": ("f", "add", "calc", "check", "g"), "greet": ("f", "greet", "hello", "welcome"),
        "speaks": ("speak", "bark", "sound", "talk", "say", "answer", "call"), "roll": ("roll", "dice", "pick", "f"),
        "grade": ("grade", "level", "rate", "size", "check", "f"), "sign": ("check", "label", "kind", "f", "test"),
        "squares": ("squares", "result", "nums", "s"), "constant": ("f", "answer", "word", "get", "greet"),
        "apply": ("scale", "f", "times", "grow"), "lambda": ("double", "times", "scale"),
        "said": ("greet", "welcome", "say", "f", "message", "label"), "over": ("check", "is_high", "f", "passed"),
        "parts": ("divisible", "check", "f", "fits"), "linear": ("f", "line", "calc", "mix"),
        "minus": ("abs_diff", "distance", "f", "gap"), "dict": ("d", "data", "ages", "scores", "prices"),
        "list": ("words", "items", "names", "xs"), "swapped": ("b", "other", "y")}  # fmt: skip
_METHODS = ("up", "add", "increase", "increment", "step", "click", "plus", "count_up")


def program(draw: Draw) -> list[Exchange]:
    """A program that is no function, or a class; or what a line prints."""
    if draw.chance(0.12):
        return _printed(draw)
    name, k = draw.any((*_KINDS, "count", "counter", "grade")), draw.whole(2, draw.any((12, 12, 50, 99)))
    attribute, method = draw.any(_ATTRIBUTES), draw.any(_METHODS)
    if name in ("doubled", "squared", "filtered"):
        attribute, method = draw.any(("nums", "numbers", "xs", "a")), draw.any(("result", "doubled", "new", "b"))
    elif own := next((own for kind, own in _OWN.items() if name.startswith(kind)), ()):
        method = draw.any(own)
    w, u, v = draw.rng.sample(words.every_word(), 3)
    if name == "grade" and draw.chance(0.5):
        w, v, u = "ABC"
    values = {
        "k": str(k), "k1": str(k + 1), "k2": str(2 * k), "k3": str(2 * k + 1), "k4": str(2 * k + 2), "w": w, "u": u,
        "v": v, "c": draw.any(_CLASSES) if draw.chance(0.7) else draw.nonsense().title(), "a": attribute, "m": method,
        "l": str([draw.whole(1, 20) for _ in range(draw.whole(2, 5))]),
    }  # fmt: skip
    parts = (_PROGRAMS[f"{name} {part}"][0] for part in ("code", "why", "test"))
    code, why, test = (_FIELD.sub(lambda found: values[found[1]], part) for part in parts)
    ask = draw.ask([_FIELD.sub(r"{\1}", one) for one in _PROGRAMS[f"{name} ask"]], **values)
    reply = f"```python\n{code}\n```" + (f"\n\n{why}" if draw.chance(0.8) else "")
    check = (lambda reply: holds(code_block(reply) or "", (test,))) if test else parses
    return [Exchange(ask, reply, check, parses=parses)]


def _printed(draw: Draw) -> list[Exchange]:
    """The value that a line of Python prints."""
    word, (a, b), k = draw.any(words.WORDS), draw.numbers((1, 12), (1, 12)), draw.whole(2, 4)
    length, spelled = len(word), f"{'-'.join(word)} has {len(word)} letters"
    some = [draw.whole(1, 20) for _ in range(draw.whole(2, 4))]
    if draw.chance(0.4):
        line, value, why = draw.any((
            (f'"{word}".upper()', word.upper(), "It is the word in capitals"), (f'"{word}"[0]', word[0], spelled),
            (f'"{word}" * {k}', word * k, f"It is the word {k} times"), (f"{some}[0]", some[0], "It is the first"),
            (f"{some}[-1]", some[-1], "It is the last"), (f"max({some})", max(some), "It is the largest"),
            (f'"{word}"[::-1]', word[::-1], f"Backwards: {'-'.join(word[::-1])}"),
            (f"min({some})", min(some), "It is the smallest"), (f"len({some})", len(some), "It is how many there are"),
        ))  # fmt: skip
        return [worked(draw.ask(_PROGRAMS["prints"], x=f"print({line})"), why, str(value))]
    line, value, reply = draw.any((
        (f'print(len("{word}"))', length, f"{spelled}: {length}."),
        (f"print({a} + {b})", a + b, f"{a} + {b} = {a + b}."),
        (f'print(len("{word}") + {a})', length + a, f"{spelled}. {length} + {a} = {length + a}."),
        (f"print({a} * {b})", a * b, f"{a} × {b} = {a * b}."),
        (f"print({6 * a + k} % 6)", k, f"{6 * a + k} - {6 * a} = {k}."),
        (f"print({a * b} // {b})", a, f"{a * b} / {b} = {a}."),
    ))  # fmt: skip
    return [Exchange(draw.ask(_PROGRAMS["prints"], x=line), reply, ends_with_numbers(value))]
