"""Text in cells: words and wide characters stay whole, and no row is too long."""

from __future__ import annotations

import pytest

from lade_chat.export.card import Pane, Stretch, rows, width_of
from lade_chat.export.theme import DARK, INKS, LIGHT, Colours
from tests.export.samples import rgb


def laid(text: str, width: int = 20) -> list[str]:
    return ["".join(part.text for part in line) for line in rows([Stretch(text, "plain")], width)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("one two three four five", ["one two three four ", "five"]),
        ("exactly twenty cells in", ["exactly twenty cells", "in"]),
        ("x" * 25, ["x" * 20, "x" * 5]),
        ("a\n\n  b\n\n", ["a", "", "  b"]),
        ("\tx\ty", ["        x       y"]),
        ("你好世界你好世界你好世界", ["你好世界你好世界你好", "世界"]),
        ("", []),
    ],
)
def test_rows(text: str, expected: list[str]) -> None:
    assert [line.rstrip() for line in laid(text)] == [line.rstrip() for line in expected]


@pytest.mark.parametrize("width", [2, 3, 7, 80])
def test_no_row_is_wider_than_asked_and_no_character_is_lost(width: int) -> None:
    text = "The quick\tbrown 狐狸 jumps; https://example.org/a/very/long/path 👍🏽 🇩🇪 done"
    found = rows([Stretch(text, "plain")], width)
    assert all(width_of(line) <= width for line in found)
    joined = "".join(part.text for line in found for part in line)
    assert "".join(joined.split()) == "".join(text.split())


def test_stretches_keep_their_ink_and_their_time_across_rows() -> None:
    found = rows([Stretch("one ", "plain", 1.0), Stretch("two three", "context", 2.0)], 8)
    assert found == [
        (Stretch("one ", "plain", 1.0), Stretch("two ", "context", 2.0)),
        (Stretch("three", "context", 2.0),),
    ]


def test_the_end_of_what_is_there_is_shown() -> None:
    lines = rows([Stretch(f"line {number}\n", "plain", float(number)) for number in range(1, 6)], 20)
    pane = Pane(20, (), lines, (), (), 9.0)
    shown = [["".join(part.text for part in line)[-1:] for line in pane.text_at(at, 3)] for at in range(7)]
    assert shown == [
        ["", "", ""],
        ["1", "", ""],
        ["1", "2", ""],
        ["1", "2", "3"],
        ["2", "3", "4"],
        ["3", "4", "5"],
        ["3", "4", "5"],
    ]


def _luminance(colour: str) -> float:
    parts = (value / 255 for value in rgb(colour))
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("colours", [DARK, LIGHT], ids=["dark", "light"])
def test_every_text_can_be_read_on_its_ground(colours: Colours) -> None:
    for ink in INKS:
        low, high = sorted(_luminance(colour) for colour in colours.of(ink))
        assert (high + 0.05) / (low + 0.05) >= 4.5, ink
