"""Small Python programs that are no functions, classes, mended functions; and what a line prints."""

from __future__ import annotations

import re

from assets.recipe import words
from assets.recipe.conversation import Exchange, code_block, ends_with_numbers, exactly_in
from assets.recipe.draw import Draw
from assets.recipe.skills.python.running import holds
from assets.recipe.skills.python.task import parses
from assets.recipe.words import entries, read_wording

_PROGRAMS = read_wording("python/programs")
_FIELD = re.compile(r"\$(k[1234]|p1|\w)")
_ASKS = {key: tuple(_FIELD.sub(r"{\1}", one) for one in pool) for key, pool in _PROGRAMS.items()
         if key == "frame" or key.endswith(" ask")}  # fmt: skip
# Programs that are asked for again and again have many wordings.
_KINDS = {key.split()[0]: len(asks) + 3 * len(_ASKS.get(f"do {key}", ())) for key, asks in _ASKS.items()
          if key.endswith(" ask") and not key.startswith("do ")}  # fmt: skip
_PLAIN, _CLASSES, _OTHERWISE = (entries(_PROGRAMS, name) for name in ("plain", "classes", "otherwise"))
# The names of what a program is called itself and of what it takes, by how its kind begins; the last, any other's.
_CALLED, _TAKEN = (
    {key.removesuffix(of).strip("."): entries(_PROGRAMS, key) for key in _PROGRAMS if key.endswith(of)}
    for of in (" called", " taken")
)


def program(draw: Draw) -> list[Exchange]:
    """A program that is no function, or a class; or what a line prints."""
    if draw.chance(0.12):
        return _printed(draw)
    name = draw.any(_PLAIN) if draw.chance(0.35) else draw.rng.choices([*_KINDS], [*_KINDS.values()])[0]
    k = draw.whole(2, draw.any((12, 12, 50, 99)))
    called, taken = (next(own for of, own in names.items() if name.startswith(of)) for names in (_CALLED, _TAKEN))
    method, other = draw.rng.sample(called, 2)
    x, y, z = draw.rng.sample(entries(_PROGRAMS, "attributes"), 3)
    w, u, v = (_cased(draw, word) for word in draw.rng.sample(words.every_word(), 3))
    p, q = draw.rng.sample(range(2, 10), 2)
    values = {
        "k": k, "k1": k + 1, "k2": 2 * k, "k3": 2 * k + 1, "k4": 2 * k + 2, "w": w, "u": u, "v": v,
        "p": p, "p1": p + 1, "q": q, "a": draw.any(taken), "m": method, "i": other, "r": other.title(),
        "x": x, "y": y, "z": z,
        "o": draw.any(_OTHERWISE), "c": draw.any(_CLASSES) if draw.chance(0.7) else draw.nonsense().title(),
        "l": [draw.whole(1, 20) for _ in range(draw.whole(2, 5))], "b": method.title(), **_things(draw),
        "j": draw.any(_PROGRAMS["three"]).format(w, u, v),
    }  # fmt: skip
    ask = draw.asked(_ASKS, f"{name} ask", **values)
    if method not in ask:
        values["m"] = called[0]
    parts = (_PROGRAMS[f"{name} {part}"][0] for part in ("code", "why", "test"))
    code, why, test = (_FIELD.sub(lambda found: str(values[found[1]]), part) for part in parts)
    reply = f"```python\n{code}\n```" + (f"\n\n{why}" if draw.chance(0.8) else "")
    check = (lambda reply: holds(code_block(reply) or "", (test,))) if test else parses
    return [Exchange(ask, reply, check)]


def _things(draw: Draw) -> dict[str, object]:
    """Some things of a kind, each with a value, as a list and a dictionary have them; and what these are called."""
    things, values, thing, value, told = draw.any(_PROGRAMS["things"]).split(" / ")
    drawn = draw.rng.sample(told.split(", "), draw.whole(2, 4))
    pairs = [one.split("=") for one in drawn]
    return {
        "t": things, "d": values, "f": thing, "g": value, "n": draw.any((len(pairs), words.NUMBERS[len(pairs)])),
        "e": ", ".join(f'"{key}": {given}' for key, given in pairs), "h": ", ".join(f'"{key}"' for key, _ in pairs),
    }  # fmt: skip


def _cased(draw: Draw, word: str) -> str:
    """The word or a made-up one, now and then with capitals or a sign behind it."""
    word = draw.nonsense() if draw.chance(0.2) else word
    word = draw.any((word, word, word.title(), word.title(), word.upper()))
    return word + draw.any("!!!.?") if draw.chance(0.15) else word


def _printed(draw: Draw) -> list[Exchange]:
    """The output of a line of Python."""
    word, (a, b), k = draw.any(words.WORDS), draw.numbers((1, 12), (1, 12)), draw.whole(2, 4)
    some = [draw.whole(1, 20) for _ in range(draw.whole(2, 4))]
    values = {"w": word, "s": "-".join(word), "r": "-".join(reversed(word)), "n": len(word), "l": some, "k": k,
              "a": a, "b": b, "c": 6 * a + k, "d": 6 * a, "p": a * b}  # fmt: skip
    line, _, reply = draw.any(_PROGRAMS["printed"]).partition(" => ")
    line = _FIELD.sub(lambda found: str(values[found[1]]), line)
    value = eval(line)
    reply = _FIELD.sub(lambda found: str({**values, "v": value}[found[1]]), reply)
    check = ends_with_numbers(value) if type(value) is int else exactly_in(str(value))
    return [Exchange(draw.ask(_PROGRAMS["prints"], x=f"print({line})"), reply, check)]
