"""Rows of facts as tables in Markdown and as CSV, told in any way, changed, and in one form out of another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from assets.recipe import user_words as given
from assets.recipe import words
from assets.recipe.conversation import Exchange, exact
from assets.recipe.draw import Draw
from assets.recipe.skills.formats.objects import KEYS, json_of, some_value
from assets.recipe.words import read_wording

_WORDING = read_wording("formats/markdown")
_HEADS = ("Item Price", "Item Price", "Name Age", "Name City", "Name Age City")
_JOINTS = [joint.strip("kv") for joint in _WORDING["joint"]]
# What stands in the first column of a table under this head.
_GOODS = (*words.FOODS, *words.OBJECTS)
_FIRSTS = dict.fromkeys(("item", "product"), _GOODS) | dict.fromkeys(("name", "player", "student"), words.NAMES)
_FIRSTS |= {head: words.SORTS[head] for head in words.entries(_WORDING, "heads first")}
_FIRSTS |= {"pet": words.ANIMALS, "word": words.WORDS}
_BESIDE, _NUMBERED, _NAMED = (words.entries(_WORDING, f"heads {name}") for name in ("beside", "numbered", "named"))


def in_table(heads: list[str], rows: list[list[str]]) -> str:
    """The rows as a table in Markdown."""
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (heads, ["---"] * len(heads), *rows))


def _value(draw: Draw, head: str) -> Any:
    """A value that may stand under the head: a name, a city, a number."""
    if head in _NAMED:
        return draw.name()
    return draw.any(words.CITIES) if head == "capital" else some_value(draw, head)


def _rows(draw: Draw, named: bool) -> tuple[list[str], list[list[str]]]:
    """The heads of a table, named by the user if they are to be, and its rows, one of them to spare."""

    def cell(head: str) -> Any:
        if not named:
            return some_value(draw, head.lower())
        return given.some_word(draw) if draw.chance(0.5) else draw.whole(1, 300)

    if named and draw.chance(0.15):
        first, (start, count) = draw.any(_NUMBERED), (draw.any((1, 1, 1, draw.whole(2, 990))), draw.whole(3, 5))
        heads = [first, *dict.fromkeys(draw.rng.choices([one for one in _BESIDE if one != first], k=draw.any((0, 1))))]
        others = draw.names(count) if draw.chance(0.6) else given.any_words(draw, count, count)
        second = draw.any([one for one in ("name", "name", "title", "word", "city", "team") if one not in heads])
        heads.insert(1, second)
        rows = [[str(start + at), one] for at, one in enumerate(others)]
        rows = [[*row, *(str(_value(draw, head)) for head in heads[2:])] for row in rows]
        return [head.title() for head in heads] if draw.chance(0.4) else heads, rows
    if named and draw.chance(0.5):
        first = draw.any(tuple(_FIRSTS))
        beside = dict.fromkeys(draw.rng.choices([one for one in _BESIDE if one != first], k=draw.any((1, 1, 1, 2))))
        heads = [first, *beside]
        pool, count = _FIRSTS[first], draw.whole(3, 5)
        firsts = draw.names(count) if pool is words.NAMES else draw.words(pool, count)
        rows = [[one, *(str(_value(draw, head)) for head in heads[1:])] for one in firsts]
        return [head.title() if head.islower() else head for head in heads] if draw.chance(0.6) else heads, rows
    if named:
        heads = draw.rng.sample(draw.any((tuple(dict.fromkeys(KEYS)), words.every_word())), draw.any((2, 2, 2, 3)))
        heads = [head.title() for head in heads] if draw.chance(0.5) else heads
        firsts = given.any_words(draw, 3, 5)
    else:
        heads, count = draw.any(_HEADS).split(), draw.whole(3, 5)
        firsts = draw.names(count) if heads[0] == "Name" else draw.words(_GOODS, count)
    return heads, [[first, *(str(cell(head)) for head in heads[1:])] for first in firsts]


def _told(draw: Draw, rows: list[list[str]], joints: Sequence[str] = (" ",)) -> str:
    """The rows as users type them in one line."""
    joint, same = draw.any(joints), draw.chance(0.85)
    told = [(joint if same else draw.any(joints)).join(row) for row in rows]
    if joint == " (x) ":
        told = [f"{row[0]} ({', '.join(row[1:])})" for row in rows]
    if "," in joint:
        return draw.any(("; ", "\n", " and ", " / ", " | ")).join(told)
    between = (", ", ", ", "; ", " and ", ", then ", ", and ", " / ", "\n", ". ", " | ")
    return draw.any((given.enumerated, *(sign.join for sign in between)))(told)


def table(draw: Draw) -> list[Exchange]:
    """A table in Markdown, perhaps changed afterwards."""
    heads, (spare, *rows) = _rows(draw, named := draw.chance(0.72))
    if draw.chance(0.15):
        spare, *rows = ([row[0].title(), *row[1:]] for row in (spare, *rows))
    if draw.chance(0.12):
        x = given.in_lines(draw, [" ".join(row) for row in rows])
        asks = _WORDING["heads" if named else "table"]
        asks = tuple(ask.replace(": {x}.", ":\n{x}").replace(": {x}", ":\n{x}") for ask in asks if ": {x}" in ask)
        ask = draw.ask(asks, x=x, h=given.enumerated(heads), c=words.spelled(len(heads)), r=words.spelled(len(rows)))
    else:
        x = _told(draw, rows, _JOINTS if named else (" ",))
        h = draw.any((" and ", " and ", ", ", ", ", " | ", " ", " / ", "; ", " & ", ",", " n ", " + ", "/")).join(heads)
        counts = {"c": words.spelled(len(heads)), "r": words.spelled(len(rows))}
        ask = draw.asked(_WORDING, "heads" if named else "table", x=x, h=h, **counts)
    exchanges = [exact(ask, in_table(heads, rows))]
    if draw.chance(0.3):
        way = draw.any(("add", "remove", "sort_it"))
        row = spare if way == "add" else draw.any(rows)
        changed = {"add": [*rows, spare], "remove": [one for one in rows if one != row], "sort_it": sorted(rows)}[way]
        ask = draw.ask(_WORDING[way], y=" ".join(row) if way == "add" else row[0])
        exchanges.append(exact(ask, in_table(heads, changed), True))
    return exchanges


def commas(draw: Draw) -> list[Exchange]:
    """CSV with heads, or a table made of it."""
    heads, rows = _rows(draw, True)
    rows = rows[: draw.any((1, 2, 2, 3))]
    way = draw.any(("csv", "csv", "csv", "csv_to_table"))
    if way == "csv_to_table":
        ask = draw.asked(_WORDING, way, h=",".join(heads), x=_told(draw, rows, (",",)))
        return [exact(ask, in_table(heads, rows))]
    h = draw.any((",", ",", ", ", " and ", " ", ";", " / ")).join(heads)
    ask = draw.asked(_WORDING, way, h=h, x=_told(draw, rows, (*_JOINTS, ",", ", ", " and ")))
    return [exact(ask, "\n".join(map(",".join, [heads, *rows])))]


def records(draw: Draw) -> tuple[list[str], list[list[str]], list[dict[str, Any]]]:
    """Heads and a few rows, and each row with its heads as JSON has it."""
    heads, rows = _rows(draw, True)
    heads, rows = [head.lower() for head in heads], rows[: draw.any((1, 2, 2, 3))]
    cells = ([int(cell) if cell.isdigit() else cell for cell in row] for row in rows)
    return heads, rows, [dict(zip(heads, row, strict=True)) for row in cells]


def objects_of(draw: Draw) -> list[Exchange]:
    """Rows that are told in any way as a JSON list of objects."""
    heads, rows, facts = records(draw)
    x, h = _told(draw, rows, _JOINTS[:12]), draw.any((", ", " and ", ",", " / ")).join(heads)
    return [json_of(draw.ask(_WORDING["records"], x=x, h=h), facts)]


def edited(draw: Draw) -> list[Exchange]:
    """A table or CSV that the user brings: a row more, a row less, or one of its values."""
    heads, (spare, *rows) = _rows(draw, True)
    way, form = draw.any(("row_added", "row_gone", "cell_of")), draw.any(("table", "csv"))
    write = in_table if form == "table" else lambda heads, rows: "\n".join(map(",".join, [heads, *rows]))
    rows = rows or [spare]
    row, at = draw.any(rows), draw.whole(1, len(heads) - 1)
    told = draw.any((" ", ", ", ",")).join(spare) if way == "row_added" else row[0]
    ask = draw.ask(_WORDING[way], x=write(heads, rows), y=told, h=heads[at])
    if way == "cell_of":
        return [given.handed_back(draw, ask, row[at])]
    left = [*rows, spare] if way == "row_added" else [one for one in rows if one != row]
    return [exact(ask, write(heads, left))]
