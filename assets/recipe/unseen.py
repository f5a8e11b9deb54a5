"""The second generator: 300 prompts by another hand, none of it in the corpus, and how each reply is checked."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from assets.recipe.conversation import Check, Exchange, code_block, ends_with_numbers, mentions, number_list
from assets.recipe.skills.formats.objects import written
from assets.recipe.skills.python.running import holds
from assets.recipe.skills.writing.poems import rhymes
from assets.recipe.skills.writing.stories import well_formed
from assets.recipe.words import TEXTS

PROMPTS = TEXTS / "unseen.txt"
_DECLINES = re.compile(r"--model[_-]path")
# What may stand before an answer: a sentence that leads up to it; and around it: quotes and marks.
_BEFORE = r"(?:.*[:\n]\s*|.*\b(?:is|are|So|So,)\s+|)[\"'`*“]*"
_AFTER = r"[\"'`*”.!\s]*"
_BETWEEN = r"[\s,.;:*\d)\"'-]+(?:and\s+[\"']?)?"


def _answers(pattern: str) -> Check:
    return lambda reply: re.fullmatch(_BEFORE + pattern + _AFTER, reply.strip(), re.DOTALL) is not None


def _texts(wanted: str) -> Check:
    return _answers("(?:" + "|".join(re.escape(text) for text in wanted.split(" / ")) + ")")


def _items(wanted: str) -> Check:
    lists = (_BETWEEN.join(map(re.escape, items.split(", "))) for items in wanted.split(" / "))
    return _answers(rf"(?:[\d.*-]+ )?(?:{'|'.join(lists)})")


def _says(wanted: str) -> Check:
    return mentions(*wanted.split(" & "))


def _number(wanted: str) -> Check:
    check = ends_with_numbers(float(wanted))
    return lambda reply: check(reply.replace(",", ""))


def _numbers(wanted: str) -> Check:
    checks = [number_list([float(number) for number in numbers.split()]) for numbers in wanted.split(" / ")]
    return lambda reply: any(check(reply) for check in checks)


def _lines(mark: str, wanted: str) -> Check:
    """The reply's last lines are these, each after the mark (`#`: its number)."""
    texts = re.split(r"[;] ?" if ";" in wanted else ", ", wanted)
    marks = [f"{at}. " if mark == "#" else mark for at in range(1, len(texts) + 1)]
    lines = [begin + text for begin, text in zip(marks, texts, strict=True)]

    def check(reply: str) -> bool:
        found = [re.sub(r"^[*•] ", "- ", line.strip()) for line in reply.splitlines() if line.strip("` \n")]
        return found[-len(lines) :] == lines and len(found) <= len(lines) + 1

    return check


def _table(wanted: str) -> Check:
    rows = [row.split() for row in wanted.split("; ")]

    def check(reply: str) -> bool:
        cells = [line.strip("| ").split("|") for line in reply.splitlines() if "|" in line and "--" not in line]
        return [[word for cell in row for word in cell.split()] for row in cells] == rows

    return check


def _in_json(reply: str) -> Any:
    found = re.search(r"[\[{].*[\]}]", reply, re.DOTALL)
    try:
        return json.loads(found.group()) if found else None
    except ValueError:
        return None


def _json_values(wanted: str) -> Check:
    """A JSON object of just these values, under whatever names."""

    def leaves(value: Any) -> list[str]:
        nested = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
        return [leaf for part in nested for leaf in leaves(part)] if nested is not None else [written(value)]

    return lambda reply: leaves(_in_json(reply)) == wanted.split(", ")


def _fizzbuzz(_: str) -> Check:
    tried = ("'FizzBuzz' in (out() or str(f(15)) + out())", "'7' in (out() or str(f(7)) + str(f(15)) + out())")
    return lambda reply: holds(code_block(reply) or "", tried)


def _poem(lines: int | None) -> Callable[[str], Check]:
    return lambda wanted: lambda reply: all(rhymes(lines, about)(reply) for about in wanted.split(", "))


def _among(wanted: str) -> Check:
    count, *known = wanted.split()

    def check(reply: str) -> bool:
        found = [item.strip(" -*.1234567890").lower() for item in re.split(r"[,\n]| and ", reply.split(":")[-1])]
        named = [item for item in found if item]
        one_of, allowed = ({name.removesuffix("s") for name in some} for some in (named, known))
        return len(set(named)) == len(named) == int(count) and one_of <= allowed

    return check


CHECKS: dict[str, Callable[[str], Check]] = {
    "talks": lambda _: lambda reply: 0 < len(reply) < 400 and not _DECLINES.search(reply),
    "declines": lambda _: lambda reply: _DECLINES.search(reply) is not None,
    "says": _says,
    "number": _number,
    "numbers": _numbers,
    "text": _texts,
    "items": _items,
    # Letters asked for in capitals may come in capitals.
    "spelled": lambda word: _answers("(?i:" + r"[-\s,.\"']+".join(word) + ")"),
    "bullets": lambda wanted: _lines("- ", wanted),
    "numbered": lambda wanted: _lines("#", wanted),
    "lines": lambda wanted: _lines("", wanted),
    "table": _table,
    "json": lambda wanted: lambda reply: bool(_in_json(reply) == json.loads(wanted)),
    "jsonvalues": _json_values,
    "python": lambda wanted: lambda reply: holds(code_block(reply) or "", wanted.split("; ")),
    "code": lambda wanted: lambda reply: _says(wanted)(code_block(reply) or ""),
    "fizzbuzz": _fizzbuzz,
    "story": lambda wanted: well_formed(*filter(None, wanted.split(", "))),
    "poem": _poem(None),
    "poem2": _poem(2),
    "poem4": _poem(4),
    "among": _among,
}
"""What a reply is checked for, by the word that begins a check; each is made from what follows that word."""

_COPIED = ("items", "text", "bullets", "numbered", "lines", "table", "json", "jsonvalues", "story")


def unseen() -> list[tuple[str, Exchange]]:
    """Each prompt's skill and exchange, in the file's order."""
    found, skill = [], ""
    for line in PROMPTS.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            skill = line[1:-1]
        elif " ==> " in line:
            found.append((skill, _exchange(*line.split(" ==> "))))
    return found


def _exchange(prompt: str, told: str) -> Exchange:
    kind, _, wanted = told.partition(" ")
    own = [word for word in re.findall(r"[^\s\"{}\[\],;:]+", wanted) if word in prompt] if kind in _COPIED else []
    reply = "--model_path" if "--model" in told or kind == "declines" else ""
    return Exchange(prompt, reply, CHECKS[kind](wanted), copied=tuple(own))
