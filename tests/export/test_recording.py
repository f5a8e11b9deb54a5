"""A recording knows when each piece was settled."""

from __future__ import annotations

import pytest

from lade_chat.export.content import Recording
from lade_chat.protocol.events import ReplyFinished, Tokens
from lade_chat.protocol.values import Piece, Statistics
from tests.export.samples import FIRST_STEP_SECONDS, STEP_SECONDS, STEPS, TEXT, recorded


def test_pieces_join_to_the_reply_and_have_the_times_of_their_steps() -> None:
    recording = recorded()
    assert recording.text == TEXT
    expected = [FIRST_STEP_SECONDS + STEP_SECONDS * number for number, step in enumerate(STEPS) for _ in step]
    assert recording.times == pytest.approx(expected)
    assert recording.seconds == pytest.approx(expected[-1])
    assert recording.finish_reason == "eos"


def test_a_piece_that_was_held_back_has_the_time_of_its_own_step() -> None:
    recording = Recording()
    recording.take(Tokens((Piece("a", "plain", 1, 0),), Statistics(seconds=0.2), "left", (0.1, 0.2)))
    recording.take(
        Tokens((Piece("b", "plain", 1, 1), Piece("c", "plain", 1, 2)), Statistics(seconds=0.3), "left", (0.3,))
    )
    assert recording.times == [0.1, 0.2, 0.3]


def test_an_engine_that_tells_no_steps_still_has_its_batches() -> None:
    recording = Recording()
    recording.take(Tokens((Piece("a", "plain", 1, 0), Piece("b", "plain", 1, 1)), Statistics(seconds=0.5)))
    recording.take(ReplyFinished("length", Statistics(seconds=0.75)))
    assert recording.times == [0.5, 0.5]
    assert recording.seconds == 0.75
