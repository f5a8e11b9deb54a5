"""Prompt suites: the bundled ones, and the selection of suites."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from lade_chat.errors import UsageError

BUNDLED = ("code", "math", "lists", "story", "chat", "adversarial")
"""The bundled suites; the replies of the last one are the hardest to guess."""
MIN_QUESTIONS = 10
"""A smaller suite's result says little beyond its own prompts."""

_FOLDER = Path(__file__).resolve().parent
_ESCAPE = re.compile(r"\\([n\\])")


@dataclass(frozen=True, slots=True)
class Question:
    """A user's turns: one, or several, each asked after the answer to the one before."""

    turns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Suite:
    """Questions of one kind; ``benchmark`` is the public one that they are a category of."""

    name: str
    questions: tuple[Question, ...]
    benchmark: str | None = None


def bundled_suites() -> list[Suite]:
    """Return the bundled suites, at least ten prompts each."""
    return [
        Suite(
            name, tuple(map(plain_question, _FOLDER.joinpath(f"{name}.txt").read_text(encoding="utf-8").splitlines()))
        )
        for name in BUNDLED
    ]


def choose(
    suites: Sequence[Suite], names: Sequence[str] | None, limit: int | None, *, beside: Iterable[str] = ()
) -> list[Suite]:
    """Return the named suites (all without names), each question once, and at most ``limit`` questions of each.

    A repeated question would be answered from tables that have seen it. Raises UsageError, which also names what can
    be chosen ``beside`` them.
    """
    known = [suite.name for suite in suites]
    unknown = [name for name in names or () if name not in known]
    if unknown:
        raise UsageError(f"There is no suite '{unknown[0]}'. Choose from: {', '.join([*known, *beside])}.")
    questions: dict[str, dict[Question, None]] = {}  # suites of one name are one
    for suite in suites:
        questions.setdefault(suite.name, {}).update(dict.fromkeys(suite.questions))
    return [Suite(name, tuple(each)[:limit]) for name, each in questions.items() if not names or name in names]


def plain_question(line: str) -> Question:
    """A prompt on a line, in which ``\\n`` stands for a line break."""
    return Question((_ESCAPE.sub(lambda found: "\n" if found[1] == "n" else "\\", line),))
