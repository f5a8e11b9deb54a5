"""Small Python tasks: reading them from text, and checking code against their cases.

The tasks are told in texts/tasks, in the format that the head of asked.txt tells.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from string import Template
from textwrap import dedent

from assets.recipe.conversation import Check, code_block
from assets.recipe.skills.python.running import holds
from assets.recipe.words import TEXTS, Wording, fields

Case = tuple[str, str]
_FOLDER = TEXTS / "tasks"
USUAL_NAMES = {"f": "f", "xs": "numbers", "x": "number", "s": "text", "n": "n"}


@dataclass(frozen=True)
class Way:
    """One solution: its code, and why it works."""

    why: str
    code: str


@dataclass(frozen=True)
class Task:
    """A function to write: what it does, its usual names, the ways to write it, and cases it must pass.

    The descriptions of a `literal` one hold words that its code has, too.
    """

    does: tuple[str, ...]
    about: tuple[str, ...]
    names: tuple[str, ...]
    ways: tuple[Way, ...]
    cases: tuple[Case, ...]
    questions: tuple[str, ...] = ()
    literal: bool = False


def read_tasks() -> tuple[Task, ...]:
    """All tasks of the task files."""
    texts = [path.read_text(encoding="utf-8") for path in sorted(_FOLDER.glob("*.txt"))]
    blocks = [block for text in texts for block in text.split("\n\n") if block.startswith("task: ")]
    return tuple(_task(fields(block)) for block in blocks)


def _task(told: Wording) -> Task:
    parted = (way.partition("\n") for way in told["way"])
    ways = tuple(Way(why, dedent(code)) for why, _, code in parted)
    cases = tuple((given, expected) for given, _, expected in (case.partition(" -> ") for case in told.get("case", ())))
    does, about, questions = (
        tuple(text for line in told.get(key, ()) for text in line.split(" / ")) for key in ("task", "about", "question")
    )
    return Task(does, about, tuple(told["names"][0].split()), ways, cases, questions)


def fill(text: str, names: dict[str, str]) -> str:
    """The text with its `$` names settled."""
    return Template(text).substitute(names)


def case_of(code: str, given: str) -> Case:
    """The case of these arguments for code of a function `$f`: its value is what the code gives."""
    scope: dict[str, object] = {}
    exec(fill(code, USUAL_NAMES), scope)
    value = eval(f"f({given})", scope)
    if isinstance(value, set) and value:
        # A set's own order is another in each process.
        return given, f"{{{', '.join(sorted(map(repr, value)))}}}"
    return given, repr(value)


def parses(reply: str) -> bool:
    """Return True if the reply has a block of Python that can be parsed."""
    try:
        return bool(ast.parse(code_block(reply) or "").body)
    except (SyntaxError, ValueError):
        return False


def passes(code: str, cases: tuple[Case, ...], name: str | None = None) -> bool:
    """Return True if the code's last function (or the named one) gives every case its value."""
    return holds(code, [f"f({given}) == ({expected})" for given, expected in cases], name)


def solves(task: Task, name: str | None = None) -> Check:
    """The reply's code block passes the task's cases, under this name if one was asked for."""
    return lambda reply: passes(code_block(reply) or "", task.cases, name)
