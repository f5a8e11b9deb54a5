"""The same facts in another form: JSON, Markdown lists, Markdown tables; and changed once they have it."""

from __future__ import annotations

import json
from typing import Any

from assets.recipe import words
from assets.recipe.checks import exactly_in
from assets.recipe.conversation import Check, Exchange
from assets.recipe.draw import Draw
from assets.recipe.skills.user_words import any_words, enumerated, in_lines, word, words_in_order
from assets.recipe.wording import read_wording

_WORDING = read_wording("formats")

_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_NUMERIC, _TEXTUAL, _OTHER = (tuple(_WORDING[f"{sort} keys"][0].split()) for sort in ("numeric", "textual", "other"))
_KEYS = (*_NUMERIC, *_TEXTUAL, *_OTHER)
_USUAL = ("name", "name", "age", "age", "city", "job", "score", "colour", "price")
_EVENTS = ("party", "concert", "meeting", "lesson", "race", "parade", "market", "picnic", "wedding", "dance")
_GOODS = (*words.FOODS, *words.OBJECTS)
_FORMS = {"list": "make_bullets", "numbered": "make_numbered", "json_list": "as_json", "column": "as_table"}


def _is_json(expected: object) -> Check:
    def check(reply: str) -> bool:
        try:
            return bool(json.loads(reply.split("```json")[-1].split("```")[0]) == expected)
        except ValueError:
            return False

    return check


def _in_json(facts: object) -> str:
    text = json.dumps(facts, indent=2 if isinstance(facts, dict) else None, ensure_ascii=False)
    return f"```json\n{text}\n```"


def _in_table(heads: list[str], rows: list[list[str]]) -> str:
    lines = (heads, ["---"] * len(heads), *rows)
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def _value(draw: Draw, key: str) -> Any:
    """A value that fits the key."""
    if key == "name":
        return draw.name()
    pools = {"city": words.CITIES, "job": words.JOBS, "animal": words.ANIMALS, "day": _DAYS,
             "product": _GOODS, "event": _EVENTS}  # fmt: skip
    if key == "time":
        return f"{draw.whole(7, 21)}:{draw.any(('00', '00', '15', '30', '45'))}"
    if key in pools:
        return draw.any(pools[key])
    return draw.whole(*{"age": (5, 95), "price": (1, 99), "years": (1, 15)}[key])


def _fields(draw: Draw) -> tuple[str, dict[str, Any]]:
    """Any keys with any values, as people write them down, and the facts in it."""
    facts: dict[str, Any] = {}
    for key in dict.fromkeys(
        draw.rng.sample(_USUAL if draw.chance(0.4) else _KEYS, draw.any((1, 2, 2, 2, 3, 3, 4, 5)))
    ):
        numeric = key in _NUMERIC or (key not in _TEXTUAL and draw.chance(0.3))
        named = key in ("name", "friend", "owner", "author")
        facts[key] = draw.whole(0, draw.any((20, 99, 2030))) if numeric else draw.name() if named else word(draw)
        if named and draw.chance(0.15):
            facts[key] = facts[key].lower()
    between, join = draw.any(((" ", ", "), (" ", ", "), (": ", ", "), ("=", ", "), (" = ", "\n"), (": ", "\n"),
                              (" is ", ", "), (" is ", " and "), (": ", "; "), (" ", " and ")))  # fmt: skip
    told = [f"{key}{between}{value}" for key, value in facts.items()]
    return enumerated(told) if between == " " and draw.chance(0.6) else join.join(told), facts


def _record(draw: Draw) -> tuple[str, dict[str, Any]]:
    """A sentence and the facts in it."""
    if draw.chance(0.55):
        return _fields(draw)
    kind, keys = draw.any((
        ("person", "n name,a age,c city"), ("person", "n name,a age,c city"), ("aged", "n name,a age"),
        ("living", "n name,c city"), ("working", "n name,j job"), ("aged", "n name,a age"),
        ("worker", "n name,a age,c city,j job"), ("worker", "n name,a age,c city,j job"),
        ("pet", "n name,p animal,a age"), ("product", "o product,a price"), ("event", "e event,d day,a time"),
    ))  # fmt: skip
    facts: dict[str, Any] = {}
    fields: dict[str, Any] = {}
    for pair in keys.split(","):
        field, key = pair.split()
        value = _value(draw, "years" if kind == "pet" and key == "age" else key)
        facts[key] = fields[field] = value
    return draw.say(_WORDING[kind], **fields), facts


def _object(draw: Draw) -> list[Exchange]:
    sentence, facts = _record(draw)
    exchanges = [
        Exchange(draw.ask(_WORDING["json"], _WORDING["json varied"], x=sentence), _in_json(facts), _is_json(facts))
    ]
    while draw.chance(0.4) and len(exchanges) < 3:
        if draw.chance(0.2):
            table = _in_table([key.title() for key in facts], [[str(value) for value in facts.values()]])
            exchanges.append(Exchange(draw.ask(_WORDING["as_table"]), table, exactly_in(table), True))
            break
        key = draw.any(list(facts))
        new = draw.whole(1, 99) if isinstance(facts[key], int) else draw.name() if key == "name" else word(draw)
        facts = {**facts, key: new}
        ask = draw.ask(_WORDING["change"], key=key, y=facts[key])
        exchanges.append(Exchange(ask, _in_json(facts), _is_json(facts), True))
    return exchanges


def _shown(form: str, items: list[str]) -> str:
    if form == "json_list":
        return _in_json(items)
    if form == "column":
        return _in_table(["Item"], [[item] for item in items])
    return "\n".join(f"{at}. {item}" if form == "numbered" else f"- {item}" for at, item in enumerate(items, 1))


def _in_form(ask: str, form: str, items: list[str], follow_up: bool = False) -> Exchange:
    reply = _shown(form, items)
    return Exchange(ask, reply, _is_json(items) if form == "json_list" else exactly_in(reply), follow_up)


def _list(draw: Draw) -> list[Exchange]:
    """A list in one form, then longer, shorter, sorted, or in another form."""
    *items, spare, last_spare = words_in_order(draw, draw.whole(5, 8))
    spares = [spare, last_spare]
    form = draw.any(("list", "list", "list", "numbered", "numbered", "json_list"))
    shown = draw.any((enumerated(items), enumerated(items), ", ".join(items)))
    exchanges = [_in_form(draw.ask(_WORDING[form], x=shown), form, items)]
    while draw.chance(0.5) and len(exchanges) < 3:
        way = draw.any(("add", "add", "remove", "remove", "sort_it", *_FORMS))
        fields: dict[str, object] = {}
        if way == form or (way == "list" and form not in ("numbered", "column")):
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


def _rows(draw: Draw) -> tuple[list[str], list[list[str]]]:
    """The heads of a table and its rows, one of them to spare."""
    heads = draw.any((["Item", "Price"], ["Item", "Price"], ["Name", "Age"], ["Name", "City"], ["Name", "Age", "City"]))
    count = draw.whole(3, 5)
    firsts = draw.names(count) if heads[0] == "Name" else draw.words(_GOODS, count)
    return heads, [[first, *(str(_value(draw, head.lower())) for head in heads[1:])] for first in firsts]


def _any_rows(draw: Draw) -> tuple[list[str], list[list[str]]]:
    """Columns that the user names, and rows of any words and numbers."""
    heads = list(dict.fromkeys(draw.rng.sample(_KEYS, draw.whole(2, 3))))
    heads = [head.title() for head in heads] if draw.chance(0.3) else heads
    firsts = any_words(draw, 3, 5)
    return heads, [[first, *(word(draw) if draw.chance(0.5) else str(draw.whole(1, 200)) for _ in heads[1:])]
                   for first in firsts]  # fmt: skip


def _table(draw: Draw) -> list[Exchange]:
    heads, (spare, *rows) = _any_rows(draw) if (named := draw.chance(0.4)) else _rows(draw)
    told = [" ".join(row) for row in rows]
    x = draw.any((enumerated(told), ", ".join(told), in_lines(draw, told)))
    asks = _WORDING["heads" if named else "table"]
    if "\n" in x:
        asks = tuple(ask.replace(": {x}.", ":\n{x}").replace(": {x}", ":\n{x}") for ask in asks if ": {x}" in ask)
    exchanges = [
        Exchange(
            draw.ask(asks, () if named or "\n" in x else _WORDING["table varied"], x=x, h=enumerated(heads)),
            table := _in_table(heads, rows),
            exactly_in(table),
        )
    ]
    if draw.chance(0.45):
        way = draw.any(("add", "remove", "sort_it"))
        row = spare if way == "add" else draw.any(rows)
        changed = {"add": [*rows, spare], "remove": [one for one in rows if one != row], "sort_it": sorted(rows)}[way]
        ask = draw.ask(_WORDING[way], y=" ".join(row) if way == "add" else row[0])
        exchanges.append(Exchange(ask, table := _in_table(heads, changed), exactly_in(table), True))
    return exchanges


def compose(draw: Draw) -> list[Exchange]:
    """One rewriting, perhaps changed afterwards."""
    return draw.any((*[_object] * 4, *[_list] * 5, *[_table] * 2))(draw)
