"""The attention mask as it is drawn, with its legend."""

from __future__ import annotations

import pytest

from lade_chat.tui.explain.mask import draw_legend, draw_mask, mask_height, mask_width
from tests.tui.explained import MASK


class TestMask:
    def test_two_rows_share_a_line_and_each_group_begins_one(self) -> None:
        assert [line.plain for line in draw_mask(MASK, frozenset(), labelled=True, tall=False)] == [
            "           cache i c  w",
            "input      ▀▀▀▀▀ ▀     ",
            "candidates █████ █ █▄  ",
            "window     ▀▀▀▀▀ ▀    ▀",
        ]

    def test_tall_every_row_has_its_line_and_squares_are_two_wide(self) -> None:
        assert [line.plain for line in draw_mask(MASK, frozenset({"window"}), labelled=False, tall=True)] == [
            "cache in c    w ",
            "█████ ██        ",
            "█████ ██ ██     ",
            "█████ ██ ████   ",
            "█████ ██      ██",
        ]

    @pytest.mark.parametrize(
        ("height", "tall", "lines"),
        [
            (5, False, ["", "i: input, the last token", "c: candidates", "w: window", "cache: the 7 tokens before"]),
            (3, True, ["", "in: input, the last token", "c: candidates"]),
            (2, False, ["", "i: input, the last token"]),
            (1, False, []),
        ],
    )
    def test_the_legend_repeats_the_short_names(self, height: int, tall: bool, lines: list[str]) -> None:
        assert [line.plain for line in draw_legend(MASK, 30, height, tall=tall)] == lines

    @pytest.mark.parametrize("labelled", [False, True])
    @pytest.mark.parametrize("tall", [False, True])
    def test_it_is_as_large_as_foretold(self, labelled: bool, tall: bool) -> None:
        lines = draw_mask(MASK, frozenset(), labelled=labelled, tall=tall)
        assert {line.cell_length for line in lines} == {mask_width(MASK, labelled=labelled, tall=tall)}
        assert len(lines) == mask_height(MASK, tall=tall)
