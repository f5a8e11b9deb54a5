"""More to say after the user, and more shapes for what the user brings."""

from __future__ import annotations

import json
import re

from assets.recipe import words
from assets.recipe.conversation import Exchange, exact, mentions
from assets.recipe.draw import Draw
from assets.recipe.skills.more_words import SAID, back, some_text
from assets.recipe.skills.user_words import any_items, any_words, marked, phrase, typed, word
from assets.recipe.words import read_wording

_LINES = read_wording("lines")
_JOINS = tuple(line.split("=") for line in _LINES["joins"][0].split(" / "))
_MARKS = (("bold", "**"), ("bold", "**"), ("italics", "*"), ("italic", "*"), ("code", "`"), ("bold type", "**"),
          ("strikethrough", "~~"))  # fmt: skip
_ECHOES = (*["again"] * 8, *["only"] * 3, "my_name", "my_name", "birthday", "greet", "shouted", "double", "triple")
_GREETINGS = tuple(_LINES["greetings"][0].split(" / "))


def _line(draw: Draw) -> str:
    """A line as people paste it: a sentence, an address, an order, some code, a date; or words of any sort."""
    style = draw.rng.random()
    if style < 0.1:
        return " ".join(word(draw) for _ in range(draw.whole(2, 9)))
    if style < 0.2:
        return " ".join(draw.rng.sample(words.every_word(), draw.whole(3, 12)))
    w, other = draw.rng.sample(words.every_word(), 2)
    n, m = draw.names(2)
    return draw.say(
        _LINES["line"], n=n, m=m, l=n.lower(), w=w, u=other, v=word(draw), j=draw.jumble(), k=draw.whole(2, 9999),
        s=draw.whole(2, 59), d=draw.whole(1, 9), e=draw.whole(10, 59), y=draw.whole(1800, 2030), t=draw.whole(1, 12),
        o=draw.any(words.OBJECTS), p=draw.any(words.ANIMALS), c=draw.any(words.CITIES), f=draw.any(words.FOODS),
        a=draw.any(words.KINDS["days"]), b=draw.any(words.KINDS["months"]), z=draw.any(words.KINDS["seasons"]),
    )  # fmt: skip


def echo(draw: Draw) -> list[Exchange]:
    """Something to say, for somebody, or so many times."""
    way = draw.any(_ECHOES)
    n, said = draw.name(), "happy birthday" if way == "birthday" else draw.any(_GREETINGS)
    if way in ("birthday", "greet"):
        ask = draw.ask(SAID[way], n=n, g=said)
        return [Exchange(ask, f"{said.capitalize()}, {n}!", mentions(said, n), copied=(n,))]
    if way == "my_name":
        return [Exchange(draw.ask(SAID[way], n=n), f"Your name is {n}.", mentions(n), copied=(n,))]
    text = _line(draw) if way == "again" else draw.any((word(draw), some_text(draw)))
    if way == "shouted":
        return back(draw, way, text.upper(), x=text)
    shown = f'"{text}"' if draw.chance(0.25) and '"' not in text else text
    return back(draw, way, ", ".join([text] * {"double": 2, "triple": 3}.get(way, 1)), x=shown)


def _table(draw: Draw, way: str) -> list[Exchange]:
    """A table of the user's heads and rows, in Markdown or with commas."""
    heads = draw.rng.sample(words.every_word(), draw.any((2, 2, 2, 3)))
    heads = [head.title() for head in heads] if draw.chance(0.5) else heads
    heads = ["Name", *heads[1:]] if draw.chance(0.2) else heads
    rows = [
        [first, *(str(draw.whole(0, 300)) if draw.chance(0.75) else word(draw) for _ in heads[1:])]
        for first in any_words(draw, 2, 4)
    ]
    if way == "as_csv":
        told = draw.any((" and ", ", then ", "; ")).join(",".join(row) for row in rows)
        return [exact(draw.ask(SAID[way], h=",".join(heads), x=told), "\n".join(map(",".join, (heads, *rows))))]
    told = draw.any((", ", ", ", "; ", " and ")).join(" ".join(row) for row in rows)
    table = "\n".join(f"| {' | '.join(cells)} |" for cells in (heads, ["---"] * len(heads), *rows))
    return [exact(draw.ask(SAID[way], h=draw.any((" and ", ", ")).join(heads), x=told), table)]


def _described(draw: Draw) -> list[Exchange]:
    """An object for somebody or something that is described."""
    story, _, keys = draw.any(SAID["described"]).partition(" => ")
    values: dict[str, object] = {
        "n": draw.name(), "a": draw.whole(1, 99), "p": draw.any(words.ANIMALS), "y": draw.whole(1900, 2030),
        "w": draw.any((word(draw), phrase(draw))), "c": draw.any(words.CITIES), "j": draw.any(words.JOBS),
    }  # fmt: skip
    story = draw.expand(story)
    found = dict(zip(keys.split(","), (values[key] for key in re.findall(r"\{(\w)\}", story)), strict=True))
    told = story.format(**values)
    if draw.chance(0.3):
        key, value = draw.say(_LINES["keys"]), draw.any((True, False, draw.whole(1, 500), word(draw)))
        found[key] = value
        told += f", {key} {value if isinstance(value, str) else json.dumps(value)}"

    def check(reply: str) -> bool:
        try:
            return bool(list(json.loads(reply.split("```json")[-1].split("```")[0]).values()) == list(found.values()))
        except (ValueError, AttributeError):
            return False

    reply = f"```json\n{json.dumps(found, indent=2, ensure_ascii=False)}\n```"
    return [Exchange(draw.ask(SAID["object"], d=told), reply, check)]


def _joined(draw: Draw, way: str) -> list[Exchange]:
    items, (name, sign) = any_words(draw, 2, 6), draw.any(_JOINS) if way == "joined" else ("", ", ")
    items = list("abcdefghijkl"[: len(items)]) if draw.chance(0.1) else items
    between = draw.any((" ", " ", ", ") if way == "commas" else (", ", ", ", " "))
    return back(draw, way, sign.join(items), x=between.join(items), s=name)


def _marked(draw: Draw, way: str) -> list[Exchange]:
    text = draw.any((word(draw), phrase(draw), some_text(draw)))
    name, sign = draw.any(_MARKS) if way == "bolded" else ("", '"')
    shown = f'"{text}"' if way == "bolded" and draw.chance(0.4) else text
    return back(draw, way, f"({text})" if way == "brackets" else f"{sign}{text}{sign}", x=shown, m=name)


def formats(draw: Draw) -> list[Exchange]:
    """Items between signs, in lines, in a table, as JSON."""
    way = draw.any((*["bullets", "numbered", "object"] * 3, *["tabled"] * 3, "as_csv", "listed", "commas", "joined",
                    "joined", "bolded", "quoted", "brackets", "array"))  # fmt: skip
    if way in ("commas", "joined"):
        return _joined(draw, way)
    if way in ("bolded", "quoted", "brackets"):
        return _marked(draw, way)
    if way in ("as_csv", "tabled", "object"):
        return _described(draw) if way == "object" else _table(draw, way)
    items = any_items(draw, 2, 7)
    done = {"bullets": marked(items), "numbered": marked(items, "1."), "listed": marked(items, ""),
            "array": f"```json\n{json.dumps(items, ensure_ascii=False)}\n```"}[way]  # fmt: skip
    ask = typed(draw, items)
    return back(draw, way, done, x=ask) if way == "listed" else [exact(draw.ask(SAID[way], x=ask), done)]
