"""Python functions on request, in the manner that is wished for; then renamed, typed, documented or explained."""

from __future__ import annotations

import re
from dataclasses import replace
from keyword import iskeyword

from assets.recipe.conversation import Check, Exchange, code_block, mentions
from assets.recipe.draw import Draw, roughened
from assets.recipe.skills.python.composed import composed
from assets.recipe.skills.python.programs import program
from assets.recipe.skills.python.sentences import sentence_task
from assets.recipe.skills.python.shown import Shown, arguments
from assets.recipe.skills.python.task import Task, fill, parses, read_tasks, solves
from assets.recipe.words import ORDINALS, entries, pairs, read_wording, weighted

_WORDING = read_wording("python/functions")
TASKS = read_tasks()
# Tasks that are asked for again and again have many names.
_FAME = tuple(len(task.about) ** 2 for task in TASKS)
_PLAIN = tuple({task.names[0]: task for task in TASKS}[name] for name in entries(_WORDING, "plain"))
_WORLDLY = frozenset(entries(_WORDING, "worldly"))
_SAME = {first: others for first, *others in (line.split(" / ") for line in _WORDING["same"])}
_SAID = re.compile(rf"\b({'|'.join(sorted(map(re.escape, _SAME), key=len, reverse=True))})\b")
# What each addition leaves in the code.
_MARKS = {"document": '"""', "comment": "#", "typed": "->", "example": "\n\n"}
# What users call a parameter, by the type of what is passed and by its usual name.
_PARAMETERS = {key.split()[1]: entries(_WORDING, key) for key in _WORDING if key.startswith("parameters ")}
# An article, and not the number that is called a.
_ARTICLE = re.compile(
    r"\b(?:an|the|a(?! (?:and|or|over|to|plus|minus|times|is|can|divided|mod|modulo|by|from|op|\W)\b)) "
)
# The questions with the function's head that say in any case what it does.
_DESCRIBED = tuple(
    line for line in _WORDING["headed"] if re.search(r"\{(does|do|about)\}", re.sub(r"\[[^\]]*\]", "", line))
)
# A description of what is true or false.
_TRUTH = re.compile(r"(?:\w+|returns True|finds out) (?:if|whether) ([^/]+)")
# A line of code, and a sentence about it.
_MEANINGS = tuple(line.split(" => ") for line in _WORDING["meaning"])


def _names(draw: Draw, task: Task) -> dict[str, str]:
    sequence, element = draw.any(pairs(_WORDING, "sequence and element"))
    return {
        "f": task.names[0] if draw.chance(0.6) else draw.any(task.names), "xs": sequence, "x": element,
        "s": draw.any(entries(_WORDING, "a text")), "n": draw.any(entries(_WORDING, "a number")),
    }  # fmt: skip


def _other_name(draw: Draw, task: Task, name: str) -> str:
    """A name that people make of a usual one: with something before or after it, shortened, or in camel case."""
    parts, before = name.removeprefix("is_").split("_"), draw.any(entries(_WORDING, "prefixes"))
    made = draw.any((
        "_".join((before, *parts)), name + draw.any(entries(_WORDING, "suffixes")), "".join(parts),
        parts[0] + "".join(map(str.title, parts[1:])), "_".join(part[:4] for part in parts),
        before + "".join(map(str.title, parts)), "f",
        name[0] + re.sub("[aeiou]", "", name[1:]),
    ))  # fmt: skip
    taken = re.findall(r"\w+", "".join(way.code for way in task.ways))
    return name if made in taken or iskeyword(made) else made


def _otherwise(draw: Draw, description: str) -> str:
    """The description with some of its words replaced by others that mean the same, now and then without articles."""
    said = _SAID.sub(lambda said: draw.any(_SAME[said[0]]) if draw.chance(0.35) else said[0], description)
    return _ARTICLE.sub("", said) if draw.chance(0.15) else said


def to_infinitive(does: str) -> str:
    """Turn a description into an infinitive: "sums a list" as "sum a list"."""
    verb, space, rest = does.partition(" ")
    if verb in ("is", "has"):
        return ("be" if verb == "is" else "have") + space + rest
    if verb.endswith(("ches", "shes", "sses", "does", "xes")):
        return verb[:-2] + space + rest
    return (f"{verb[:-3]}y" if verb.endswith("ies") else verb.removesuffix("s")) + space + rest


def to_gerund(do: str) -> str:
    """Turn an infinitive into a gerund: "sum a list" as "summing a list"."""
    verb, space, rest = do.partition(" ")
    if re.fullmatch("[^aeiou]*[aeiou][^aeiouwxy]", verb):
        verb += verb[-1]
    elif verb.endswith("e") and verb != "be" and not verb.endswith("ee"):
        verb = verb[:-1]
    return f"{verb}ing{space}{rest}"


def _renamed(draw: Draw, shown: Shown) -> Shown:
    """The function under a name that nothing else in it has."""
    taken = set(re.findall(r"\w+", shown.code))
    while True:
        made_up = draw.nonsense() + draw.any(("", "_it", "_all"))
        name = made_up if draw.chance(0.5) else draw.any(draw.any(TASKS).names)
        if name not in taken:
            return replace(shown, names={**shown.names, "f": name})


def _line_explained(draw: Draw, shown: Shown) -> Exchange | None:
    """One of the first lines explained by a sentence that quotes it, if there is one that can be."""
    told = [
        (at, f"`{line}` {said.format(*found.groups())}")
        for at, line in enumerate(map(str.strip, shown.code.split("\n")[:5]), 1)
        for pattern, said in _MEANINGS if (found := re.fullmatch(pattern, line))
    ]  # fmt: skip
    at, meaning = draw.any(told or [(0, "")])
    ask = draw.ask(_WORDING["line"], nth=ORDINALS[at], no=at)
    return Exchange(ask, meaning, mentions(meaning), True) if meaning else None


def _follow_up(draw: Draw, shown: Shown) -> tuple[Exchange | None, Shown]:
    """The next wish about the function, and the function after it; None if it cannot be met."""
    kind = draw.any(weighted(_WORDING, "changes"))
    if kind == "line":
        return _line_explained(draw, shown), shown
    if kind == "explain":
        return Exchange(draw.ask(_WORDING["explain"]), shown.why, mentions(shown.why), True), shown
    unfit = (kind in ("example", "typed") and not shown.has_case) or (kind == "document" and shown.task.literal)
    if kind in shown.additions or unfit:
        return None, shown
    fields, opening, closing, before = {}, "", "", shown.code
    if kind == "rename":
        shown = _renamed(draw, shown)
        fields["m"] = shown.name
    elif kind == "other_way":
        opening = "I know only this way:\n\n" if len(shown.task.ways) == 1 else ""
        shown = replace(shown, way=len(shown.task.ways) - 1 - shown.way)
        closing = "" if opening else f"\n\n{shown.why}"
    else:
        shown = replace(shown, additions=shown.additions | {kind})
    unlike = before if kind == "other_way" and not opening else ""
    check = _changed(solves(shown.task, shown.name), _MARKS.get(kind, ""), unlike)
    return Exchange(draw.ask(_WORDING[kind], **fields), opening + shown.block + closing, check, True), shown


def _changed(check: Check, mark: str, before: str = "") -> Check:
    """The check, and the reply's code has the mark and is not the code before once more."""
    return lambda reply: check(reply) and mark in (code_block(reply) or "") and code_block(reply) != f"{before}\n"


def _told(draw: Draw, shown: Shown) -> dict[str, str]:
    """The fields of a question about the function, in words of this side of the split, as people put and type them."""
    task, known = shown.task, shown.task in TASKS
    # In new phrasings any description will do, for some tasks have none that is new.
    does, about = draw.expand(draw.any(task.does if draw.new_phrasing else draw.side(task.does))), draw.any(task.about)
    if (truth := _TRUTH.fullmatch(does)) and draw.chance(0.25):
        does = draw.expand(draw.any(_WORDING["truth"])).format(c=truth[1])
    elif not task.literal:
        does, about = _otherwise(draw, does), _otherwise(draw, about)
    # What the function takes first, as it is told before a task: a list, a string, a number.
    first = next(iter(arguments(task.cases[0][0]) if shown.has_case else ()), None)
    given = dict(pairs(_WORDING, "given")).get(type(first).__name__, "an input")
    told = {
        "does": does, "do": to_infinitive(does), "about": about,
        "doing": to_gerund(to_infinitive(does)), "given": given,
        "question": draw.any(task.questions or ("",)), "o": draw.any(draw.any(TASKS).about),
    }  # fmt: skip
    if known and draw.chance(0.6):
        told = {key: text if '"' in text else roughened(draw.rng, text) for key, text in told.items()}
    return {**told, "f": shown.name, "p": draw.any((", ", ", ", ",")).join(shown.parameters)}


def _question(draw: Draw, shown: Shown, named: bool) -> tuple[str, Check]:
    """The task asked for: under a name, in the everyday form, in any other, or no task in particular."""
    task, told, check = shown.task, _told(draw, shown), solves(shown.task, shown.name if named else None)
    if named:
        known = shown.usual and draw.chance(0.8) and not draw.new_phrasing
        if known and shown.has_case and task in TASKS and draw.chance(0.08):
            return draw.ask(_WORDING["exampled"], **told, **_example(draw, shown)), check
        pool = _DESCRIBED if known and task.literal else _WORDING["headed" if known else "named"]
        return draw.ask(pool, **told), check
    if draw.chance(0.25 if task in _PLAIN else 0.12) and not draw.new_phrasing:
        return draw.say(_WORDING["everyday"], does=task.does[0]), check
    if draw.chance(0.02):
        return draw.ask(_WORDING["asks_any"]), parses
    frame = draw.any(weighted(_WORDING, "frames"))
    worldly = task.names[0] in _WORLDLY or told["do"].lower().split()[0] in entries(_WORDING, "saying")
    if (frame == "bare" and (worldly or task.literal)) or (frame == "asks_what" and not task.questions):
        frame = "asks_about"
    return draw.asked(_WORDING, frame, **told), check


def _example(draw: Draw, shown: Shown) -> dict[str, str]:
    """The arguments and the values of two cases, the second behind the first where there are two, as users type."""
    cases = shown.task.cases
    at, close = draw.whole(0, max(0, len(cases) - 2)), draw.chance(0.4)
    texts = [text.replace("'", '"') for case in (cases[at], cases[-1]) for text in case]
    return dict(zip("gehi", (text.replace(", ", ",") if close else text for text in texts), strict=True))


def _wished(draw: Draw, shown: Shown, ask: str, check: Check, named: bool) -> tuple[str, Check, Shown]:
    """The question with a wish for its manner, an addition or an example, and the function that meets it."""
    kind = draw.any((*_MARKS, "manner", "manner", "manner", "manner", *("case",) * 4, "result", "result", "plain"))
    result = type(eval(shown.task.cases[0][1])).__name__ if shown.task.cases else ""
    pure = "" if "import " in shown.code else "plain"
    kind = {"manner": shown.manner, "result": result, "plain": pure}.get(kind, kind)
    unfit = (kind in ("example", "typed", "case") and not shown.has_case) or (kind == "document" and shown.task.literal)
    if unfit or not kind or f"with {kind.split()[0]}" not in _WORDING:
        return ask, check, shown
    if kind in _MARKS:
        shown, check = replace(shown, additions=frozenset({kind})), _changed(check, _MARKS[kind])
    fields = {"f": shown.name, **(_example(draw, shown) if kind == "case" else {"b": kind.removeprefix("without ")})}
    if kind == "case":
        kind = "call" if named or draw.chance(0.4) else "case"
        if kind == "call" and not named and not re.search(r"\bf\b", shown.code) and draw.chance(0.5):
            shown, fields["f"] = replace(shown, names={**shown.names, "f": "f"}), "f"
        kind += "s" if len(shown.task.cases) > 1 and draw.chance(0.35) else ""
    kind = kind.split()[0]
    return ask.rstrip(".?! ") + draw.expand(draw.any(_WORDING[f"with {kind}"])).format(**fields), check, shown


def _with_other_parameters(draw: Draw, shown: Shown) -> Shown:
    """The function with parameters as the user may call them, but for those that its description names."""
    given = arguments(shown.task.cases[0][0])
    taken = set(re.findall(r"\w+", shown.does + "".join(fill(way.code, shown.names) for way in shown.task.ways)))
    told, renamed = set(re.findall(r"\w+", shown.does)), {}
    for name, value in zip(shown.parameters, given, strict=True):
        usual = _PARAMETERS.get(name, ()) if draw.chance(0.6) else ()
        kind = type(value).__name__
        if isinstance(value, list) and value and isinstance(value[0], (str, list)):
            kind = "words" if isinstance(value[0], str) else "lists"
        new = draw.any(usual or _PARAMETERS.get(kind, _PARAMETERS["int"]))
        if name not in told and new not in taken:
            renamed[name] = new
            taken.add(new)
    return replace(shown, renamed=tuple(renamed.items()))


def compose(draw: Draw) -> list[Exchange]:
    """A function written on request, perhaps changed or explained afterwards."""
    style = draw.rng.random()
    if style < 0.22:
        return program(draw)
    known = _PLAIN if style < 0.38 else draw.rng.choices(TASKS, _FAME) if style < 0.64 else TASKS
    task = draw.any(known) if style < 0.76 else composed(draw) if style > 0.87 else sentence_task(draw)
    named = draw.chance(0.34)
    names, usual = _names(draw, task), True
    if not named:
        names["f"] = task.names[0]
    elif draw.chance(0.4):
        usual = draw.chance(0.6)
        names["f"] = _other_name(draw, task, names["f"]) if usual else draw.nonsense()
    shown = Shown(task, 0 if len(task.ways) == 1 or draw.chance(0.65) else 1, names, draw.expand(task.does[0]), usual)
    if named and shown.has_case and draw.chance(0.6):
        shown = _with_other_parameters(draw, shown)
    ask, check = _question(draw, shown, named)
    if shown.renamed and not re.search(rf"\b{', ?'.join(shown.parameters)}\b", ask):
        shown = replace(shown, renamed=())  # Nobody has told them.
    if draw.chance(0.36):
        ask, check, shown = _wished(draw, shown, ask, check, named)
    opening = "" if task.literal else draw.say(_WORDING["opening"], does=shown.does)
    reply = opening + shown.block + (f"\n\n{shown.why}" if draw.chance(0.8) else "")
    exchanges = [Exchange(ask, reply, check)]
    while draw.chance(0.3) and len(exchanges) < 4:
        exchange, shown = _follow_up(draw, shown)
        exchanges += [exchange] if exchange else []
    return exchanges
