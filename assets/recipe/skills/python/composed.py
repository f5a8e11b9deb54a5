"""Small functions put together from parts: what is kept of which things, what is made of them, what becomes of all.

Whatever is asked decides the code, so that none of it can be learnt by heart.
"""

from __future__ import annotations

import builtins
import contextlib
from keyword import iskeyword

from assets.recipe import words
from assets.recipe.draw import Draw, settled
from assets.recipe.skills.python.task import Case, Task, Way, case_of
from assets.recipe.words import read_wording

Part = tuple[str, ...]

_PARTS = {
    name: tuple(tuple(part.strip() for part in line.split(" =>")) for line in lines)
    for name, lines in read_wording("python/composed").items()
}
_THINGS = {"number": ("$x", "numbers"), "word": ("word", "words"), "letter": ("letter", "letters")}


def _parts(draw: Draw) -> tuple[str, dict[str, Part]]:
    """The things' kind, and parts that fit each other."""
    kind = draw.any(("number", "number", "number", "word", "word", "letter"))
    pools = [name for name in _PARTS if name.split()[0] in (kind, "any")]
    way = draw.any([name for name in pools if name.split()[1] not in ("kept", "made", "from", "inlist")])
    end = way.split()[1]
    found = {"end": (*draw.any(_PARTS[way])[:2], end), "from": draw.any(_PARTS[f"{kind} from"])}
    if kind == "letter" or way.startswith("any") or draw.chance(0.7):
        found["kept"] = draw.any(_PARTS[f"{kind} kept"])
    if not way.startswith("any") and ("kept" not in found or draw.chance(0.4)):
        inlist = end == "list" and f"{kind} inlist" in _PARTS and draw.chance(0.25)
        found["made"] = draw.any(_PARTS[f"{kind} {'inlist' if inlist else 'made'}"])
    return kind, found


def composed(draw: Draw) -> Task:
    """A task of parts, its first way in one line, its second, where there is one, in a loop."""
    # Parts that are for evaluation are never together in training.
    kind, found = draw.own(lambda: _parts(draw), told=lambda drawn: " ".join(part[1] for part in drawn[1].values()))
    element, noun = _THINGS[kind]
    end, (sign, joint) = found["end"][2], draw.any(_PARTS["joint between"])
    k = draw.whole(2, draw.any((9, 9, 20, 100)) if kind == "number" else 8)
    letter = draw.any(words.ALPHABET) if kind == "letter" or draw.chance(0.6) else draw.any(words.WORDS)[:2]
    values = {"x": element, "k": k, "l": k + draw.whole(2, 30), "d": draw.whole(0, 9), "w": letter, "j": sign,
              "q": draw.any((f'"{letter}"', f"'{letter}'", letter))}  # fmt: skip
    told, condition, made = noun, "", element
    if "kept" in found:
        told, condition = (draw.expand(text).format(**values) for text in found["kept"][:2])
    told = ("" if end in ("any", "none") else draw.any(("the ", "the ", "all ", ""))) + told.replace("_", noun)
    if "made" in found:
        said, made = (draw.expand(text).format(**values) for text in found["made"][:2])
        told = said.replace("_", told)
    where, taken, source = map(draw.expand, found["from"])
    told = f"{told} {where}"
    each = f"{made} for {element} in {source}" + (f" if {condition}" if condition else "")
    fields = {**values, "all": each, "c": condition, "from": source, "s": joint[1:-1]}
    line = found["end"][1].format(**fields)
    head = f"def $f({taken}):\n"
    why = f"`{condition}` says which are kept." if condition else "It takes one after another."
    ways = [Way(why, f"{head}    return {line}")]
    if f"loop {end}" in _PARTS:
        ways.append(Way(why, head + _loop(element, source, condition, made, end)))
    does = tuple(draw.expand(found["end"][0]).format(**values, p=told) for _ in range(2))
    values["p"] = told
    results = [text[8:] for text in settled(found["end"][0]) if text.startswith("returns ")]
    about = tuple(text.replace("True if there are", "checking for").format(**values) for text in results)
    return Task(does, about, _names(draw, found, noun), tuple(ways), _cases(draw, kind, taken, ways[0].code, k))


def _names(draw: Draw, found: dict[str, Part], noun: str) -> tuple[str, ...]:
    """Names for the function: of its parts, such as sum_even_squares; or any."""
    end = found["end"][2].replace("list", "")
    name = "_".join(filter(None, (end, *(found[part][2] for part in ("kept", "made") if part in found))))
    other = draw.any(words.WORDS)
    other = f"{other}_of" if iskeyword(other) or hasattr(builtins, other) else other
    return (name, f"{name}_{noun}", f"get_{name}", other)


def _loop(element: str, source: str, condition: str, made: str, end: str) -> str:
    """The body of a function that does it in a loop."""
    first, each, last = (line.format(e=made) for line in _PARTS[f"loop {end}"][0])
    lines = [*filter(None, [first]), f"for {element} in {source}:"]
    lines += [f"    if {condition}:", f"        {each}"] if condition else [f"    {each}"]
    return "\n".join("    " + line for line in [*lines, last])


def _cases(draw: Draw, kind: str, taken: str, code: str, k: int) -> tuple[Case, ...]:
    """Arguments that suit, and the value that the code gives for them; none if it keeps finding nothing to compare."""
    for _ in range(9):
        numbers = [draw.whole(-3, k + 9) for _ in range(draw.whole(3, 5))]
        some = draw.rng.sample(words.every_word(), draw.whole(2, 4))
        some[0] = draw.any((some[0], some[0].title(), some[0].upper(), str(k)))
        keys = "abcde" if kind == "number" else some
        given = {"$xs": numbers, "values": tuple(numbers), "$n": draw.whole(4, 12), "words": some,
                 "$s": " ".join(some), "mapping": dict(zip(keys, numbers, strict=False))}  # fmt: skip
        shown = repr(given[taken]) if taken in given else f"{draw.whole(1, 5)}, {draw.whole(6, 12)}"
        # The largest of none is no number.
        with contextlib.suppress(ValueError):
            return (case_of(code, shown),)
    return ()
