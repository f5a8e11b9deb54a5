"""The recipe's chance: what is set aside for the evaluation is never trained on, and hardly two questions are alike."""

from __future__ import annotations

import random

from assets.recipe import corpus, words
from assets.recipe.draw import plain, rephrased, roughened, set_aside
from assets.recipe.skills.numbers import sums


def test_phrasings_set_aside_are_never_trained_on() -> None:
    pool = sums._WORDING["add"]
    trained, examined = corpus.draw_for("p", 0).side(pool), corpus.draw_for("p", 0, True).side(pool)
    assert examined
    assert all(set_aside(ask) for ask in examined)
    assert pool[0] in trained
    assert sorted(trained + examined) == sorted(pool)


def test_the_choices_of_a_varied_phrasing_never_come_to_the_words_of_one_set_aside() -> None:
    held_out = next(ask for ask in (f"Ask {number} of {{x}}." for number in range(100)) if set_aside(ask))
    varied = (f"[Please |]{held_out.lower()}", "Something else of {x}")
    asks = {plain(corpus.draw_for("v", index).ask(("Tell {x}", held_out), varied, x=1)) for index in range(200)}
    assert not any(plain(held_out.format(x=1)) in ask for ask in asks)
    assert any("something else" in ask for ask in asks)


def test_numbers_set_aside_are_never_trained_on() -> None:
    trained = {tuple(corpus.draw_for("n", index).numbers((1, 99), (1, 99))) for index in range(2000)}
    examined = {tuple(corpus.draw_for("n", index, True).numbers((1, 99), (1, 99))) for index in range(500)}
    assert not trained & examined


def test_names_set_aside_are_never_said_in_training() -> None:
    known = {name for index in range(2000) for name in corpus.draw_for("n", index).names(2)}
    examined = {name for index in range(300) for name in corpus.draw_for("n", index, True).names(2)}
    assert not known & examined
    assert {"Mia", "Ben"} <= known
    assert examined & set(words.NAMES)
    assert examined - set(words.NAMES)


def test_hardly_two_questions_are_put_alike() -> None:
    pool = ("Sort these words: {x}", "Sort {x}")
    asks = [corpus.draw_for("alike", index).ask(pool, x="{x}") for index in range(500)]
    assert len(set(asks)) > 250
    assert all(ask.count("{x}") == 1 for ask in asks)


def test_constructions_set_aside_are_never_trained_on() -> None:
    rng = random.Random(0)
    expand = corpus.draw_for("c", 0).expand
    ask = "Sort these words: {x}"
    known, new = ({rephrased(rng, ask, side, expand) for _ in range(2000)} for side in (False, True))
    assert len(known) > 500
    assert known & new == {ask}


def test_carelessness_leaves_alone_what_is_the_user_s_own() -> None:
    rng = random.Random(1)
    asks = {roughened(rng, "Reverse the Words {x}, please.") for _ in range(500)}
    assert len(asks) > 30
    assert all("{x}" in ask for ask in asks)


def test_what_is_copied_comes_back_unchanged_even_if_nobody_ever_said_it() -> None:
    # In replies: a question may come to one of them by a slip of typing.
    messages = (message for index in range(500) for message in corpus.conversation("words", index))
    said = " ".join(message.content for message in messages if message.role == "assistant")
    held_out = [draw.nonsense() for draw in (corpus.draw_for("words", index, True) for index in range(200))]
    # A short one may chance to be what is left of a word that loses letters.
    assert not {word for word in held_out if len(word) > 4} & set(said.split())
