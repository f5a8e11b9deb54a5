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
from assets.recipe.words import read_wording

_WORDING = read_wording("formats/markdown")
_FORMS = {"list": "make_bullets", "numbered": "make_numbered", "json_list": "as_json", "column": "as_table"}
_SIGNS, _MARKS = (
    {sign: names.split(" / ") for sign, _, names in (line.partition(" = ") for line in _WORDING[pool])}
    for pool in ("sign", "mark")
)
_ROWS = [words.POOLS[name] for name in words.entries(_WORDING, "rows")]
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
    return given.any_items(draw, low, high)


def _typed(draw: Draw, items: list[str], counts: float = 0.07) -> str:
    """The items as users type them; with numbers, letters or "first" and "second" before them so often."""
    if draw.chance(counts):
        marks, joint = draw.any(_COUNTED), draw.any((", ", ", ", " ", "\n", "; ", ". ", " and "))
        if len(marks) == 3:
            marks = [marks[0], *marks[1:2] * (len(items) - 2), marks[2]]
        return joint.join(map(" ".join, zip(marks, items, strict=False)))
    joints = (", ", "; ", " / ", ",", " and ", "\n", ", then ", " | ", ", and then ", " then ", "/", " + ", " & ", ";")
    if draw.chance(0.06):
        return draw.any((given.in_lines(draw, items), "- " + " - ".join(items)))
    fitting = [joint for joint in joints if not {*joint.split()} & {*" ".join(items).split()}]
    return draw.any(fitting).join(items) if draw.chance(0.25) else given.typed(draw, items)


def _objects(draw: Draw) -> list[Exchange]:
    """Facts as JSON, changed, or as a table in the end."""
    exchanges, facts = record(draw)
    if facts and draw.chance(0.08):
        table = in_table([key.title() for key in facts], [[str(value) for value in facts.values()]])
        exchanges.append(exact(draw.ask(_WORDING["as_table"]), table, True))
    return exchanges


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
        items = [words.article(one) if one.isalpha() and one.islower() and draw.chance(0.2) else one for one in items]
    x = draw.say(_WORDING["said"], x=given.enumerated(items)) if told else _typed(draw, items, counts)
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
    """A word or a phrase between two marks, or a heading."""
    text = draw.any((given.word(draw), given.phrase(draw), given.some_text(draw)))
    if draw.chance(0.2):
        level = draw.whole(1, 4)
        text = text.title() if draw.chance(0.3) else text
        way = draw.any(("heading", "heading worded", *(["heading plain"] * 4 if level == 1 else ())))
        ask = draw.ask(
            _WORDING[way], x=given.in_quotes(draw, text), k=level, w=draw.any(words.entries(_WORDING, f"level {level}"))
        )
        return [given.handed_back(draw, ask, f"{'#' * level} {text}")]
    mark = draw.any(tuple(_MARKS))
    name = draw.any(_MARKS[mark])
    if draw.chance(0.2):
        items = given.any_words(draw, 2, 5)
        return [given.handed_back(draw, draw.ask(_WORDING["each"], x=_typed(draw, items), m=name),
                                  ", ".join(map(mark.format, items)))]  # fmt: skip
    ask = draw.asked(_WORDING, "marks", x=text if name == "quotes" else given.in_quotes(draw, text), m=name)
    return [given.handed_back(draw, ask, mark.format(text))]


def _pairs(draw: Draw) -> list[Exchange]:
    """Keys and values, a line each, as YAML, as assignments or as XML; in one line as a query; a link."""
    way, sign = draw.any((*[("yaml", ": "), ("assigned", "=")] * 3, ("xml", ""), ("query", "="), ("link", "")))
    if way == "link":
        text, place = given.some_text(draw), draw.any(words.every_word()) + draw.any((".com", ".org", ".net/a", ".de"))
        place = draw.any(("https://", "http://", "https://www.", "")) + place
        return [given.handed_back(draw, draw.ask(_WORDING[way], x=text, y=place), f"[{text}]({place})")]
    pairs = {draw.any(words.every_word()): draw.any((str(draw.whole(1, 9999)), given.some_word(draw), draw.name()))
             for _ in range(draw.any((1, 2, 2, 3)))}  # fmt: skip
    key, value = draw.any(words.every_word()), draw.any((str(draw.whole(1, 9999)), given.some_word(draw)))
    between = draw.any((" is ", " ", "=", ": ", " = ", " set to ", ":", " -> ", " to ", " being "))
    added = way == "assigned" and key not in pairs and draw.chance(0.25)
    if added:
        between = "="
    told = draw.any((", ", ", ", " and ", "; ")).join(f"{key}{between}{value}" for key, value in pairs.items())
    if added:
        way, pairs[key] = "assigned_more", value
    ask = draw.asked(_WORDING, way, x=told, y=f"{key}={value}")
    if way == "query":
        return [given.handed_back(draw, ask, "&".join(f"{one}={two}" for one, two in pairs.items()))]
    form = "<{0}>{1}</{0}>" if way == "xml" else f"{{0}}{sign}{{1}}"
    return [exact(ask, "\n".join(form.format(*pair) for pair in pairs.items()))]


def _shapes(items: list[str], key: str) -> dict[str, str]:
    """The items in lines, in boxes, between signs; some also under the key."""
    return {
        "boxes": given.marked(items, "- [ ] "), "yaml_list": f"{key}:\n{given.marked(items)}",
        "lines": given.marked(items, ""), "stars": given.marked(items, "* "), "dashes": given.marked(items),
        "steps": given.marked(items, "1."), "pipes": "|".join(items), "commas_only": ",".join(items),
        "semicolons": "; ".join(items), "spaced_commas": ", ".join(items), "quoted_each": given.quoted(items),
        "yaml_bare": given.marked(items), "sentence": given.enumerated(items),
        "nested_list": f"- {key}\n{given.marked(items, '  - ')}",
        "html_list": "<ul>\n" + "".join(f"  <li>{item}</li>\n" for item in items) + "</ul>",
    }  # fmt: skip


def _as_is(draw: Draw, ask: str, done: str) -> Exchange:
    """An exchange whose reply is these lines alone; one line comes after a few polite words."""
    return exact(ask, done) if "\n" in done else given.handed_back(draw, ask, done)


def _shaped(draw: Draw) -> list[Exchange]:
    """Words in a shape, told in any way or brought in another shape; or the words of a text in lines."""
    items, key = _items(draw, 2, draw.any((5, 6, 9))), draw.any(words.every_word())
    shapes = _shapes(items, key)
    way = draw.any((*shapes, *_OFTEN))
    if way == "word_lines":
        text = given.some_text(draw)
        return [exact(draw.asked(_WORDING, way, x=given.in_quotes(draw, text)), given.marked(text.split(), ""))]
    if draw.chance(0.2):
        x = draw.any([shapes[one] for one in _BROUGHT if one != way] + [json.dumps(items, ensure_ascii=False)])
    elif way == "spaced_commas" and " " not in "".join(items):
        x = draw.any((" ", " ", ", ")).join(items)
    else:
        x = _typed(draw, items, 0.07 if way in ("dashes", "spaced_commas", "sentence", "steps") else 0)
    ask, done = draw.asked(_WORDING, way, x=x, y=key, n=words.spelled(len(items))), shapes[way]
    return [_as_is(draw, ask, done)]


def _between(draw: Draw) -> list[Exchange]:
    """A list, a record or rows in another of the forms that they can have."""
    kind = draw.any(("list", "list", "record", "record", "rows"))
    data: Any
    if kind == "list":
        items = _items(draw, 2, draw.any((3, 4, 6)))
        data = _numbers_or_words(items)
        forms = _shapes(items, "") | {"array": brought(draw, data)}
    elif kind == "record":
        data = some_facts(draw)
        pairs = [(key, written(value)) for key, value in data.items()]
        heads, rows = list(data), [[value for _, value in pairs]]
        lines = [f"{key}: {value}" for key, value in pairs]
        forms = {"object": brought(draw, data), "pairs": "\n".join(lines), "marked_pairs": given.marked(lines),
                 "assigned": "\n".join(f"{key}={value}" for key, value in pairs)}  # fmt: skip
    else:
        heads, rows, data = tables.records(draw)
        forms = {"objects": brought(draw, data)}
    if kind != "list":
        forms |= {"table": in_table(heads, rows), "csv": "\n".join(map(",".join, [heads, *rows]))}
    one, other = "", ""
    while one == other:
        one, other = (draw.any(words.weighted(_WORDING, f"{kind} {side}")) for side in ("from", "to"))
    told, wanted = (draw.any(words.entries(_WORDING, name)) for name in (f"from {one}", f"to {other}"))
    fields = {"x": forms[one], "a": told, "b": wanted, "c": told.partition(" ")[2]}
    ask = draw.ask((*_WORDING["between"], *_WORDING.get(f"between {other}", ())), **fields)
    if other in ("array", "object", "objects"):
        return [json_of(ask, data)]
    return [_as_is(draw, ask, forms[other])]


def _joined(draw: Draw) -> list[Exchange]:
    """Words with a sign between them, close to it or not; or a text split at a sign, a line each."""
    items, sign = (_items if draw.chance(0.3) else given.any_words)(draw, 2, draw.any((5, 9))), draw.any(tuple(_SIGNS))
    items = [item for item in items if sign not in item] or ["one", "two"]
    way = draw.any(("joined", "joined close", "joined close", "joined wide", "split", "split"))
    name = draw.any([one for one in _SIGNS[sign] if way != "split" or not one.startswith(("a ", "an "))])
    if way == "split":
        x = draw.any((sign, f"{sign} ", f" {sign} ")).join(items)
        return [exact(draw.ask(_WORDING[way], x=x, s=name), given.marked(items, ""))]
    wide = way == "joined wide" or (way == "joined" and sign == "->")
    between = f" {sign} " if wide else f"{sign} " if way == "joined" and sign in ",;" else sign
    x = draw.any((", ", " ", " ", "\n")).join(items) if " " not in "".join(items) else ", ".join(items)
    ask, done = draw.ask(_WORDING[way], x=x, s=name), between.join(items)
    return [given.handed_back(draw, ask, done) if " " in between else given.as_one(ask, done)]


def compose(draw: Draw) -> list[Exchange]:
    """One rewriting, perhaps changed afterwards."""
    ways = (*[_objects, _list] * 12, *[_shaped, tables.table, _between] * 8, *[tables.commas, two_demands.compose] * 3,
            *[_joined] * 3, *[_marks, _pairs] * 2, tables.objects_of, tables.edited)  # fmt: skip
    return draw.any(ways)(draw)
