"""What the model is meant to reach, and in which rows of the evaluation that is counted."""

from __future__ import annotations

from dataclasses import dataclass

from assets.recipe import corpus
from assets.recipe.evaluation import ANSWERS, ENDS, FOLLOW_UP, GENERAL, KNOWN, LONG, NEW, PARSES, Scores

_FIRST_TURNS = (KNOWN, NEW)
_ANY_TURN = (KNOWN, NEW, FOLLOW_UP)
_TALK = ("greetings", "application")
_LISTS = ("counting", "word lists", "echo", "copying", "letters and case", "formats", "examples")
_WRITING = ("stories", "poems")

GROUPS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("Talk", _TALK),
    ("Arithmetic", ("sums", "word problems", "two-step problems", "measures")),
    ("Python", ("Python", PARSES)),
    ("Lists and text", _LISTS),
    ("Stories and poems", _WRITING),
    ("What it cannot do, and what it can", ("declining", GENERAL, ANSWERS)),
    ("Any skill", (LONG, ENDS)),
)
"""The rows of the evaluation in the order in which they are shown."""


@dataclass(frozen=True)
class Target:
    """The percentage of replies that is to be right in some rows and columns, counted together."""

    name: str
    percent: int
    rows: tuple[str, ...]
    columns: tuple[str, ...] = _FIRST_TURNS

    def reached(self, scores: Scores) -> tuple[int, int]:
        """How many replies were right, and how many were asked for."""
        found = [scores[row][column] for row in self.rows if row in scores for column in self.columns]
        return sum(score.right for score in found), sum(score.asked for score in found)


def met(target: Target, right: int, asked: int) -> bool:
    """Whether so many right replies are enough; nothing asked is nothing met."""
    return asked > 0 and 100 * right >= target.percent * asked


TARGETS = (
    Target("greetings and questions about the application", 95, _TALK),
    Target("sums and word problems of one step", 97, ("sums", "word problems")),
    Target("word problems of two steps, percentages and units", 90, ("two-step problems", "measures")),
    Target("Python that can be parsed", 99, (PARSES,), _ANY_TURN),
    Target("Python that passes its task's cases", 92, ("Python",)),
    Target("lists, counting, copying, letters and formats, exact", 95, _LISTS),
    Target("stories and poems", 95, _WRITING),
    Target("declines what it cannot do", 90, ("declining", GENERAL)),
    Target("does not decline what it can do", 98, (ANSWERS,), _ANY_TURN),
    Target("follow-ups in the second to fourth turn", 85, tuple(skill.name for skill in corpus.SKILLS), (FOLLOW_UP,)),
    Target("ends by itself within 300 tokens", 98, (ENDS,), _ANY_TURN),
)
