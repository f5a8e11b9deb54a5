"""The attention mask as it is drawn, with its legend."""

from __future__ import annotations

import pytest

from lade_chat.tui.explain.mask import draw_legend, draw_mask, mask_width
from tests.tui.explained import MASK


class TestMask:
    def test_two_rows_share_a_line_and_each_group_begins_one(self) -> None:
        assert [line.plain for line in draw_mask(MASK, frozenset(), labelled=True)] == [
            "           cache i c  w",
            "input      ▀▀▀▀▀ ▀     ",
            "candidates █████ █ █▄  ",
            "window     ▀▀▀▀▀ ▀    ▀",
        ]

    @pytest.mark.parametrize(
        ("height", "lines"),
        [
            (5, ["", "i: input, the last token", "c: candidates", "w: window", "cache: the 7 tokens before"]),
            (2, ["", "i: input, the last token"]),
            (1, []),
        ],
    )
    def test_the_legend_repeats_the_short_names(self, height: int, lines: list[str]) -> None:
        assert [line.plain for line in draw_legend(MASK, 30, height)] == lines

    @pytest.mark.parametrize("labelled", [False, True])
    def test_it_is_as_wide_as_foretold(self, labelled: bool) -> None:
        lines = draw_mask(MASK, frozenset(), labelled=labelled)
        assert {line.cell_length for line in lines} == {mask_width(MASK, labelled=labelled)}
