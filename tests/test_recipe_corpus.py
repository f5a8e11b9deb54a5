"""The recipe's corpus: the same for a seed, right by its own checks, and without the questions it is examined by."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from assets.recipe import corpus
from assets.recipe.conversation import number_list
from assets.recipe.drills import Drills
from assets.recipe.evaluation import QUESTIONS
from assets.recipe.tokenizer import ChatTokenizer
from assets.recipe.user_words import HANDED


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


# --- Drills of the bundled model's training, and what is written letter by letter


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


# --- What the recipe's replies show on the way to an answer is true: sums, comparisons, and the yes or no behind them

# Not where another step of a chain follows, nor behind a division.
_CLAIM = re.compile(
    r"(?<![\d.])(?<!/ )(-?\d+(?: [+×-] \d+)*) (<=|>=|<|>|=) (-?\d+)\b(?! [+×/-] )(?: (yes|no|out|stays)\b)?"
)


def replies(skill: str) -> Iterator[str]:
    """The replies of many conversations of the skill."""
    for index in range(1700):
        for exchange in corpus.skill_named(skill).compose(corpus.draw_for("workings", index)):
            yield exchange.reply


def true(claim: re.Match[str]) -> bool:
    """What the claim says of its numbers holds; with a no behind it, or "stays" where others go out, it does not."""
    expression, sign, other, verdict = claim.groups()
    total, *terms = re.split(r" (?=[+×-] )", expression)
    value = int(total)
    for term in terms:
        operator, number = term.split()
        value = value * int(number) if operator == "×" else value + int(f"{operator}{number}")
    held = {"<": value < int(other), ">": value > int(other), "=": value == int(other),
            "<=": value <= int(other), ">=": value >= int(other)}[sign]  # fmt: skip
    return held == (verdict not in ("no", "stays"))


@pytest.mark.parametrize("skill", ["counting", "word lists"])
def test_every_comparison_and_sum_on_the_way_holds(skill: str) -> None:
    claims = [claim for reply in replies(skill) for claim in _CLAIM.finditer(reply)]
    assert len(claims) > 500
    assert not [claim.group() for claim in claims if not true(claim)]


def test_a_row_is_read_after_so_and_only_there() -> None:
    check = number_list([3, 7])
    assert all(map(check, ("3, 7.", "+4: 3, 7, 11 > 8. So 3, 7.", "3 to 7 by 4. So\n3\n7")))
    assert not any(map(check, ("+4: 3, 7, 11 > 8. So 3, 7, 11.", "+4: 3, 7, 11 > 8.")))


@pytest.mark.parametrize(("claim", "held"), [
    ("2 × 8 - 1 = 15", True), ("87 + 10 = 98", False), ("007 > 040 no", True), ("12 > 20 yes", False),
    ("07 < 40 out", True), ("07 > 40 stays", True), ("12 < 20 stays", False), ("0 < 0", False),
])  # fmt: skip
def test_a_claim_that_does_not_hold_is_found(claim: str, held: bool) -> None:
    found = _CLAIM.fullmatch(claim)
    assert found is not None
    assert true(found) == held
