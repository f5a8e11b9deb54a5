"""Stop strings end a reply where they begin, however tokens split them."""

from __future__ import annotations

import random

from lade_chat.engine.text.stop_strings import StopStrings
from lade_chat.protocol.values import Piece


def run(stops, texts):
    filter_ = StopStrings(stops)
    shown = []
    for index, text in enumerate(texts):
        shown += filter_.push(Piece(text, "plain", index, index))
        if filter_.reached:
            return shown, True
    return [*shown, *filter_.finish()], False


def test_for_every_split_the_text_ends_before_the_first_stop_string():
    draw = random.Random(1)
    for _ in range(600):
        text = "".join(draw.choice("ab\nU:s") for _ in range(draw.randrange(1, 30)))
        stops = [draw.choice(["\nU", "ab", "s:", "\nU:s", "U", "bab"]) for _ in range(draw.randrange(0, 4))]
        cuts = sorted(draw.randrange(len(text) + 1) for _ in range(draw.randrange(6)))
        texts = [text[a:b] for a, b in zip([0, *cuts], [*cuts, len(text)], strict=True)]
        # The first that is complete, and of two that end together the longer.
        found = sorted((text.find(stop) + len(stop), text.find(stop)) for stop in stops if stop in text)
        shown, reached = run(stops, texts)
        assert reached == bool(found)
        assert "".join(piece.text for piece in shown) == (text[: found[0][1]] if found else text)
        assert [piece.id for piece in shown] == list(range(len(shown)))


def test_without_stop_strings_nothing_is_held_back():
    shown, reached = run([], ["a", "", "b"])
    assert [piece.text for piece in shown] == ["a", "", "b"]
    assert not reached


def test_what_is_still_unsettled_may_complete_a_stop_string():
    filter_ = StopStrings(["\nUser:"])
    filter_.push(Piece("Hi\nUs", "plain", 0, 0))
    assert filter_.reached_by("er:")
    assert not filter_.reached_by("er")
    assert not filter_.reached
    assert not StopStrings([])


def test_what_may_yet_become_a_stop_string_waits():
    filter_ = StopStrings(["\nUser:"])
    assert [p.text for p in filter_.push(Piece("Hi\nUs", "plain", 0, 0))] == []
    assert [p.text for p in filter_.push(Piece("ed car", "plain", 1, 1))] == ["Hi\nUs", "ed car"]
