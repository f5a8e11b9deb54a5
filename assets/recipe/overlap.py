"""How near the general questions of the evaluation come to the subjects that training declines."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from assets.recipe.wording import read_wording

_SHORTEST = 3
# Words of three letters and more that are about nothing.
_FUNCTION_WORDS = frozenset(
    re.findall(
        r"\w+",
        "about after all and any are because been before between but can did does for from get give had has have her "
        "him his how into its like made make many may more most much not off one our out over put she should some take "
        "tell than that the their them then there these they this those too two until use very was way were what when "
        "where which who why will with would write you your",
    )
)


@dataclass(frozen=True)
class Overlap:
    """How many questions share a content word with some subject, how many name a subject whole; of how many."""

    sharing: int
    naming: int
    subjects: int


def overlap(questions: Sequence[str]) -> Overlap:
    """The questions against the subjects of wording/unknowns.txt."""
    lines = read_wording("unknowns").values()
    subjects = {subject for (line,) in lines for subject in line.split(" / ")}
    contents = [content for subject in sorted(subjects) if (content := _content(subject))]
    asked = [_content(question) for question in questions]
    return Overlap(
        sum(any(content & question for content in contents) for question in asked),
        sum(any(content <= question for content in contents) for question in asked),
        len(subjects),
    )


def _content(text: str) -> frozenset[str]:
    """The words that the text is about, in lower case."""
    words = re.findall(r"[a-z0-9]+", text.lower())
    return frozenset(word for word in words if len(word) >= _SHORTEST) - _FUNCTION_WORDS
