"""Copying: whatever the user typed comes back, whole, in part, or in another form.

A model this small learns names and words by heart unless most of what it copies was never said before.
"""

from __future__ import annotations

import json

from assets.recipe import words
from assets.recipe.conversation import Exchange, exact, mentions
from assets.recipe.draw import Draw
from assets.recipe.skills.user_words import any_items, any_words, handed_back, marked, quoted, typed, word
from assets.recipe.words import read_wording

_ECHO, _WORDING = read_wording("echo"), read_wording("copying")
_SMALL = tuple(_WORDING["small"][0].split())
_GAPS = (*[" "] * 9, ", ", "; ", ". ", " - ", ": ", " & ")


def _sentence(draw: Draw) -> str:
    """A plain sentence."""
    name, other = draw.names(2)
    job, second = draw.rng.sample(words.JOBS, 2)
    noun, place = draw.rng.sample(words.WORDS, 2)
    fields = {"n": name, "m": other, "j": job, "i": second, "o": noun, "q": place, "k": draw.whole(2, 60)}
    return draw.say(_ECHO["sentence"], t=draw.any(words.OBJECTS), p=draw.any(words.ANIMALS), f=draw.any(words.FOODS),
                    c=draw.any(words.CITIES), **fields)  # fmt: skip


def _some_text(draw: Draw) -> str:
    """A few words, a sentence, or what people first try; sometimes with a number, sometimes in quotes."""
    style = draw.rng.random()
    if style < 0.3:
        text = draw.any((" ", " ", ", ")).join(any_words(draw, 1, 3))
    elif style < 0.6:
        pieces = [piece for _ in range(draw.any((1, 2))) for piece in any_words(draw, 2, 6)]
        if draw.chance(0.25):
            pieces.insert(draw.whole(0, len(pieces)), str(draw.whole(1, 9999)))
        text = draw.any((", ", " ")).join(pieces)
    else:
        text = draw.own(lambda: _sentence(draw)) if style < 0.92 else draw.any(_ECHO["everyday"])
    return f'"{text}"' if draw.chance(0.27) else text


def _ask(draw: Draw, text: str) -> str:
    """Only what has no full stop of its own fits inside a sentence."""
    way = "echo_words" if text[-1] not in ".!?" and draw.chance(0.3) else "echo"
    return draw.asked(_ECHO, way, x=text)


def _echo(draw: Draw) -> list[Exchange]:
    text = _some_text(draw)
    exchanges = [handed_back(draw, _ask(draw, text), text)]
    while draw.chance(0.48) and len(exchanges) < 3:
        way = draw.any(("again", "again", "now_say", "again" if "," in text else "twice"))
        fields = {"x": (text := _some_text(draw))} if way == "now_say" else {}
        again = f"{text} {text}" if way == "twice" else text
        exchanges.append(handed_back(draw, draw.ask(_ECHO[way], **fields), again, True))
        if way == "twice":
            break
    return exchanges


def _times(draw: Draw) -> list[Exchange]:
    (said,), count = any_words(draw, 1, 1), draw.whole(2, 6)
    ask = draw.ask(_ECHO["times"], x=said, k=draw.any((words.spelled(count), count)))
    return [handed_back(draw, ask, ", ".join([said] * count))]


def echo(draw: Draw) -> list[Exchange]:
    """The user's text once more: words, made-up words, numbers, short sentences, quoted text."""
    return draw.any((*[_echo] * 7, _times))(draw)


def _asked(draw: Draw, way: str, done: str, **fields: object) -> list[Exchange]:
    return [handed_back(draw, draw.ask(_WORDING[way], **fields), done)]


def _long(draw: Draw) -> list[Exchange]:
    """Many words of all sorts, some of them several times."""
    items = [draw.any(_SMALL) if draw.chance(0.25) else word(draw) for _ in range(draw.any((6, 8, 10, 12, 16, 20, 26)))]
    between = draw.any((_GAPS, (" ",), (", ",), ("\n",)))
    text = items[0] + "".join(draw.any(between) + item for item in items[1:]) + draw.any(("", "", "", "!", "?"))
    exchanges = _asked(draw, "repeat", text, x=text)
    if len(text) < 120 and draw.chance(0.3):
        exchanges.append(handed_back(draw, draw.ask(_WORDING["again"]), text, True))
    return exchanges


def _jumbled(draw: Draw) -> list[Exchange]:
    """Letters, digits and signs without any sense."""
    text = draw.any((" ", "", ", ", ": ")).join(draw.jumble() for _ in range(draw.whole(1, 8)))
    return _asked(draw, "repeat", text, x=text)


def _shaped(draw: Draw) -> list[Exchange]:
    """The words in lines, in quotes, as a list in code, joined by a sign."""
    items, shape = any_items(draw, 2, 8), draw.any(
        ("quoted", "bullets", "numbered", "code", "lines", "json", "brackets", "dashes")
    )  # fmt: skip
    listed = json.dumps(items, ensure_ascii=False)
    done = {"bullets": marked(items), "numbered": marked(items, "1."), "lines": marked(items, ""),
            "code": f"```python\nwords = {listed}\n```", "json": f"```json\n{listed}\n```", "quoted": quoted(items),
            "dashes": " - ".join(items), "brackets": " ".join(f"({item})" for item in items)}[shape]  # fmt: skip
    if shape in ("bullets", "numbered", "code", "json"):
        return [exact(draw.ask(_WORDING[shape], x=typed(draw, items)), done)]
    return _asked(draw, shape, done, x=typed(draw, items))


def _kept(draw: Draw) -> list[Exchange]:
    """Those words of a list that are asked for: without one of them or with one more, by their places."""
    items = any_items(draw, 3, 8)
    new, gone, count, at = word(draw), draw.any(items), draw.whole(2, len(items) - 1), draw.whole(0, len(items) - 2)
    done: dict[str, tuple[object, list[str]]] = {
        "without": (gone, [item for item in items if item != gone]), "more": (new, [*items, new]),
        "firsts": ("", items[:count]), "lasts": ("", items[-count:]), "every_second": ("", items[1::2]),
        "after": ("", [items[at + 1]]),
    }  # fmt: skip
    way = draw.any(tuple(done))
    told, kept = done[way]
    return _asked(draw, way, ", ".join(kept), x=typed(draw, items), y=told, z=items[at], k=count)


def _swapped(draw: Draw) -> list[Exchange]:
    """One word of a text for another."""
    items = [*any_words(draw, 2, 6), *([draw.any(_SMALL)] if draw.chance(0.5) else [])]
    items += draw.rng.sample(items, draw.whole(0, 2))
    gone, new, between = draw.any(items), word(draw), draw.any((" ", ", "))
    done = between.join(new if item == gone else item for item in items)
    return _asked(draw, "swap", done, x=between.join(items), y=gone, z=new)


def _remembered(draw: Draw) -> list[Exchange]:
    """Facts told first and asked for later."""
    facts = {key: word(draw) for key in draw.rng.sample(_WORDING["facts"], draw.whole(1, 3))}
    told = draw.any((". ", ", ", " and ")).join(f"my {key} is {value}" for key, value in facts.items())
    noted = draw.ask(_WORDING["told"], x=told), draw.say(_WORDING["noted"], x=told.replace("my ", "your "))
    return [Exchange(*noted)] + [
        Exchange(draw.ask(_WORDING["fact"], y=key), f"Your {key} is {value}.", mentions(value), True)
        for key, value in draw.rng.sample(list(facts.items()), draw.whole(1, len(facts)))
    ]


def compose(draw: Draw) -> list[Exchange]:
    """One exercise."""
    return draw.any((_long, _long, _jumbled, _shaped, _shaped, _shaped, _kept, _kept, _swapped, _remembered))(draw)
