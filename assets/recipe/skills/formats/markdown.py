"""The user's words in another form: Markdown lists, YAML, marks and signs; and changed once more."""

from __future__ import annotations

import json
from typing import Any

from assets.recipe import user_words as given
from assets.recipe import words
from assets.recipe.conversation import Exchange, exact
from assets.recipe.draw import Draw
from assets.recipe.skills.formats import tables
from assets.recipe.skills.formats.objects import brought, json_of, record, some_facts, written
from assets.recipe.skills.formats.tables import in_table
from assets.recipe.skills.lists import two_demands
from assets.recipe.skills.lists.shapes import shapes
from assets.recipe.words import read_wording

_WORDING = read_wording("formats/markdown")
_FORMS = {"list": "make_bullets", "numbered": "make_numbered", "json_list": "as_json", "column": "as_table"}
_SIGNS, _MARKS = (
    {sign: names.split(" / ") for sign, _, names in (line.partition(" = ") for line in _WORDING[pool])}
    for pool in ("sign", "mark")
)
_ROWS = [words.POOLS[name] for name in words.entries(_WORDING, "rows")]
# What stands between the words of a line, where the reply begins with that.
_BETWEEN = {"spaced_commas": "commas", "semicolons": "semicolons", "spaces": "spaces"}
_PAIRS = (("pairs", "{}: {}"), ("marked_pairs", "- {}: {}"), ("assigned", "{}={}"))
_CLOSE = ("commas_only", "pipes")
_SENTENCES = (given.enumerated, given.enumerated, ", ".join, ", then ".join)
_COUNTED = [line.split(" / ") for line in _WORDING["counted"]]
_OFTEN, _BROUGHT = words.weighted(_WORDING, "often"), words.entries(_WORDING, "brought")


def _items(draw: Draw, low: int, high: int) -> list[str]:
    """Words, phrases, things to do, letters and codes, or what has an order of its own, such as days."""
    style, count = draw.rng.random(), draw.whole(low, high)
    if draw.chance(0.08):
        row = draw.any([row for row in _ROWS if len(row) >= count])
        first, small = draw.whole(0, len(row) - count), draw.chance(0.3)
        return [one.lower() if small else one for one in row[first : first + count]]
    if style < 0.35:
        verbs, befores = words.entries(_WORDING, "errands"), ("", "", "the ", "my ", "a ", "some ", "two ", "all ")
        some = [draw.name() if draw.chance(0.2) else draw.any(befores) + given.some_word(draw) for _ in range(count)]
        chosen = zip(draw.rng.sample(verbs, count), some, strict=True)
        return [verb if draw.chance(0.12) else f"{verb} {one}" for verb, one in chosen]
    if style < 0.5:
        return [str(n) for n in draw.rng.sample(range(draw.any((20, 60, 100, 999))), count)]
    if style < 0.6:
        letters = draw.rng.sample(words.ALPHABET, count)
        return [f"{one}{draw.whole(0, 99)}" for one in letters] if draw.chance(0.5) else letters
    if style < 0.65:
        joint = draw.any((" ", " ", ": ", " x", "-", " = "))
        return [f"{one}{joint}{draw.whole(1, 99)}" for one in given.any_words(draw, count, count)]
    return given.any_items(draw, low, high)


def _typed(draw: Draw, items: list[str], counts: float = 0.1) -> str:
    """The items as users type them; with numbers, letters or "first" and "second" before them so often."""
    if draw.chance(0.07):
        return draw.say(_WORDING["of a kind"], x=_typed(draw, items, 0))
    if draw.chance(0.12) and " " not in "".join(items):
        return " ".join(items)
    if draw.chance(counts):
        marks = draw.any((_COUNTED[0], draw.any(_COUNTED)))
        joint = draw.any((", ", ", ", " ", " ", " ", "\n", "; ", ". ", " and "))
        if len(marks) == 3:
            marks = [marks[0], *marks[1:2] * (len(items) - 2), marks[2]]
        return joint.join(map(" ".join, zip(marks, items, strict=False)))
    joints = (", ", "; ", " / ", ",", " and ", "\n", ", then ", " | ", ", and then ", " then ", "/", " + ", " & ", ";")
    if draw.chance(0.06):
        return draw.any((given.in_lines(draw, items), "- " + " - ".join(items)))
    fitting = [joint for joint in joints if not {*joint.split()} & {*" ".join(items).split()}]
    return draw.any(fitting).join(items) if draw.chance(0.25) else given.typed(draw, items)


def _numbers_or_words(items: list[str]) -> list[int] | list[str]:
    return [*map(int, items)] if all(one.isdecimal() and one == str(int(one)) for one in items) else items


def _in_form(ask: str, form: str, items: list[str], follow_up: bool = False) -> Exchange:
    if form == "json_list":
        return json_of(ask, items if "string" in ask else _numbers_or_words(items), follow_up)
    if form == "column":
        return exact(ask, in_table(["Item"], [[item] for item in items]), follow_up)
    return exact(ask, given.marked(items, "1." if form == "numbered" else "- "), follow_up)


def _list(draw: Draw) -> list[Exchange]:
    """A list in one form, then longer, shorter, sorted, or in another form."""
    ordered = draw.chance(0.3)
    most = draw.any((7, 8, 8, 12))
    *items, spare, last_spare = given.words_in_order(draw, draw.whole(4, most)) if ordered else _items(draw, 4, most)
    spares = [spare, last_spare]
    pool = form = draw.any(("list", "list", "list", "numbered", "numbered", "numbered", "json_list"))
    counts = 0.2 if form == "numbered" else 0.07
    if told := draw.chance(0.2):
        pool = f"{form} said" if draw.chance(0.6) else form
        often = draw.any((0, 0.2, 0.2, 1))
        items = [words.article(one) if one.isalpha() and one.islower() and draw.chance(often) else one for one in items]
    x = draw.say(_WORDING["said"], x=draw.any(_SENTENCES)(items)) if told else _typed(draw, items, counts)
    exchanges = [_in_form(draw.asked(_WORDING, pool, x=x, n=words.spelled(len(items))), form, items)]
    while draw.chance(0.35) and len(exchanges) < 3:
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


def _marks(draw: Draw) -> list[Exchange]:
    """A word or a phrase between two marks, as a heading or as a link; or words each between marks."""
    text, style = draw.any((given.word(draw), given.phrase(draw), given.some_text(draw))), draw.rng.random()
    mark = draw.any(tuple(_MARKS))
    name, level, x = draw.any(_MARKS[mark]), draw.whole(1, 4), text
    place = draw.say(_WORDING["address"], x=draw.any(words.every_word()))
    if style < 0.2:
        plain = ("heading plain",) * 4 if level == 1 else ()
        way, done = draw.any(("heading", "heading worded", *plain)), f"{'#' * level} {x}"
    elif style < 0.28:
        way, done = "link", f"[{x}]({place})"
    elif style < 0.45:
        items = given.any_words(draw, 2, 5)
        way, x, done = "each", _typed(draw, items), ", ".join(map(mark.format, items))
    else:
        way, done = "marks", mark.format(text)
    x = given.in_quotes(draw, x) if name != "quotes" and way not in ("link", "each") else x
    told = draw.any(words.entries(_WORDING, f"level {level}"))
    return [given.handed_back(draw, draw.asked(_WORDING, way, x=x, m=name, k=level, w=told, y=place), done)]


def _as_is(draw: Draw, ask: str, done: str, way: str) -> Exchange:
    """An exchange whose reply is these lines alone; one line comes after what is between, or a few polite words.

    Words without spaces between them come letter by letter: after a comma a word's pieces are others than in the text.
    """
    if way in _BETWEEN:
        return given.led(ask, f"With {_BETWEEN[way]}", done)
    if way in _CLOSE:
        return given.as_one(ask, done)
    return exact(ask, done) if "\n" in done else given.handed_back(draw, ask, done)


def _shaped(draw: Draw) -> list[Exchange]:
    """Words in a shape, told in any way or brought in another shape; or the words of a text in lines."""
    items, key = _items(draw, 2, draw.any((5, 6, 9))), draw.any(words.every_word())
    sign = draw.any(words.entries(_WORDING, "line signs"))
    forms = shapes(items, key, sign) | {"column": in_table([key], [[item] for item in items])}
    way = draw.any((*filter(_WORDING.__contains__, forms), *_OFTEN))
    if way == "word_lines":
        text = f"{given.some_text(draw)} {given.some_text(draw)}"
        return [exact(draw.asked(_WORDING, way, x=given.in_quotes(draw, text)), given.marked(text.split(), ""))]
    if draw.chance(0.2):
        x = draw.any([forms[one] for one in _BROUGHT if one != way] + [json.dumps(items, ensure_ascii=False)])
    elif way in ("spaced_commas", "spaces") and " " not in "".join(items):
        x = draw.any((", ", ", ", ",", "\n") if way == "spaces" else (" ", " ", ", ", " and ")).join(items)
    else:
        x = _typed(draw, items, 0.07 if way in ("dashes", "spaced_commas", "sentence", "steps") else 0)
    ask, done = draw.asked(_WORDING, way, x=x, y=key, s=sign, n=words.spelled(len(items))), forms[way]
    return [_as_is(draw, ask, done, way)]


def _known(draw: Draw) -> list[Exchange]:
    """A row that everybody knows, such as the days of the week or numbers in order, in any form."""
    name, _, told = draw.any(_WORDING["known"]).partition(" = ")
    first = draw.any((1, 1, 1, draw.whole(0, 20)))
    last = first + draw.whole(1, 6)
    name, items = draw.expand(name).format(a=first, b=last), told.split() or [*map(str, range(first, last + 1))]
    way = draw.any(("dashes", "dashes", "steps", "lines", "spaced_commas", "array"))
    ask = draw.ask(_WORDING["named"], r=name, b=draw.any(words.entries(_WORDING, f"to {way}")))
    if way == "array":
        return [json_of(ask, _numbers_or_words(items))]
    return [_as_is(draw, ask, shapes(items)[way], way)]


def _between(draw: Draw) -> list[Exchange]:
    """A list, a record or rows in another of the forms that they can have."""
    kind = draw.any(("list", "list", "record", "record", "rows"))
    data: Any
    if kind == "list":
        items = _items(draw, 2, draw.any((3, 4, 6)))
        data = _numbers_or_words(items)
        forms = shapes(items) | {"array": brought(draw, data)}
    elif kind == "record":
        data = some_facts(draw)
        heads, rows = list(data), [[*map(written, data.values())]]
        forms = {"object": brought(draw, data)}
        forms |= {name: "\n".join(map(form.format, heads, rows[0])) for name, form in _PAIRS}
    else:
        heads, rows, data = tables.records(draw)
        forms = {"objects": brought(draw, data)}
    if kind != "list":
        forms |= {"table": in_table(heads, rows), "csv": tables.in_csv(heads, rows)}
    one, other = "", ""
    while one == other:
        one, other = (draw.any(words.weighted(_WORDING, f"{kind} {side}")) for side in ("from", "to"))
    told, wanted = (draw.any(words.entries(_WORDING, name)) for name in (f"from {one}", f"to {other}"))
    fields = {"x": forms[one], "a": told, "b": wanted, "c": told.partition(" ")[2]}
    ask = draw.ask((*_WORDING["between"], *_WORDING.get(f"between {other}", ())), **fields)
    if other in ("array", "object", "objects"):
        return [json_of(ask, data)]
    return [_as_is(draw, ask, forms[other], other)]


def _joined(draw: Draw) -> list[Exchange]:
    """Words with a sign between them, close to it or not, or for their commas; or a text split at a sign."""
    way = draw.any(("joined", "joined close", "joined close", "joined wide", "joined instead", "split", "split"))
    sign = draw.any([one for one in _SIGNS if (way, one) != ("joined instead", ",")])
    items = (_items if way in ("joined instead", "split") else given.any_words)(draw, 2, draw.any((5, 9)))
    items = [item for item in items if sign not in item] or ["one", "two"]
    name = draw.any([one for one in _SIGNS[sign] if way != "split" or not one.startswith(("a ", "an "))])
    if way == "split":
        x = draw.any((sign, f"{sign} ", f" {sign} ")).join(items)
        return [exact(draw.asked(_WORDING, way, x=x, s=name), given.marked(items, ""))]
    after = sign in {"joined": ",;:", "joined instead": ",;:."}.get(way, "")
    wide = way == "joined wide" or (way == "joined instead" and sign not in "_/") or (way == "joined" and sign == "->")
    between = f"{sign} " if after else f" {sign} " if wide else sign
    x = (", " if way == "joined instead" else draw.any((", ", " ", " ", "\n"))).join(items)
    ask, done = draw.asked(_WORDING, way, x=x, s=name), between.join(items)
    return [given.led(ask, f"With {_SIGNS[sign][0]}", done) if " " in between else given.as_one(ask, done)]


def compose(draw: Draw) -> list[Exchange]:
    """One rewriting, perhaps changed afterwards."""
    ways = (*[record] * 17, *[_list] * 15, *[_shaped, tables.table, _between] * 8, *[two_demands.compose] * 3,
            *[tables.told_rows, _joined] * 4, *[_marks, _known] * 2)  # fmt: skip
    return draw.any(ways)(draw)
