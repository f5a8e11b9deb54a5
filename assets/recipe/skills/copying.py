"""Copying: whatever the user typed comes back, whole, in part, or in another form.

A model this small learns names and words by heart unless most of what it copies was never said before.
"""

from __future__ import annotations

import json

from assets.recipe.checks import contains, exactly_in
from assets.recipe.conversation import Exchange
from assets.recipe.draw import Draw
from assets.recipe.skills.user_words import any_words, handed_back, typed, word
from assets.recipe.wording import read_wording

_WORDING = read_wording("copying")
_SMALL = (
    "the",
    "a",
    "and",
    "of",
    "in",
    "to",
    "with",
    "at",
    "is",
    "on",
    "for",
    "by",
    "who",
    "then",
    "I",
    "my",
    "7",
    "12",
)
_GAPS = (*[" "] * 9, ", ", "; ", ". ", " - ", ": ", " & ")


def _long(draw: Draw) -> list[Exchange]:
    """Many words of all sorts, some of them several times."""
    items = [draw.any(_SMALL) if draw.chance(0.25) else word(draw) for _ in range(draw.any((6, 8, 10, 12, 16, 20, 26)))]
    between = draw.any((_GAPS, (" ",), (", ",), ("\n",)))
    text = items[0] + "".join(draw.any(between) + item for item in items[1:])
    text += draw.any(("", "", "", "!", "?"))
    exchanges = [handed_back(draw, draw.ask(_WORDING["repeat"], x=text), text)]
    if len(text) < 120 and draw.chance(0.3):
        exchanges.append(handed_back(draw, draw.ask(_WORDING["again"]), text, True))
    return exchanges


def _jumbled(draw: Draw) -> list[Exchange]:
    """Letters, digits and signs without any sense."""
    text = draw.any((" ", "", ", ", ": ")).join(draw.jumble() for _ in range(draw.whole(1, 8)))
    return [handed_back(draw, draw.ask(_WORDING["repeat"], x=text), text)]


def _shaped(draw: Draw) -> list[Exchange]:
    """The words in lines, in quotes, as a list in code, joined by a sign."""
    items = any_words(draw, 2, 8)
    shape = draw.any(("quoted", "bullets", "numbered", "code", "lines", "json", "brackets", "dashes"))
    done = {
        "quoted": ", ".join(f'"{item}"' for item in items),
        "bullets": "\n".join(f"- {item}" for item in items),
        "numbered": "\n".join(f"{at}. {item}" for at, item in enumerate(items, 1)),
        "code": "```python\nwords = " + json.dumps(items, ensure_ascii=False) + "\n```",
        "lines": "\n".join(items),
        "json": "```json\n" + json.dumps(items, ensure_ascii=False) + "\n```",
        "brackets": " ".join(f"({item})" for item in items),
        "dashes": " - ".join(items),
    }[shape]
    ask = draw.ask(_WORDING[shape], x=typed(draw, items))
    if shape in ("bullets", "numbered", "code", "json"):
        return [Exchange(ask, done, exactly_in(done))]
    return [handed_back(draw, ask, done)]


def _kept(draw: Draw) -> list[Exchange]:
    """Those words of a list that are asked for: with a letter at the start, with a digit, in capitals, in places."""
    items = any_words(draw, 3, 8)
    way = draw.any(("starting", "starting", "without", "firsts", "lasts", "every_second", "between"))
    fields: dict[str, object] = {}
    if way == "starting":
        letter = draw.any(items)[0]
        fields, kept = {"y": letter}, [item for item in items if item[0].lower() == letter.lower()]
    elif way == "without":
        gone = draw.any(items)
        fields, kept = {"y": gone}, [item for item in items if item != gone]
    elif way in ("firsts", "lasts"):
        count = draw.whole(2, len(items) - 1)
        fields, kept = {"k": count}, items[:count] if way == "firsts" else items[-count:]
    elif way == "every_second":
        kept = items[1::2]
    else:
        low = draw.whole(0, len(items) - 2)
        kept = [items[low], items[low + 1]]
        fields = {"y": items[low + 1], "z": items[low]}
        return [handed_back(draw, draw.ask(_WORDING["after"], x=typed(draw, items), **fields), items[low + 1])]
    return [handed_back(draw, draw.ask(_WORDING[way], x=typed(draw, items), **fields), ", ".join(kept))]


def _swapped(draw: Draw) -> list[Exchange]:
    """One word of a text for another."""
    items = [*any_words(draw, 2, 6), *([draw.any(_SMALL)] if draw.chance(0.5) else [])]
    items += draw.rng.sample(items, draw.whole(0, 2))
    gone, new = draw.any(items), word(draw)
    text = draw.any((" ", ", ")).join(items)
    done = (", " if ", " in text else " ").join(new if item == gone else item for item in items)
    return [handed_back(draw, draw.ask(_WORDING["swap"], x=text, y=gone, z=new), done)]


def _remembered(draw: Draw) -> list[Exchange]:
    """Facts told first and asked for later."""
    facts = {key: word(draw) for key in draw.rng.sample(_WORDING["facts"], draw.whole(1, 3))}
    told = draw.any((". ", ", ", " and ")).join(f"my {key} is {value}" for key, value in facts.items())
    exchanges = [
        Exchange(draw.ask(_WORDING["told"], x=told), draw.say(_WORDING["noted"], x=told.replace("my ", "your ")))
    ]
    for key, value in draw.rng.sample(list(facts.items()), draw.whole(1, len(facts))):
        exchanges.append(Exchange(draw.ask(_WORDING["fact"], y=key), f"Your {key} is {value}.", contains(value), True))
    return exchanges


def compose(draw: Draw) -> list[Exchange]:
    """One exercise."""
    return draw.any((_long, _long, _jumbled, _shaped, _shaped, _shaped, _kept, _kept, _swapped, _remembered))(draw)
