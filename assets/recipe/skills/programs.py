"""Small programs that are no function, and classes: loops that print, lists made of lists, code to be mended."""

from __future__ import annotations

import re

from assets.recipe import words
from assets.recipe.conversation import Exchange, code_block, ends_with_numbers
from assets.recipe.draw import Draw
from assets.recipe.python_task import holds, parses
from assets.recipe.words import read_wording

_SAID = read_wording("programs")
_NAMES = tuple(dict.fromkeys(key.split()[0] for key in _SAID))
_NAME = re.compile(r"\$(k[123]|\w)")
_CLASSES = ("Counter", "Tally", "Clicker", "Score", "Meter", "Dog", "Person", "Cat", "Robot", "Player", "Car")
_ATTRIBUTES = ("count", "total", "value", "score", "points", "number", "clicks")
_METHODS = ("up", "add", "increase", "increment", "step", "click", "plus", "count_up")


def compose(draw: Draw) -> list[Exchange]:
    """A program asked for, or what a line prints."""
    if draw.chance(0.12):
        return _printed(draw)
    name, k = draw.any((*_NAMES, "count", "counter", "counter")), draw.whole(2, 12)
    attribute, method = draw.any(_ATTRIBUTES), draw.any(_METHODS)
    if name in ("doubled", "squared", "filtered"):
        attribute, method = draw.any(("nums", "numbers", "xs", "values", "a")), draw.any(("result", "doubled", "new", "b", "out"))
    elif name.startswith(("fix", "greet")):
        method = draw.any(("f", "greet", "hello", "welcome") if name.startswith("greet") else ("f", "add", "calc", "check", "g"))
    values = {
        "k": str(k), "k1": str(k + 1), "k2": str(2 * k), "k3": str(2 * k + 1), "w": draw.any(words.every_word()),
        "c": draw.any(_CLASSES) if draw.chance(0.7) else draw.nonsense().title(), "a": attribute, "m": method,
        "l": str([draw.whole(1, 20) for _ in range(draw.whole(2, 5))]),
    }  # fmt: skip
    code, why, test = (_NAME.sub(lambda found: values[found[1]], _SAID[f"{name} {part}"][0]) for part in ("code", "why", "test"))
    ask = draw.ask([_NAME.sub(r"{\1}", one) for one in _SAID[f"{name} ask"]], **values)
    reply = f"```python\n{code}\n```" + (f"\n\n{why}" if draw.chance(0.8) else "")
    check = (lambda reply: holds(code_block(reply) or "", (test,))) if test else parses
    return [Exchange(ask, reply, check, parses=parses)]


def _printed(draw: Draw) -> list[Exchange]:
    """The value that a line of Python prints."""
    word, (a, b) = draw.any(words.WORDS), draw.numbers((1, 12), (1, 12))
    spelled = f"{'-'.join(word)} has {len(word)} letters"
    line, reply = draw.any(
        (
            (f'print(len("{word}"))', f"{spelled}."), (f'print(len("{word}") + {a})', f"{spelled}. {len(word)} + {a} = {len(word) + a}."),
            (f"print({a} + {b})", f"{a} + {b} = {a + b}."), (f"print({a} * {b})", f"{a} × {b} = {a * b}."),
        )
    )  # fmt: skip
    value = eval(line.removeprefix("print"))
    if reply.endswith("letters."):
        reply = f"{spelled}: {value}."
    return [Exchange(draw.ask(_PRINTS, x=line), reply, ends_with_numbers(value))]


_PRINTS = ("[what does|What does] {x} [show|print|give|output] in Python?", "[what is the output of|what's the output of|"
           "what prints|result of] {x}[?|]", "python: {x} - what [is printed|comes out]?")  # fmt: skip
