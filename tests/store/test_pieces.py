"""Pieces come back exactly, from few bytes, in one part or many; a broken part costs colours and no text."""

from __future__ import annotations

import pytest

from lade_chat.protocol.values import Piece
from lade_chat.store.all_conversations import Store
from lade_chat.store.piece_codec import UNKNOWN_ID, pack, unpack
from tests.store.replies import say, sql, tokens

PIECES = [
    Piece("é", "plain", 1, 0),
    Piece("", "context", 70_000, 1),
    Piece("𝔸 b\n", "context", 3, 1),
    Piece("", "successor", 4, 4),
    Piece("end", "trajectory", 0, 5),
]
TEXT = "é𝔸 b\nend"


def test_pieces_and_times_come_back() -> None:
    assert unpack(TEXT, [pack(PIECES, [0.05, 0.0750001, 1e4])]) == (tuple(PIECES), (0.05, 0.075, 1e4))


@pytest.mark.parametrize("cut", range(len(PIECES) + 1))
def test_parts_join(cut: int) -> None:
    parts = [pack(PIECES[:cut], [0.1]), pack(PIECES[cut:], [0.2, 0.3])]
    assert unpack(TEXT, parts) == (tuple(PIECES), (0.1, 0.2, 0.3))


def test_nothing_comes_back_as_nothing() -> None:
    assert unpack("", []) == ((), ())
    assert unpack("", [pack([])]) == ((), ())


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (TEXT, []),
        (TEXT, [b""]),
        (TEXT, [b"no such thing"]),
        (TEXT, [pack(PIECES)[:-6]]),
        (TEXT, [pack(PIECES), pack(PIECES)]),
        (TEXT + "!", [pack(PIECES)]),
    ],
)
def test_what_does_not_fit_the_text_is_one_plain_piece(text: str, parts: list[bytes]) -> None:
    assert unpack(text, parts) == ((Piece(text, "plain", UNKNOWN_ID, 0),), ())


def test_a_token_takes_few_bytes() -> None:
    told = tokens(" ".join(["word"] * 1000))
    assert len(pack(told.pieces, told.step_seconds)) < 4 * 1000


def test_figures_of_another_make_cost_no_text(store: Store) -> None:
    conversation = store.begin()
    say(conversation, "one", "1")
    sql(store, "UPDATE turns SET statistics = '{\"steps\": \"many\"}', pieces = x'00', model = '['")
    (turn,) = store.resume(conversation.id).path
    assert (turn.reply, turn.statistics, turn.model) == ("1", None, None)
    assert [piece.text for piece in turn.pieces()] == ["1"]
