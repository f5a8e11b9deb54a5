"""The recipe's corpus: the same for a seed, right by its own checks, and without the questions it is examined by."""

from __future__ import annotations

import re

import pytest

from assets.recipe import corpus
from assets.recipe.evaluation import QUESTIONS


def test_a_seed_gives_the_same_conversations_again() -> None:
    first = [corpus.conversation(5, index) for index in range(50)]
    assert first == [corpus.conversation(5, index) for index in range(50)]
    assert first != [corpus.conversation(6, index) for index in range(50)]


@pytest.mark.parametrize("skill", corpus.SKILLS, ids=lambda skill: skill.name)
@pytest.mark.parametrize("held_out", [False, True])
def test_every_composed_reply_passes_its_own_check(skill: corpus.Skill, held_out: bool) -> None:
    for index in range(30):
        for exchange in skill.compose(corpus.draw_for("test", index, held_out)):
            assert exchange.check is None or exchange.check(exchange.reply), exchange
            assert exchange.reply == exchange.reply.strip(), exchange


def letters(text: str) -> str:
    """The text in lower case, its words parted by single spaces and nothing else in it."""
    return re.sub(r"[^a-z0-9]+", " ", text.lower()).strip()


def test_the_general_questions_are_not_in_the_corpus() -> None:
    questions = [letters(line) for line in QUESTIONS.read_text(encoding="utf-8").splitlines()]
    assert len(questions) == 100
    turns = (message for index in range(800) for message in corpus.conversation(0, index))
    assert not {letters(turn.content) for turn in turns if turn.role == "user"} & set(questions)


def test_most_general_questions_have_a_word_that_the_recipe_never_uses() -> None:
    # The words of words.txt are only ever sorted and copied.
    files = [file for file in QUESTIONS.parents[1].rglob("*") if file.suffix in {".py", ".txt"}
             and file.name not in {QUESTIONS.name, "words.txt", "unseen.txt"}]  # fmt: skip
    used = set(letters(" ".join(file.read_text(encoding="utf-8") for file in files)).split())
    questions = [letters(line).split() for line in QUESTIONS.read_text(encoding="utf-8").splitlines()]
    assert sum(not set(question) <= used for question in questions) >= 75
