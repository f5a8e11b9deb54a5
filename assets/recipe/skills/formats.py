"""The same facts in another form: JSON, Markdown lists, Markdown tables, changed once they have it; a few of a kind.

What is named of a kind goes on from the last in one round, so that none comes twice.
"""

from __future__ import annotations

import json
from typing import Any

from assets.recipe import words
from assets.recipe.conversation import Exchange, exact
from assets.recipe.draw import Draw
from assets.recipe.skills.user_words import (
    any_items,
    any_words,
    enumerated,
    handed_back,
    in_lines,
    marked,
    phrase,
    word,
    words_in_order,
)
from assets.recipe.words import read_wording

_WORDING = read_wording("formats")
_NUMERIC, _TEXTUAL, _OTHER = (tuple(_WORDING[f"{sort} keys"][0].split()) for sort in ("numeric", "textual", "other"))
_KEYS = (*_NUMERIC, *_TEXTUAL, *_OTHER)
_USUAL = ("name", "name", "age", "age", "city", "job", "score", "colour", "price")
_EVENTS = ("party", "concert", "meeting", "lesson", "race", "parade", "market", "picnic", "wedding", "dance")
_GOODS = (*words.FOODS, *words.OBJECTS)
_POOLS = {"city": words.CITIES, "job": words.JOBS, "animal": words.ANIMALS, "product": _GOODS, "event": _EVENTS,
          "day": words.KINDS["days"]}  # fmt: skip
_RANGES = {"age": (5, 95), "price": (1, 99), "years": (1, 15)}
_FORMS = {"list": "make_bullets", "numbered": "make_numbered", "json_list": "as_json", "column": "as_table"}
_RECORDS = (
    *[("person", "n name,a age,c city")] * 2, ("aged", "n name,a age"), ("living", "n name,c city"),
    ("working", "n name,j job"), ("aged", "n name,a age"), *[("worker", "n name,a age,c city,j job")] * 2,
    ("pet", "n name,p animal,a age"), ("product", "o product,a price"), ("event", "e event,d day,a time"),
)  # fmt: skip
# How a key stands beside its value, and one such pair beside the next.
_WRITTEN = ((" ", ", "), (" ", ", "), (": ", ", "), ("=", ", "), (" = ", "\n"), (": ", "\n"), (" is ", ", "),
            (" is ", " and "), (": ", "; "), (" ", " and "))  # fmt: skip
_HEADS = ("Item Price", "Item Price", "Name Age", "Name City", "Name Age City")
_KINDS = (("animals", words.ANIMALS), ("names", words.NAMES), ("cities", words.CITIES), ("jobs", words.JOBS),
          ("colours", words.COLOURS), ("foods", words.FOODS), ("words", words.WORDS),
          ("first names", words.NAMES), ("things to eat", words.FOODS), ("things to buy", words.FOODS),
          ("professions", words.JOBS), ("colors", words.COLOURS), ("musical instruments", words.KINDS["instruments"]),
          ("kinds of fruit", words.KINDS["fruits"]), ("days of the week", words.KINDS["days"]),
          ("pieces of furniture", words.KINDS["furniture"]), *list(words.KINDS.items()) * 2)  # fmt: skip
_MARKS = (("**", "bold"), ("*", "italics"), ("`", "code"), ('"', "quotes"), ("_", "underscores"), ("**", "bold type"))
# Where in a round the naming begins: few places, so that all after them is known by heart.
_BEGINNINGS = (0, 0, 8)


def _json(ask: str, facts: object, follow_up: bool = False) -> Exchange:
    def check(reply: str) -> bool:
        try:
            return bool(json.loads(reply.split("```json")[-1].split("```")[0]) == facts)
        except ValueError:
            return False

    text = json.dumps(facts, indent=2 if isinstance(facts, dict) else None, ensure_ascii=False)
    return Exchange(ask, f"```json\n{text}\n```", check, follow_up)


def _in_table(heads: list[str], rows: list[list[str]]) -> str:
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (heads, ["---"] * len(heads), *rows))


def _value(draw: Draw, key: str) -> Any:
    """A value that fits the key."""
    if key == "name":
        return draw.name()
    if key == "time":
        return f"{draw.whole(7, 21)}:{draw.any(('00', '00', '15', '30', '45'))}"
    return draw.any(_POOLS[key]) if key in _POOLS else draw.whole(*_RANGES[key])


def _fields(draw: Draw) -> tuple[str, dict[str, Any]]:
    """Any keys with any values, as people write them down, and the facts in it."""
    facts: dict[str, Any] = {}
    keys = draw.rng.sample(_USUAL if draw.chance(0.4) else _KEYS, draw.any((1, 2, 2, 2, 3, 3, 4, 5)))
    for key in dict.fromkeys(keys):
        numeric = key in _NUMERIC or (key not in _TEXTUAL and draw.chance(0.3))
        named = key in ("name", "friend", "owner", "author")
        facts[key] = draw.whole(0, draw.any((20, 99, 2030))) if numeric else draw.name() if named else word(draw)
        if named and draw.chance(0.15):
            facts[key] = facts[key].lower()
        elif not named and draw.chance(0.2):
            facts[key] = draw.any((True, False, phrase(draw)))
    between, join = draw.any(_WRITTEN)
    quote = '"' if draw.chance(0.12) else ""
    shown = {key: f"{quote}{told}{quote}" if isinstance(told, str) else json.dumps(told) for key, told in facts.items()}
    if draw.chance(0.12):
        return f"keys {enumerated(list(shown))}, values {enumerated(list(shown.values()))}", facts
    told = [f"{key}{between}{value}" for key, value in shown.items()]
    return enumerated(told) if between == " " and draw.chance(0.6) else join.join(told), facts


def _record(draw: Draw) -> tuple[str, dict[str, Any]]:
    """A sentence and the facts in it."""
    if draw.chance(0.55):
        return _fields(draw)
    kind, keys = draw.any(_RECORDS)
    facts: dict[str, Any] = {}
    fields: dict[str, Any] = {}
    for field, key in (pair.split() for pair in keys.split(",")):
        facts[key] = fields[field] = _value(draw, "years" if kind == "pet" and key == "age" else key)
    return draw.say(_WORDING[kind], **fields), facts


def _object(draw: Draw) -> list[Exchange]:
    sentence, facts = _record(draw)
    exchanges = [_json(draw.asked(_WORDING, "json", x=sentence), facts)]
    while draw.chance(0.4) and len(exchanges) < 3:
        if draw.chance(0.2):
            table = _in_table([key.title() for key in facts], [[str(value) for value in facts.values()]])
            exchanges.append(exact(draw.ask(_WORDING["as_table"]), table, True))
            break
        key = draw.any(list(facts))
        new = draw.whole(1, 99) if isinstance(facts[key], int) else draw.name() if key == "name" else word(draw)
        facts = {**facts, key: new}
        exchanges.append(_json(draw.ask(_WORDING["change"], key=key, y=new), facts, True))
    return exchanges


def _in_form(ask: str, form: str, items: list[str], follow_up: bool = False) -> Exchange:
    if form == "json_list":
        return _json(ask, items, follow_up)
    if form == "column":
        return exact(ask, _in_table(["Item"], [[item] for item in items]), follow_up)
    return exact(ask, marked(items, "1." if form == "numbered" else "- "), follow_up)


def _list(draw: Draw) -> list[Exchange]:
    """A list in one form, then longer, shorter, sorted, or in another form."""
    ordered = draw.chance(0.6)
    *items, spare, last_spare = words_in_order(draw, draw.whole(4, 8)) if ordered else any_items(draw, 4, 8)
    spares = [spare, last_spare]
    form = draw.any(("list", "list", "list", "numbered", "numbered", "json_list"))
    shown = draw.any((enumerated(items), enumerated(items), ", ".join(items)))
    exchanges = [_in_form(draw.ask(_WORDING[form], x=shown), form, items)]
    while draw.chance(0.5) and len(exchanges) < 3:
        way = draw.any(("add", "add", "remove", "remove", "sort_it", *_FORMS))
        fields: dict[str, object] = {}
        if way == form or (way == "list" and form not in ("numbered", "column")) or (way == "sort_it" and not ordered):
            continue
        if way in _FORMS:
            form = way
        elif way == "add":
            items, fields = [*items, spares[-1]], {"y": spares.pop()}
        elif way == "remove":
            fields = {"y": (gone := draw.any(items))}
            items = [item for item in items if item != gone]
        else:
            items = sorted(items, key=str.lower)
        exchanges.append(_in_form(draw.ask(_WORDING[_FORMS.get(way, way)], **fields), form, items, True))
    return exchanges


def _rows(draw: Draw, named: bool) -> tuple[list[str], list[list[str]]]:
    """The heads of a table, named by the user if they are to be, and its rows, one of them to spare."""

    def cell(head: str) -> Any:
        if not named:
            return _value(draw, head.lower())
        return word(draw) if draw.chance(0.4) else draw.whole(1, 200)

    if named:
        heads = list(dict.fromkeys(draw.rng.sample(_KEYS, draw.whole(2, 3))))
        heads = [head.title() for head in heads] if draw.chance(0.3) else heads
        firsts = any_words(draw, 3, 5)
    else:
        heads, count = draw.any(_HEADS).split(), draw.whole(3, 5)
        firsts = draw.names(count) if heads[0] == "Name" else draw.words(_GOODS, count)
    return heads, [[first, *(str(cell(head)) for head in heads[1:])] for first in firsts]


def _table(draw: Draw) -> list[Exchange]:
    heads, (spare, *rows) = _rows(draw, named := draw.chance(0.4))
    told = [" ".join(row) for row in rows]
    x = draw.any((enumerated(told), ", ".join(told), in_lines(draw, told)))
    asks = _WORDING["heads" if named else "table"]
    if "\n" in x:
        asks = tuple(ask.replace(": {x}.", ":\n{x}").replace(": {x}", ":\n{x}") for ask in asks if ": {x}" in ask)
    varied = () if named or "\n" in x else _WORDING["table varied"]
    exchanges = [exact(draw.ask(asks, varied, x=x, h=enumerated(heads)), _in_table(heads, rows))]
    if draw.chance(0.45):
        way = draw.any(("add", "remove", "sort_it"))
        row = spare if way == "add" else draw.any(rows)
        changed = {"add": [*rows, spare], "remove": [one for one in rows if one != row], "sort_it": sorted(rows)}[way]
        ask = draw.ask(_WORDING[way], y=" ".join(row) if way == "add" else row[0])
        exchanges.append(exact(ask, _in_table(heads, changed), True))
    return exchanges


def _commas(draw: Draw) -> list[Exchange]:
    """A table as CSV."""
    heads, rows = _rows(draw, True)
    told = enumerated([" ".join(row) for row in rows])
    return [exact(draw.ask(_WORDING["csv"], x=told, h=enumerated(heads)), "\n".join(map(",".join, [heads, *rows])))]


def _marks(draw: Draw) -> list[Exchange]:
    """A word or a phrase between two marks."""
    mark, name = draw.any(_MARKS)
    text = phrase(draw)
    shown = f'"{text}"' if name != "quotes" and draw.chance(0.3) else text
    return [handed_back(draw, draw.ask(_WORDING["marks"], x=shown, m=name), f"{mark}{text}{mark}")]


def compose(draw: Draw) -> list[Exchange]:
    """One rewriting, perhaps changed afterwards."""
    return draw.any((*[_object] * 5, *[_list] * 5, *[_table] * 3, _commas, _marks))(draw)


def _named(draw: Draw, ask: str, items: list[str], pool: set[str], style: str, follow_up: bool = False) -> Exchange:
    """An exchange whose reply lists just so many of the pool, none of them twice."""

    def check(reply: str) -> bool:
        found = [item.strip(" -.1234567890") for item in reply.replace("\n", ",").split(",")]
        return len(found) == len(set(found)) == len(items) and set(found) <= pool

    return Exchange(ask, marked(items, style) if style else ", ".join(items), check, follow_up)


def examples(draw: Draw) -> list[Exchange]:
    """A few of a kind, perhaps without some, and perhaps some more."""
    kind, pool = draw.any(_KINDS)
    round_, begin = pool[:20], draw.any(_BEGINNINGS)
    count = draw.whole(2, min(8, len(round_) - 1))
    named = [round_[(begin + at) % len(round_)] for at in range(len(round_))]
    if len(pool) < 13 and draw.chance(0.5):
        return [_named(draw, draw.ask(_WORDING["all"], kind=kind), list(pool), set(pool), draw.any(("1.", "- ", "")))]
    asks, unwanted = "examples", named[-1]
    allowed = set(pool)
    if draw.chance(0.2):
        asks, unwanted = "without", draw.any(named[:count] if draw.chance(0.7) else named)
        named.remove(unwanted)
        allowed -= {unwanted}
    style = draw.any(("1.", "1.", "- ", ""))
    ask = draw.ask(_WORDING[asks], k=draw.any((words.spelled(count), str(count))), kind=kind, y=unwanted)
    exchanges = [_named(draw, ask, named[:count], allowed, style)]
    said = count
    while draw.chance(0.4) and len(exchanges) < 3 and said + 4 < len(named):
        more = draw.whole(2, 4)
        ask = draw.ask(_WORDING["more"], k=draw.any((words.spelled(more), str(more))))
        exchanges.append(_named(draw, ask, named[said : said + more], allowed - set(named[:said]), style, True))
        said += more
    return exchanges
