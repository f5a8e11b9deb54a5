"""The parts that need no screen: metrics, thoughts, reply text."""

from __future__ import annotations

from typing import get_args

import pytest
from rich.cells import cell_len

from lade_chat.presentation.metric_words import (
    exactness,
    lookahead_forms,
    promise,
    reason_forms,
    reply_parts,
    summary,
    window,
)
from lade_chat.presentation.status_parts import StatusPart, fit, pack, part
from lade_chat.presentation.thought_splitter import Section, sections_of
from lade_chat.presentation.token_looks import ORIGINS
from lade_chat.protocol.inspection import TokenSource
from lade_chat.protocol.values import FinishReason, Sizes, Statistics
from lade_chat.tui.inspector.step_views import shown
from lade_chat.tui.prompt.editor import without_controls
from tests.tui.scripted import FUNCTION, statistics


@pytest.mark.parametrize("width", [10, 20, 30, 48, 60, 80, 120, 200])
def test_metrics_fit_any_width_and_speed_is_the_last_to_go(width: int) -> None:
    line = fit(reply_parts(statistics(FUNCTION), "eos"), width)
    assert len(line) <= width
    assert line.startswith("56.7 tok/s")


@pytest.mark.parametrize("reason", ["eos", "length", "stop", "cancelled"])
def test_a_metric_has_the_same_words_at_every_width(reason: FinishReason) -> None:
    parts = reply_parts(statistics(FUNCTION), reason)
    everything = fit(parts, 200).split(" · ")
    for width in range(12, 200):
        shown = fit(parts, width).split(" · ")
        assert all(any(whole.startswith(metric) for whole in everything) for metric in shown), width
    assert everything[-1] == reason_forms(statistics(FUNCTION), reason)[0]


def test_all_metrics_are_shown_where_there_is_room() -> None:
    assert fit(reply_parts(statistics(FUNCTION), "eos"), 200) == (
        "56.7 tok/s · 3.2 tokens/step · 69% verified · first token 0.15 s · 51 tokens in 0.90 s"
        " · context 74/2048 · lookahead ON auto · end of reply"
    )


def test_fixed_sizes_are_named_and_automatic_ones_are_not() -> None:
    assert lookahead_forms(True, None) == ("lookahead ON auto", "lookahead ON")
    assert lookahead_forms(True, Sizes(4, 3, 2)) == ("lookahead ON W4 N3 G2", "lookahead ON")
    assert lookahead_forms(False, Sizes()) == lookahead_forms(False, None) == ("lookahead OFF",)
    assert fit(reply_parts(statistics(FUNCTION, sizes=Sizes())), 200).endswith("lookahead ON W7 N5 G7")


def test_the_window_in_force_is_told_by_its_sizes() -> None:
    assert window(Statistics(window_size=7, ngram_size=5)) == "7 × 5"
    assert window(Statistics(window_size=0, ngram_size=5)) == "no window"


def test_every_origin_has_its_words() -> None:
    assert set(ORIGINS) == set(get_args(TokenSource))


def test_the_least_important_goes_first_and_longer_forms_return_where_there_is_room() -> None:
    parts = [StatusPart(0, ("aaaa",)), StatusPart(2, ("bbbb",)), StatusPart(1, ("long form", "cc"))]
    assert fit(parts, 40) == "aaaa · bbbb · long form"
    assert fit(parts, 18) == "aaaa · bbbb · cc"
    assert fit(parts, 15) == "aaaa · cc"
    assert fit(parts, 4) == "aaaa"


@pytest.mark.parametrize("text", ["ab" * 8, "漢字" * 4, "e\u0301漢" * 6])
def test_what_is_cut_fits_whatever_the_width_of_its_characters(text: str) -> None:
    for width in range(1, 20):
        for found in (fit([part(0, text)], width), shown(text, width)):
            assert cell_len(found) <= width
            assert found.endswith("…") or found == text


def test_packed_metrics_break_only_between_them() -> None:
    assert pack(summary(statistics(FUNCTION)), 45).splitlines() == [
        "SUMMARY input 23 tokens · generated 51 tokens",
        "time 0.90 s · throughput 56.7 tok/s",
        "16 steps · compression ratio 3.19",
    ]


def test_only_full_precision_promises_the_same_text() -> None:
    assert promise("float32") == ("lookahead on or off: same text",)
    assert "only ties" in exactness("float32")[-1]
    assert promise("bfloat16") == exactness("bfloat16")
    assert promise("bfloat16", bit_exact=True) == promise("float32")
    assert "near ties may pick another token" in exactness("bfloat16")[0]


def split(text: str, size: int) -> list[tuple[str, str]]:
    """Split a text that comes in pieces of ``size`` characters: what is told of its beginning stays true."""
    whole = sections_of(text, final=True).parts
    for end in range(size, len(text), size):
        for begun, ended in zip(sections_of(text[:end]).parts, whole, strict=False):
            assert begun == ended._replace(end=begun.end)
            assert begun.end <= ended.end
    return [(section.kind, text[section.start : section.end]) for section in whole]


@pytest.mark.parametrize("size", [1, 2, 3, 5, 100])
@pytest.mark.parametrize(
    ("text", "sections"),
    [
        ("just an answer", [("answer", "just an answer")]),
        ("<think>hm</think>yes", [("thought", "hm"), ("answer", "yes")]),
        (" \n<think>hm</think>\nyes", [("thought", "hm"), ("answer", "\nyes")]),
        ("hm</think>yes", [("answer", "hm</think>yes")]),
        ("a<think>b</think>c<think>d", [("answer", "a<think>b</think>c<think>d")]),
        ("```\n<think>b</think>\n```", [("answer", "```\n<think>b</think>\n```")]),
        ("<think>a</think>b<think>c</think>d", [("thought", "a"), ("answer", "b<think>c</think>d")]),
        ("<think>\n\n</think>\n\nyes", [("answer", "\n\nyes")]),
        ("<think>a", [("thought", "a")]),
        ("1 < 2 <thin", [("answer", "1 < 2 <thin")]),
        ("<think>a</think>b</think>c", [("thought", "a"), ("answer", "b</think>c")]),
    ],
)
def test_thoughts_are_told_from_the_answer_for_every_split(
    text: str, sections: list[tuple[str, str]], size: int
) -> None:
    assert split(text, size) == sections


def test_what_may_be_a_tag_is_kept_back_until_it_is_known() -> None:
    assert sections_of(" <th").parts == ()
    assert sections_of(" <the").parts == (Section("answer", 0, 5),)
    assert sections_of("<think>so </th").parts == (Section("thought", 7, 10),)


def test_a_paste_loses_its_control_characters_but_not_its_lines() -> None:
    assert without_controls("a\x1b[31mb\r\nc\rd\te\x9b") == "a[31mb\nc\nd\te"


def test_a_live_line_keeps_its_metrics_while_they_grow() -> None:
    def names(tokens: int) -> list[str]:
        metrics = Statistics(
            generated_tokens=tokens, steps=tokens, seconds=tokens / 37, context_used=tokens, context_window=2048
        )
        return [part.split()[-1] for part in fit(reply_parts(metrics), 76).split(" · ") if "context" not in part]

    assert names(1) == names(9) == names(99) == names(999)
