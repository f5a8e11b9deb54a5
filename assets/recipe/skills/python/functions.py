"""Python functions on request, in the manner that is wished for; then renamed, typed, documented or explained."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from assets.recipe.conversation import Check, Exchange, code_block, mentions
from assets.recipe.draw import Draw
from assets.recipe.skills.python.composed import composed
from assets.recipe.skills.python.programs import program
from assets.recipe.skills.python.task import Case, Task, fill, parses, read_tasks, solves
from assets.recipe.words import ORDINALS, read_wording

_WORDING = read_wording("python_code")
TASKS = read_tasks()
# Tasks that are asked for again and again have many names.
_FAMOUS = tuple(task for task in TASKS if len(task.about) >= 4)
_SHOWCASE = tuple(task for task in TASKS if task.about[0] in ("the sum of a list", "the product of a list"))
_EVERYDAY = "[Write|Write|Write|Write|Give me|Show me|I need] a [Python|Python|Python|python] function that {does}."
_FRAMES = ("asks", "asks", "asks", "asks_to", "asks_to", "asks_about")
# Of several wordings and names the first is by far the most usual: a small model is spared the choice.
_OPEN = ("", "", "", "", "Here is a function that {does}:\n\n", "Here is a function that {does}:\n\n", "Sure:\n\n")
_PAIRS = (*(("numbers", "number"),) * 6, ("values", "value"), ("items", "item"), ("elements", "element"))
_CLASH = {"value": "item", "values": "items"}
# What each addition leaves in the code.
_MARKS = {"document": '"""', "comment": "#", "typed": "->", "example": "\n\n"}
_CHANGES = {"rename": 24, "example": 14, "document": 12, "comment": 8, "typed": 10, "other_way": 12, "explain": 12,
            "line": 8}  # fmt: skip
_FIRST_LINES = 5
# What users call a parameter, by the type of what is passed.
_PARAMETERS = {kind: tuple(_WORDING[f"parameters {kind}"][0].split()) for kind in ("list", "str", "int", "dict")}
_BUILT_IN = ("sum", "max", "min", "len", "sorted")
_ONLY_WAY = "I know only this way:\n\n"
# A line of code, and a sentence about it.
_MEANINGS = tuple(line.split(" => ") for line in _WORDING["meaning"])


@dataclass(frozen=True)
class _Shown:
    """A function as a conversation shows it: one way under its names, with its additions ("document", "typed" …).

    `renamed` are the parameters that the user calls otherwise.
    """

    task: Task
    way: int
    names: dict[str, str]
    does: str
    additions: frozenset[str] = frozenset()
    renamed: tuple[tuple[str, str], ...] = ()

    @property
    def name(self) -> str:
        return self.names["f"]

    @property
    def why(self) -> str:
        return fill(self.task.ways[self.way].why, self.names)

    @property
    def plain(self) -> str:
        """The function without additions."""
        code, renamed = fill(self.task.ways[self.way].code, self.names), dict(self.renamed)
        return re.sub(r"(?<![.\w\"'\\])[a-z]\w*", lambda found: renamed.get(found.group(), found.group()), code)

    @property
    def parameters(self) -> list[str]:
        return _parameters(self.plain.partition("\n")[0])

    @property
    def manner(self) -> str:
        """Return a wish for the way it is written: without a built-in function, in a loop, in a line; or nothing."""
        body, ways = self.plain.partition("\n")[2], "".join(way.code for way in self.task.ways)
        spared = next((one for one in _BUILT_IN if f"{one}(" in ways and f"{one}(" not in body), "")
        looped = "looped" if re.search(r"^ +(for|while) ", body, re.MULTILINE) else ""
        return f"without {spared}" if spared else looped or ("in_line" if "\n" not in body else "")

    @property
    def code(self) -> str:
        """The function with all its additions."""
        head, body = self.plain.split("\n", 1)
        lines = [_typed(head, self.task.cases[0]) if "typed" in self.additions else head]
        if "document" in self.additions:
            lines.append(f'    """{self.does[0].upper()}{self.does[1:]}."""')
        if "comment" in self.additions:
            lines.append(f"    # {self.why}")
        lines.append(body)
        if "example" in self.additions:
            lines += ["", "", _called(self.name, self.task.cases[0])]
        return "\n".join(lines)

    @property
    def has_case(self) -> bool:
        """Return True if a case of the task gives each parameter its value: types and a call follow from it."""
        head = self.plain.partition("\n")[0]
        given = self.task.cases[0][0] if self.task.cases else None
        plain = given is not None and '"' not in given and "=" not in head and "*" not in head
        return plain and len(_arguments(given or "")) == len(_parameters(head))

    @property
    def block(self) -> str:
        return f"```python\n{self.code}\n```"


def _parameters(head: str) -> list[str]:
    return [name for name in head.partition("(")[2].removesuffix("):").split(", ") if name]


def _arguments(given: str) -> tuple[object, ...]:
    return tuple(eval(f"({given},)")) if given else ()


def _called(name: str, case: Case) -> str:
    """A line that calls the function and says in a comment what it prints."""
    given, expected = (text.replace("'", '"') for text in case)
    return f"{name}({given})" if expected == "None" else f"print({name}({given}))  # {expected}"


def _typed(head: str, case: Case) -> str:
    """The line that begins a function with the types of the case's arguments and value."""
    given, expected = case
    returned = "None" if expected == "None" else type(eval(expected)).__name__
    types = [type(value).__name__ for value in _arguments(given)]
    if returned == "float":
        types = ["float" if kind == "int" else kind for kind in types]
    typed = ", ".join(f"{name}: {kind}" for name, kind in zip(_parameters(head), types, strict=True))
    return f"{head.partition('(')[0]}({typed}) -> {returned}:"


def _meaning(line: str) -> str | None:
    """A sentence about the line, which it quotes; None for lines of other kinds."""
    line = line.strip()
    for pattern, said in _MEANINGS:
        if found := re.fullmatch(pattern, line):
            return f"`{line}` {said.format(*found.groups())}"
    return None


def _names(draw: Draw, task: Task) -> dict[str, str]:
    sequence, element = draw.any(_PAIRS)
    if "value" in task.ways[0].code:
        sequence, element = _CLASH.get(sequence, sequence), _CLASH.get(element, element)
    return {
        "f": task.names[0] if draw.chance(0.6) else draw.any(task.names), "xs": sequence, "x": element,
        "s": draw.any(("text", "text", "text", "text", "string", "s")),
        "n": draw.any(("n", "n", "n", "n", "number", "num")),
    }  # fmt: skip


def _descriptions(draw: Draw, task: Task) -> list[str]:
    """Describe the task in words of this side of the split; in new phrasings, any, for some tasks have none new."""
    return list(task.does) if draw.new_phrasing else [task.does[0]] * 3 + draw.side(task.does)


def to_infinitive(does: str) -> str:
    """Turn a description into an infinitive: "sums a list" as "sum a list"."""
    verb, space, rest = does.partition(" ")
    return (verb[:-2] if verb.endswith(("ches", "shes", "sses", "does")) else verb.removesuffix("s")) + space + rest


def _renamed(draw: Draw, shown: _Shown) -> _Shown:
    """The function under a name that nothing else in it has."""
    taken = set(re.findall(r"\w+", shown.code))
    while True:
        made_up = draw.nonsense() + draw.any(("", "_it", "_all"))
        name = made_up if draw.chance(0.5) else draw.any(draw.any(TASKS).names)
        if name not in taken:
            return replace(shown, names={**shown.names, "f": name})


def _line_explained(draw: Draw, shown: _Shown) -> Exchange | None:
    """One of the first lines explained, if there is one that can be."""
    lines = shown.code.split("\n")[:_FIRST_LINES]
    places = [at for at, line in enumerate(lines) if _meaning(line)]
    if not places:
        return None
    at = draw.any(places)
    reply = _meaning(lines[at]) or ""
    return Exchange(draw.ask(_WORDING["line"], nth=ORDINALS[at + 1], no=at + 1), reply, mentions(reply), True)


def _follow_up(draw: Draw, shown: _Shown) -> tuple[Exchange | None, _Shown]:
    """The next wish about the function, and the function after it; None if it cannot be met."""
    kind = draw.rng.choices(list(_CHANGES), list(_CHANGES.values()))[0]
    if kind == "line":
        return _line_explained(draw, shown), shown
    if kind == "explain":
        return Exchange(draw.ask(_WORDING["explain"]), shown.why, mentions(shown.why), True), shown
    if kind in shown.additions or (kind in ("example", "typed") and not shown.has_case):
        return None, shown
    fields, opening, closing, before = {}, "", "", shown.code
    if kind == "rename":
        shown = _renamed(draw, shown)
        fields["m"] = shown.name
    elif kind == "other_way":
        opening = _ONLY_WAY if len(shown.task.ways) == 1 else ""
        shown = replace(shown, way=len(shown.task.ways) - 1 - shown.way)
        closing = "" if opening else f"\n\n{shown.why}"
    else:
        shown = replace(shown, additions=shown.additions | {kind})
    unlike = before if kind == "other_way" and not opening else None
    check = _changed(solves(shown.task, shown.name), _MARKS.get(kind, ""), unlike)
    reply = opening + shown.block + closing
    return Exchange(draw.ask(_WORDING[kind], **fields), reply, check, True, parses), shown


def _changed(check: Check, mark: str, before: str | None) -> Check:
    """The check, and the reply's code has the mark and is not the code before once more."""

    def changed(reply: str) -> bool:
        code = code_block(reply) or ""
        return check(reply) and mark in code and code.strip() != before

    return changed


def _question(draw: Draw, shown: _Shown, named: bool) -> tuple[str, Check]:
    """The task asked for: under a name, in the everyday form, in any other, or no task in particular."""
    does, do = shown.does, to_infinitive(shown.does)
    told = {
        "f": shown.name,
        "p": ", ".join(shown.parameters),
        "does": does,
        "do": do,
        "about": draw.any(shown.task.about),
    }
    if named and shown.name in shown.task.names and draw.chance(0.75) and not draw.new_phrasing:
        if shown.has_case and shown.task in TASKS and draw.chance(0.1):
            return draw.ask(_WORDING["exampled"], **told, **_example(draw, shown)), solves(shown.task, shown.name)
        return draw.ask(_WORDING["headed"], **told), solves(shown.task, shown.name)
    if named:
        return draw.ask(_WORDING["named"], f=shown.name, does=does, do=do), solves(shown.task, shown.name)
    if draw.chance(0.35) and not draw.new_phrasing:
        return draw.expand(_EVERYDAY.format(does=shown.task.does[0])), solves(shown.task)
    if draw.chance(0.03):
        return draw.ask(_WORDING["asks_any"]), parses
    return draw.asked(_WORDING, draw.any(_FRAMES), **told), solves(shown.task)


def _example(draw: Draw, shown: _Shown) -> dict[str, str]:
    """The arguments and the value of a case, as users type them."""
    given, value = (text.replace("'", '"') for text in draw.any(shown.task.cases))
    return {"g": given.replace(", ", ",") if draw.chance(0.4) else given, "e": value}


def _wished(draw: Draw, shown: _Shown, ask: str, check: Check, named: bool) -> tuple[str, Check, _Shown]:
    """The question with a wish for its manner, an addition or an example, and the function that meets it."""
    kind = draw.any((*_MARKS, "manner", "manner", "manner", "case", "case"))
    if kind == "manner":
        kind = shown.manner
    if not kind or (kind in ("example", "typed", "case") and not shown.has_case):
        return ask, check, shown
    if kind in _MARKS:
        shown, check = replace(shown, additions=frozenset({kind})), _changed(check, _MARKS[kind], None)
    fields = {"f": shown.name, **(_example(draw, shown) if kind == "case" else {"b": kind.removeprefix("without ")})}
    kind = "call" if kind == "case" and named else kind.split()[0]
    return ask.rstrip(".?! ") + draw.expand(draw.any(_WORDING[f"with {kind}"])).format(**fields), check, shown


def _with_other_parameters(draw: Draw, shown: _Shown) -> _Shown:
    """The function with parameters as the user may call them, but for those that its description names."""
    given = _arguments(shown.task.cases[0][0])
    taken = set(re.findall(r"\w+", shown.does + "".join(fill(way.code, shown.names) for way in shown.task.ways)))
    told, renamed = set(re.findall(r"\w+", " ".join((shown.does, *shown.task.about)))), {}
    for name, value in zip(shown.parameters, given, strict=True):
        new = draw.any(_PARAMETERS.get(type(value).__name__, _PARAMETERS["int"]))
        if name not in told and new not in taken:
            renamed[name] = new
            taken.add(new)
    return replace(shown, renamed=tuple(renamed.items()))


def compose(draw: Draw) -> list[Exchange]:
    """A function written on request, perhaps changed or explained afterwards."""
    style = draw.rng.random()
    if style < 0.2:
        return program(draw)
    known = _SHOWCASE if style < 0.215 else _FAMOUS if style < 0.4 else TASKS
    task = composed(draw) if style > 0.76 else draw.any(known)
    names, does = _names(draw, task), draw.expand(draw.any(_descriptions(draw, task)))
    named = known is not _SHOWCASE and draw.chance(0.4)
    if named and draw.chance(0.2):
        names["f"] = draw.nonsense()
    elif not named:
        names["f"] = task.names[0]
    shown = _Shown(task, 0 if len(task.ways) == 1 or draw.chance(0.65) else 1, names, does)
    if named and shown.has_case and draw.chance(0.6):
        shown = _with_other_parameters(draw, shown)
    ask, check = _question(draw, shown, named)
    if shown.renamed and not re.search(rf"\b{', '.join(shown.parameters)}\b", ask):
        shown = replace(shown, renamed=())  # Nobody has told them.
    if draw.chance(0.3):
        ask, check, shown = _wished(draw, shown, ask, check, named)
    reply = draw.say(_OPEN, does=does) + shown.block + (f"\n\n{shown.why}" if draw.chance(0.8) else "")
    exchanges = [Exchange(ask, reply, check, parses=parses)]
    while draw.chance(0.3) and len(exchanges) < 4:
        exchange, shown = _follow_up(draw, shown)
        exchanges += [exchange] if exchange else []
    return exchanges
