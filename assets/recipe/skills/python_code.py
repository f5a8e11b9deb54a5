"""Python on request: a function, then renamed, shown with an example, typed, documented or explained."""

from __future__ import annotations

import re

from assets.recipe.checks import contains
from assets.recipe.conversation import Check, Exchange
from assets.recipe.draw import Draw
from assets.recipe.skills.python_task import Case, Task, Way, fill, read_tasks, solves
from assets.recipe.wording import read_wording

_WORDING = read_wording("python_code")

TASKS = read_tasks()
_EVERYDAY = "[Write|Write|Give me|Show me|I need] a [Python|python] function that {does}."
_OPEN = (
    "",
    "",
    "Here is a function that {does}:\n\n",
    "Here [you go|it is]:\n\n",
    "Sure:\n\n",
    "This function {does}:\n\n",
    "You can write it like this:\n\n",
)
_PAIRS = (
    ("numbers", "number"),
    ("values", "value"),
    ("items", "item"),
    ("xs", "x"),
    ("elements", "element"),
    ("data", "entry"),
)
_CLASH = {"value": "item", "values": "items"}


def _names(draw: Draw, task: Task) -> dict[str, str]:
    sequence, element = draw.any(_PAIRS)
    if "value" in task.ways[0].code:
        sequence, element = _CLASH.get(sequence, sequence), _CLASH.get(element, element)
    return {
        "f": draw.any(task.names),
        "xs": sequence,
        "x": element,
        "s": draw.any(("text", "text", "string", "s")),
        "n": draw.any(("n", "n", "number", "num")),
    }


def _filled(way: Way, names: dict[str, str]) -> tuple[str, str]:
    return fill(way.code, names), fill(way.why, names)


def _block(code: str) -> str:
    return f"```python\n{code}\n```"


def _documented(code: str, does: str) -> str:
    head, rest = code.split("\n", 1)
    return f'{head}\n    """{does[0].upper()}{does[1:]}."""\n{rest}'


def _with_example(code: str, name: str, case: Case) -> str:
    given, expected = case
    return f"{code}\n\n\nprint({name}({given}))  # {expected}".replace("'", '"')


def _follow_ups(draw: Draw, task: Task, way: int, names: dict[str, str], does: str) -> Exchange:
    code, why = _filled(task.ways[way], names)
    name = names["f"]
    turn = draw.rng.random()
    if turn < 0.3:
        other = draw.nonsense() + draw.any(("", "_it", "_all")) if draw.chance(0.5) else draw.any(draw.any(TASKS).names)
        renamed = re.sub(rf"\b{name}\b", other, code)
        return Exchange(draw.ask(_WORDING["rename"], m=other), _block(renamed), solves(task, other), True)
    if turn < 0.5:
        return Exchange(
            draw.ask(_WORDING["example"]),
            _block(_with_example(code, name, task.cases[0])),
            solves(task),
            True,
        )
    if turn < 0.65:
        return Exchange(draw.ask(_WORDING["document"]), _block(_documented(code, does)), solves(task), True)
    if turn < 0.8 and len(task.ways) > 1:
        other_code, other_why = _filled(task.ways[1 - way], names)
        return Exchange(draw.ask(_WORDING["other_way"]), f"{_block(other_code)}\n\n{other_why}", solves(task), True)
    return Exchange(draw.ask(_WORDING["explain"]), why, contains(), True)


def _question(draw: Draw, task: Task, names: dict[str, str], does: str) -> tuple[str, Check]:
    """The task asked for: under a name, in the everyday form, in any other, or no task in particular."""
    if draw.chance(0.25):
        names["f"] = draw.nonsense() if draw.chance(0.3) else draw.any(task.names)
        return draw.ask(_WORDING["named"], f=names["f"], does=does), solves(task, names["f"])
    if draw.chance(0.25) and not draw.new_phrasing:
        return draw.expand(_EVERYDAY).format(does=does), solves(task)
    if draw.chance(0.04):
        return draw.ask(_WORDING["asks_any"]), contains("```python")
    return draw.ask(_WORDING["asks"], does=does), solves(task)


def compose(draw: Draw) -> list[Exchange]:
    """A function written on request, perhaps changed or explained afterwards."""
    task = draw.any(TASKS)
    names = _names(draw, task)
    does = draw.expand(draw.any(task.does if draw.new_phrasing else draw.side(task.does)))
    way = 0 if len(task.ways) == 1 or draw.chance(0.7) else 1
    ask, check = _question(draw, task, names, does)
    code, why = _filled(task.ways[way], names)
    reply = draw.say(_OPEN, does=does) + _block(code) + (f"\n\n{why}" if draw.chance(0.75) else "")
    exchanges = [Exchange(ask, reply, check)]
    while draw.chance(0.3) and len(exchanges) < 4:
        exchanges.append(_follow_ups(draw, task, way, names, does))
    return exchanges
