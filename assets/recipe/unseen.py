"""The second generator: 300 prompts by another hand, none of it in the corpus, and how each reply is checked."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from functools import partial
from typing import Any

from assets.recipe.conversation import Exchange, code_block, ends_with_numbers, mentions, number_list
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
_COPIED = ("items", "text", "bullets", "numbered", "lines", "table", "json", "jsonvalues", "story")
_FIZZBUZZ = ("'FizzBuzz' in (out() or str(f(15)) + out())", "'7' in (out() or str(f(7)) + str(f(15)) + out())")


def _answers(pattern: str, reply: str) -> bool:
    return re.fullmatch(_BEFORE + pattern + _AFTER, reply.strip(), re.DOTALL) is not None


def _items(wanted: str, reply: str) -> bool:
    lists = (_BETWEEN.join(map(re.escape, items.split(", "))) for items in wanted.split(" / "))
    return _answers(rf"(?:[\d.*-]+ )?(?:{'|'.join(lists)})", reply)


def _says(wanted: str, reply: str) -> bool:
    """The answer has all of these; where a working leads up to it, what it copies does not count."""
    return mentions(*wanted.split(" & "))(re.split(r"\bSo\s", reply)[-1])


def _lines(mark: str, wanted: str, reply: str) -> bool:
    """The reply's last lines are these, each after the mark (`#`: its number)."""
    texts = re.split(r"[;] ?" if ";" in wanted else ", ", wanted)
    lines = [(f"{at}. " if mark == "#" else mark) + text for at, text in enumerate(texts, 1)]
    found = [re.sub(r"^[*•] ", "- ", line.strip()) for line in reply.splitlines() if line.strip("` \n")]
    return found[-len(lines) :] == lines and len(found) <= len(lines) + 1


def _table(wanted: str, reply: str) -> bool:
    rows = (line.strip("| ").replace("|", " ") for line in reply.splitlines() if "|" in line and "--" not in line)
    return [row.split() for row in rows] == [row.split() for row in wanted.split("; ")]


def _in_json(reply: str) -> Any:
    found = re.search(r"[\[{].*[\]}]", reply, re.DOTALL)
    try:
        return json.loads(found.group()) if found else None
    except ValueError:
        return None


def _leaves(value: Any) -> list[str]:
    """The values within the value, as JSON has them, whatever they are called."""
    if not isinstance(value, (dict, list)):
        return [written(value)]
    return [leaf for part in (value.values() if isinstance(value, dict) else value) for leaf in _leaves(part)]


def _poem(lines: int | None, wanted: str, reply: str) -> bool:
    return all(rhymes(lines, about)(reply) for about in wanted.split(", "))


def _among(wanted: str, reply: str) -> bool:
    """So many different ones of these, in the singular or the plural."""
    count, *known = wanted.split()
    items = re.split(r"[,\n]| and ", reply.split(":")[-1])
    named = [name for item in items if (name := item.strip(" -*.1234567890").lower())]
    one_of, allowed = ({name.removesuffix("s") for name in some} for some in (named, known))
    return len(set(named)) == len(named) == int(count) and one_of <= allowed


def _in_code(expressions: tuple[str, ...] | list[str], reply: str) -> bool:
    return holds(code_block(reply) or "", expressions)


CHECKS: dict[str, Callable[[str, str], bool]] = {
    "talks": lambda _, reply: 0 < len(reply) < 400 and not _DECLINES.search(reply),
    "declines": lambda _, reply: _DECLINES.search(reply) is not None,
    "says": _says,
    "number": lambda wanted, reply: ends_with_numbers(float(wanted))(reply.replace(",", "")),
    "numbers": lambda wanted, reply: any(
        number_list([float(number) for number in numbers.split()])(reply) for numbers in wanted.split(" / ")
    ),
    "text": lambda wanted, reply: _answers(f"(?:{'|'.join(map(re.escape, wanted.split(' / ')))})", reply),
    "items": _items,
    # Letters asked for in capitals may come in capitals.
    "spelled": lambda word, reply: _answers("(?i:" + r"[-\s,.\"']+".join(word) + ")", reply),
    "bullets": partial(_lines, "- "),
    "numbered": partial(_lines, "#"),
    "lines": partial(_lines, ""),
    "table": _table,
    "json": lambda wanted, reply: bool(_in_json(reply) == json.loads(wanted)),
    "jsonvalues": lambda wanted, reply: _leaves(_in_json(reply)) == wanted.split(", "),
    "python": lambda wanted, reply: _in_code(wanted.split("; "), reply),
    "code": lambda wanted, reply: _says(wanted, code_block(reply) or ""),
    "fizzbuzz": lambda _, reply: _in_code(_FIZZBUZZ, reply),
    "story": lambda wanted, reply: well_formed(*filter(None, wanted.split(", ")))(reply),
    "poem": partial(_poem, None),
    "poem2": partial(_poem, 2),
    "poem4": partial(_poem, 4),
    "among": _among,
}
"""What a reply is checked for, by the word that begins a check, given what follows that word and the reply."""


def unseen() -> list[tuple[str, Exchange]]:
    """Each prompt's skill and exchange, in the file's order."""
    found, skill = [], ""
    for line in PROMPTS.read_text(encoding="utf-8").splitlines():
        if line.startswith("["):
            skill = line[1:-1]
        elif " ==> " in line:
            found.append((skill, _exchange(*line.split(" ==> "))))
    return found


def _own_words(prompt: str, answers: list[str]) -> list[str]:
    """The prompt's words that stand in every one of the right answers: one of them alone may say more around them."""
    first, *others = (re.findall(r"[^\s\"{}\[\],;:]+", answer) for answer in answers)
    return [word for word in first if word in prompt and all(word in other for other in others)]


def _exchange(prompt: str, told: str) -> Exchange:
    kind, _, wanted = told.partition(" ")
    own = _own_words(prompt, wanted.split(" / ")) if kind in _COPIED else []
    reply = "--model_path" if "--model" in told or kind == "declines" else ""
    return Exchange(prompt, reply, partial(CHECKS[kind], wanted), copied=tuple(own))
