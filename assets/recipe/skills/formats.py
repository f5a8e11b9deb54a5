"""The user's words in another form: Markdown lists and tables, CSV, YAML, marks and signs; and changed once more."""

from __future__ import annotations

from typing import Any

from assets.recipe import user_words as given
from assets.recipe import words
from assets.recipe.conversation import Exchange, exact
from assets.recipe.draw import Draw
from assets.recipe.skills.objects import KEYS, json_of, record, some_value
from assets.recipe.words import read_wording

_WORDING = read_wording("formats")
_FORMS = {"list": "make_bullets", "numbered": "make_numbered", "json_list": "as_json", "column": "as_table"}
_HEADS = ("Item Price", "Item Price", "Name Age", "Name City", "Name Age City")
_JOINTS = (*[" "] * 6, " has ", " is ", " costs ", ": ", " likes ", " = ", " - ", " from ", " has a ", " gets ", " at ")
_GOODS = (*words.FOODS, *words.OBJECTS)
_MARKS = (("**{}**", "bold"), ("*{}*", "italics"), ("`{}`", "code"), ('"{}"', "quotes"), ("_{}_", "underscores"),
          ("**{}**", "bold type"), ("**{}**", "bold"), ("~~{}~~", "strikethrough"), ("({})", "brackets"),
          ("({})", "parentheses"), ("[{}]", "square brackets"), ("`{}`", "backticks"), ("*{}*", "italic"))  # fmt: skip


def in_table(heads: list[str], rows: list[list[str]]) -> str:
    """The rows as a table in Markdown."""
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (heads, ["---"] * len(heads), *rows))


def _objects(draw: Draw) -> list[Exchange]:
    """Facts as JSON, changed, or as a table in the end."""
    exchanges, facts = record(draw)
    if facts and draw.chance(0.08):
        table = in_table([key.title() for key in facts], [[str(value) for value in facts.values()]])
        exchanges.append(exact(draw.ask(_WORDING["as_table"]), table, True))
    return exchanges


def _in_form(ask: str, form: str, items: list[str], follow_up: bool = False) -> Exchange:
    if form == "json_list":
        return json_of(ask, items, follow_up)
    if form == "column":
        return exact(ask, in_table(["Item"], [[item] for item in items]), follow_up)
    return exact(ask, given.marked(items, "1." if form == "numbered" else "- "), follow_up)


def _list(draw: Draw) -> list[Exchange]:
    """A list in one form, then longer, shorter, sorted, or in another form."""
    ordered = draw.chance(0.5)
    *items, spare, last_spare = given.words_in_order(draw, draw.whole(4, 8)) if ordered else given.any_items(draw, 4, 8)
    spares = [spare, last_spare]
    form = draw.any(("list", "list", "list", "numbered", "numbered", "numbered", "json_list"))
    x = draw.say(_WORDING["said"], x=given.enumerated(items)) if draw.chance(0.1) else given.typed(draw, items)
    exchanges = [_in_form(draw.asked(_WORDING, form, x=x), form, items)]
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


def _rows(draw: Draw, named: bool) -> tuple[list[str], list[list[str]]]:
    """The heads of a table, named by the user if they are to be, and its rows, one of them to spare."""

    def cell(head: str) -> Any:
        if not named:
            return some_value(draw, head.lower())
        return given.some_word(draw) if draw.chance(0.4) else draw.whole(1, 300)

    if named:
        heads = list(dict.fromkeys(draw.rng.sample(draw.any((KEYS, words.every_word())), draw.any((2, 2, 2, 3)))))
        heads = [head.title() for head in heads] if draw.chance(0.5) else heads
        firsts = given.any_words(draw, 2, 5)
    else:
        heads, count = draw.any(_HEADS).split(), draw.whole(3, 5)
        firsts = draw.names(count) if heads[0] == "Name" else draw.words(_GOODS, count)
    return heads, [[first, *(str(cell(head)) for head in heads[1:])] for first in firsts]


def _told(draw: Draw, rows: list[list[str]], joints: tuple[str, ...] = (" ",)) -> str:
    """The rows as users type them in one line."""
    told = [draw.any(joints).join(row) for row in rows]
    return draw.any((given.enumerated, *(joint.join for joint in (", ", ", ", "; ", " and ", ", then "))))(told)


def _table(draw: Draw) -> list[Exchange]:
    """A table in Markdown, perhaps changed afterwards."""
    heads, (spare, *rows) = _rows(draw, named := draw.chance(0.6))
    if draw.chance(0.12):
        x = given.in_lines(draw, [" ".join(row) for row in rows])
        asks = _WORDING["heads" if named else "table"]
        asks = tuple(ask.replace(": {x}.", ":\n{x}").replace(": {x}", ":\n{x}") for ask in asks if ": {x}" in ask)
        ask = draw.ask(asks, x=x, h=given.enumerated(heads))
    else:
        x = _told(draw, rows, _JOINTS if named else (" ",))
        h = draw.any((" and ", ", ", " | ")).join(heads)
        ask = draw.asked(_WORDING, "heads" if named else "table", x=x, h=h)
    exchanges = [exact(ask, in_table(heads, rows))]
    if draw.chance(0.3):
        way = draw.any(("add", "remove", "sort_it"))
        row = spare if way == "add" else draw.any(rows)
        changed = {"add": [*rows, spare], "remove": [one for one in rows if one != row], "sort_it": sorted(rows)}[way]
        ask = draw.ask(_WORDING[way], y=" ".join(row) if way == "add" else row[0])
        exchanges.append(exact(ask, in_table(heads, changed), True))
    return exchanges


def _commas(draw: Draw) -> list[Exchange]:
    """CSV with heads, or one line of it; or a table made of it."""
    heads, rows = _rows(draw, True)
    rows = rows[: draw.any((1, 2, 2, 3))]
    way = draw.any(("csv", "csv", "csv", "csv_row", "csv_to_table"))
    if way == "csv_row":
        count = draw.any((2, 3, 3, 4))
        row = [draw.any((given.word(draw), draw.name(), str(draw.whole(1, 300)))) for _ in range(count)]
        told = draw.any((", ".join(row), ", ".join(row), given.enumerated(row)))
        return [given.handed_back(draw, draw.asked(_WORDING, way, x=told), ",".join(row))]
    if way == "csv_to_table":
        ask = draw.asked(_WORDING, way, h=",".join(heads), x=_told(draw, rows, (",",)))
        return [exact(ask, in_table(heads, rows))]
    h = draw.any((",", ",", ", ", " and ")).join(heads)
    ask = draw.asked(_WORDING, way, h=h, x=_told(draw, rows, (" ", " ", ",", ", ", " and ")))
    return [exact(ask, "\n".join(map(",".join, [heads, *rows])))]


def _marks(draw: Draw) -> list[Exchange]:
    """A word or a phrase between two marks, or a heading."""
    text = draw.any((given.word(draw), given.phrase(draw), given.some_text(draw)))
    if draw.chance(0.2):
        level = draw.whole(1, 4)
        ask = draw.ask(_WORDING["heading"], x=given.in_quotes(draw, text), k=level)
        return [given.handed_back(draw, ask, f"{'#' * level} {text}")]
    mark, name = draw.any(_MARKS)
    ask = draw.asked(_WORDING, "marks", x=text if name == "quotes" else given.in_quotes(draw, text), m=name)
    return [given.handed_back(draw, ask, mark.format(text))]


def _pairs(draw: Draw) -> list[Exchange]:
    """Keys and values, a line each, as YAML or as assignments."""
    way, sign = draw.any((("yaml", ": "), ("assigned", "=")))
    pairs = {draw.any(words.every_word()): draw.any((str(draw.whole(1, 9999)), given.some_word(draw), draw.name()))
             for _ in range(draw.any((1, 2, 2, 3)))}  # fmt: skip
    between = draw.any((" is ", " ", "=", ": ", " = "))
    told = draw.any((", ", ", ", " and ", "; ")).join(f"{key}{between}{value}" for key, value in pairs.items())
    return [exact(draw.asked(_WORDING, way, x=told), "\n".join(f"{key}{sign}{value}" for key, value in pairs.items()))]


def _shaped(draw: Draw) -> list[Exchange]:
    """Words in lines, in boxes, between signs, or one form out of another."""
    items, key = (given.any_items if draw.chance(0.3) else given.any_words)(draw, 2, 6), draw.any(words.every_word())
    done = {
        "boxes": given.marked(items, "- [ ] "), "yaml_list": f"{key}:\n{given.marked(items)}",
        "lines": given.marked(items, ""),
        "stars": given.marked(items, "* "), "dashes": given.marked(items), "steps": given.marked(items, "1."),
        "csv_to_list": given.marked(items), "pipes": "|".join(items), "commas_only": ",".join(items),
        "semicolons": "; ".join(items), "spaced_commas": ", ".join(items), "list_to_line": ", ".join(items),
        "quoted_each": ", ".join(f'"{item}"' for item in items),
    }  # fmt: skip
    way = draw.any((*done, "lines", "lines", "dashes", "steps", "spaced_commas", "commas_only"))
    x = given.typed(draw, items)
    if way == "list_to_line":
        x = draw.any((" ", "\n")).join(f"- {item}" for item in items)
    elif way == "csv_to_list":
        x = ",".join(items)
    elif way == "spaced_commas" and " " not in "".join(items):
        x = draw.any((" ", " ", ", ")).join(items)
    ask = draw.asked(_WORDING, way, x=x, y=key)
    plain = "\n" in done[way] or way == "dashes"
    return [exact(ask, done[way]) if plain else given.handed_back(draw, ask, done[way])]


def compose(draw: Draw) -> list[Exchange]:
    """One rewriting, perhaps changed afterwards."""
    ways = (*[_objects] * 9, *[_list, _shaped] * 6, *[_table] * 5, *[_commas] * 3, _marks, _marks, _pairs)
    return draw.any(ways)(draw)
