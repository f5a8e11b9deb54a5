"""Text in cells: words, wide characters, tabs and clusters stay whole, and no row is too long."""

from __future__ import annotations

import pytest

from lade_chat.export.layout import Line, Viewport, rows, runs, width_of
from lade_chat.export.theme import DARK, INKS, LIGHT, Colours, rgb


def laid(text: str, width: int = 20) -> list[str]:
    return ["".join(glyph.text for glyph in line) for line in rows([(text, "plain", 0.0)], width)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("one two three four five", ["one two three four ", "five"]),
        ("exactly twenty cells in", ["exactly twenty cells", "in"]),
        ("x" * 25, ["x" * 20, "x" * 5]),
        ("    " + "x" * 25, ["    " + "x" * 16, "x" * 9]),
        ("a\n\n  b\n\n", ["a", "", "  b"]),
        ("\tx\ty", ["        x       y"]),
        ("你好世界你好世界你好世界", ["你好世界你好世界你好", "世界"]),
        ("a你好世界你好世界你好世界", ["a你好世界你好世界你", "好世界"]),
        ("", []),
    ],
)
def test_rows(text: str, expected: list[str]) -> None:
    assert laid(text) == expected


@pytest.mark.parametrize("width", [1, 2, 3, 7, 80])
def test_no_row_is_wider_than_asked_and_no_character_is_lost(width: int) -> None:
    text = "The quick\tbrown 狐狸 jumps; https://example.org/a/very/long/path 👍🏽 🇩🇪 done"
    found = rows([(text, "plain", 0.0)], width)
    assert all(width_of(line) <= max(width, 2) for line in found)
    joined = "".join(glyph.text for line in found for glyph in line)
    assert "".join(joined.split()) == "".join(text.split())


@pytest.mark.parametrize("cluster", ["é", "👍🏽", "👩\u200d🚀", "🇩🇪", "❤\ufe0f"])
def test_what_belongs_together_is_one_glyph(cluster: str) -> None:
    [line] = rows([(f"a{cluster}b", "plain", 0.0)], 20)
    assert [glyph.text for glyph in line] == ["a", cluster, "b"]
    assert line[1].width == (1 if cluster.startswith("e") else line[1].width)


def test_a_character_that_two_tokens_share_comes_with_the_later() -> None:
    [line] = rows([("👍", "plain", 1.0), ("🏽!", "context", 2.0)], 20)
    assert [(glyph.text, glyph.ink, glyph.seconds) for glyph in line] == [("👍🏽", "plain", 2.0), ("!", "context", 2.0)]


def test_runs_tell_where_each_ink_stands() -> None:
    [line] = rows([("ab", "plain", 0.0), ("好", "context", 0.0), ("c", "plain", 0.0)], 20)
    assert [(run.column, run.width, run.text, run.ink) for run in runs(line)] == [
        (0, 2, "ab", "plain"),
        (2, 2, "好", "context"),
        (4, 1, "c", "plain"),
    ]


def test_a_viewport_shows_the_end_of_what_is_there() -> None:
    lines = rows([(f"line {number}\n", "plain", float(number)) for number in range(1, 6)], 20)
    screen: dict[int, Line] = {}
    view = Viewport(lines, 3)
    shown = []
    for moment in range(7):
        screen.update(view.advance(float(moment)))
        shown.append(["".join(glyph.text for glyph in screen[row])[-1] for row in sorted(screen)])
    assert shown == [[], ["1"], ["1", "2"], ["1", "2", "3"], ["2", "3", "4"], ["3", "4", "5"], ["3", "4", "5"]]
    assert view.advance(9.0) == []


def _luminance(colour: str) -> float:
    parts = (value / 255 for value in rgb(colour))
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("colours", [DARK, LIGHT], ids=["dark", "light"])
def test_every_text_can_be_read_on_its_ground(colours: Colours) -> None:
    for ink in INKS:
        low, high = sorted(_luminance(colour) for colour in colours.of(ink))
        assert (high + 0.05) / (low + 0.05) >= 4.5, ink
