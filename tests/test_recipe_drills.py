"""Drills of the bundled model's training, and what is written letter by letter."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from assets.recipe import corpus
from assets.recipe.drills import Drills
from assets.recipe.tokenizer import ChatTokenizer
from assets.recipe.user_words import HANDED


@pytest.fixture(scope="module")
def tokenizer() -> ChatTokenizer:
    return ChatTokenizer(Path(__file__).parents[1] / "assets" / "model")


def test_what_is_written_letter_by_letter_is_the_same_text(tokenizer: ChatTokenizer) -> None:
    replies = [
        exchange.reply
        for skill in corpus.SKILLS
        for index in range(40)
        for exchange in skill.compose(corpus.draw_for("written", index))
    ]
    assert [tokenizer.pieces.decode(tokenizer.written(reply)) for reply in replies] == replies


def test_another_case_is_written_in_single_letters(tokenizer: ChatTokenizer) -> None:
    pieces = [tokenizer.pieces.id_to_piece(piece) for piece in tokenizer.written("In small letters: warm bread")]
    assert pieces[-10:] == [*"warm", "▁", *"bread"]


def test_a_drill_teaches_its_reply_alone(tokenizer: ChatTokenizer) -> None:
    drills = Drills(tokenizer)
    for index in range(300):
        ids, learnt = drills.row(Random(index))
        begin = learnt.index(True)
        assert len(ids) == len(learnt)
        assert ids[-1] == tokenizer.end_id
        assert all(learnt[begin:])
        assert tokenizer.pieces.id_to_piece(ids[begin - 1]) == "<|assistant|>"


def test_most_drills_hand_back_what_stands_in_the_question(tokenizer: ChatTokenizer) -> None:
    drills, found = Drills(tokenizer), 0
    for index in range(300):
        ids, learnt = drills.row(Random(index))
        begin = learnt.index(True)
        asked, said = (str(tokenizer.pieces.decode(part)) for part in (ids[:begin], ids[begin:-1]))
        handed = next((said.removeprefix(opening) for opening in HANDED if said.startswith(opening)), said)
        found += handed.strip() in asked
    assert found > 75
