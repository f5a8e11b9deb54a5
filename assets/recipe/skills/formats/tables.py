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
_HEADS = ("item price", "item price", "name age", "name city", "name age city")
_JOINTS = [joint.strip("kv") for joint in _WORDING["joint"]]
# What stands in the first column of a table under this head.
_FIRSTS = {head: words.POOLS[pool] for head, pool in words.pairs(_WORDING, "heads first")}
_BESIDE, _NUMBERED, _BESIDE_NUMBERS = (
    words.entries(_WORDING, f"heads {name}") for name in ("beside", "numbered", "beside numbers")
)


def in_table(heads: list[str], rows: list[list[str]]) -> str:
    """The rows as a table in Markdown."""
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (heads, ["---"] * len(heads), *rows))


def in_csv(heads: list[str], rows: list[list[str]]) -> str:
    """The heads and the rows, a line each, with commas."""
    return "\n".join(map(",".join, [heads, *rows]))


def _rows(draw: Draw, named: bool) -> tuple[list[str], list[list[str]]]:
    """The heads of a table, named by the user if they are to be, and its rows, one of them to spare."""
    count, style = draw.any((2, 3, 3, 4, 4, 5)), draw.rng.random() if named else 1
    if style < 0.58:
        numbered = style < 0.15
        first = draw.any(_NUMBERED if numbered else tuple(_FIRSTS))
        if numbered:
            start = draw.any((1, 1, 1, draw.whole(2, 990)))
            firsts = [*map(str, range(start, start + count))]
        else:
            firsts = draw.names(count) if _FIRSTS[first] is words.NAMES else draw.words(_FIRSTS[first], count)
        pool = [one for one in (_BESIDE_NUMBERS if numbered else _BESIDE) if one != first]
        heads = [first, *dict.fromkeys(draw.rng.choices(pool, k=draw.any((1, 1, 1, 2))))]
    elif named:
        heads = draw.rng.sample(draw.any((tuple(dict.fromkeys(KEYS)), words.every_word())), draw.any((2, 2, 2, 3)))
        firsts = given.any_words(draw, count, count)
    else:
        heads = draw.any(_HEADS).split()
        firsts = draw.names(count) if heads[0] == "name" else draw.words(draw.any((words.FOODS, words.OBJECTS)), count)

    def cell(head: str) -> Any:
        if 0.58 <= style < 1:
            return given.some_word(draw) if draw.chance(0.5) else draw.whole(1, 300)
        return some_value(draw, head)

    rows = [[first, *(str(cell(head)) for head in heads[1:])] for first in firsts]
    return [head.title() if head.islower() else head for head in heads] if draw.chance(0.55) else heads, rows


def _told(draw: Draw, rows: list[list[str]], joints: Sequence[str] = (" ",)) -> str:
    """The rows as users type them in one line."""
    joint, same = draw.any(joints), draw.chance(0.85)
    told = [(joint if same else draw.any(joints)).join(row) for row in rows]
    if joint.strip().isalpha() and draw.chance(0.25) and all(row[0].isalpha() and row[0].islower() for row in rows):
        before = draw.any((words.article, "the {}".format, "my {}".format))
        told = [before(row) for row in told]
    if joint == " (x) ":
        told = [f"{row[0]} ({', '.join(row[1:])})" for row in rows]
    if "," in joint:
        return draw.any(("; ", "\n", " and ", " / ", " | ", *[" "] * (" " not in "".join(told)))).join(told)
    between = (", ", ", ", "; ", " and ", ", then ", ", and ", " / ", "\n", ". ", " | ")
    return draw.any((given.enumerated, *(sign.join for sign in between)))(told)


def table(draw: Draw) -> list[Exchange]:
    """A table in Markdown, perhaps changed afterwards."""
    heads, (spare, *rows) = _rows(draw, named := draw.chance(0.85))
    heads = heads if named else [head.title() for head in heads]
    if draw.chance(0.15):
        spare, *rows = ([row[0].title(), *row[1:]] for row in (spare, *rows))
    lined, counts = draw.chance(0.1), {"c": words.spelled(len(heads)), "r": words.spelled(len(rows))}
    joints = _JOINTS if named and draw.chance(0.6) else (" ",)
    x = given.in_lines(draw, [*map(" ".join, rows)]) if lined else _told(draw, rows, joints)
    h = draw.any((" and ", " and ", ", ", ", ", " | ", " ", " / ", "; ", " & ", ",", " n ", " + ", "/")).join(heads)
    if len(heads) == 2 and draw.chance(0.15):
        h = draw.say(_WORDING["two heads"], a=heads[0], b=heads[1])
    pool = "heads" if named else "table"
    if named and draw.chance(0.4):
        pool, h = "heads said", draw.any((" and ", " and ", ", ", ", ", " & ", " / ", " | ")).join(heads)
        heads = [words.upper_first(head) for head in heads]
    ask = draw.asked(_WORDING, pool, x=x, h=h, **counts)
    exchanges = [exact(ask, in_table(heads, rows))]
    if draw.chance(0.3):
        way = draw.any(("add", "remove", "sort_it"))
        row = spare if way == "add" else draw.any(rows)
        changed = {"add": [*rows, spare], "remove": [one for one in rows if one != row], "sort_it": sorted(rows)}[way]
        ask = draw.ask(_WORDING[way], y=" ".join(row) if way == "add" else row[0])
        exchanges.append(exact(ask, in_table(heads, changed), True))
    return exchanges


def records(draw: Draw) -> tuple[list[str], list[list[str]], list[dict[str, Any]]]:
    """Heads and a few rows, and each row with its heads as JSON has it."""
    heads, rows = _rows(draw, True)
    rows = rows[: draw.any((1, 2, 2, 3))]
    cells = ([int(cell) if cell.isdigit() else cell for cell in row] for row in rows)
    return heads, rows, [dict(zip(heads, row, strict=True)) for row in cells]


def told_rows(draw: Draw) -> list[Exchange]:
    """Rows that are told in any way as CSV with heads, or as a JSON list of objects."""
    (heads, rows, facts), way = records(draw), draw.any((*["csv"] * 6, "bare_csv", "records", "records"))
    h = draw.any((",", ",", ", ", " and ", " ", ";", " / ")).join(heads)
    pool, x = way, _told(draw, rows, (*_JOINTS, ",", ", ", " and "))
    # One row alone would be a record, not a list of them.
    if way != "bare_csv" and (way == "csv" or len(rows) > 1) and draw.chance(0.2):
        joint = draw.any((" ", " ", ": ", "=", " is "))
        named = [[f"{head}{joint}{cell}" for head, cell in zip(heads, row, strict=True)] for row in rows]
        pool, x = f"{way} told", _told(draw, named, (" ", ", ", " and "))
    ask = draw.asked(_WORDING, pool, h=h, x=x)
    written = "\n".join(map(",".join, rows)) if way == "bare_csv" else in_csv(heads, rows)
    return [json_of(ask, facts) if way == "records" else exact(ask, written)]
