"""The colours of ``ask`` and ``compare`` on a terminal, by both views, with and without colours."""

from __future__ import annotations

import io
from typing import get_args

import pytest
from rich.console import Console

from lade_chat.cli.running.output import TextWriter, style_of
from lade_chat.presentation.sources import VIEWS, ColourView, meanings, other, shown_as, view_named
from lade_chat.protocol.inspection import TokenSource
from lade_chat.protocol.values import Piece

ORIGINS: tuple[TokenSource, ...] = get_args(TokenSource)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("no_color", [False, True])
@pytest.mark.parametrize(("view", "looks"), [("verified", 2), ("sources", 4)])
def test_a_view_has_as_many_looks_as_it_names(view: ColourView, looks: int, no_color: bool) -> None:
    console = Console(no_color=no_color)
    styles = {str(style_of(origin, view, console)) for origin in ORIGINS}
    assert len(styles) == looks == len(meanings(view))
    assert style_of("plain", view, console) is None


def test_what_is_written_has_the_colours_of_the_view(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")
    written = {}
    for view in VIEWS:
        out = Terminal()
        TextWriter(out, view).write([Piece(f"{origin} ", origin, 1, 0) for origin in ORIGINS])
        written[view] = out.getvalue()
    assert written["verified"] != written["sources"]
    assert all(origin in text for origin in ORIGINS for text in written.values())


@pytest.mark.parametrize(
    ("pieces", "shown"),
    [
        (["to deter", "mine"], "to\ndetermine\n"),
        (["  if a:\n", "    return"], "  if a:\n    return\n"),
        (["ten cells! ", "and  so"], "ten cells!\nand  so\n"),
        (["a wordof", "twelvecells"], "a wordoftwelvecells\n"),
        (["\tab c"], "\tab\nc\n"),
        (["汉字汉字汉", "字 a"], "汉字汉字汉\n字 a\n"),
    ],
)
def test_a_word_that_would_cross_the_edge_begins_the_next_row(
    monkeypatch: pytest.MonkeyPatch, pieces: list[str], shown: str
) -> None:
    monkeypatch.setenv("COLUMNS", "10")
    monkeypatch.setenv("TERM", "xterm")
    out = Terminal()
    writer = TextWriter(out, "verified")
    writer.write([Piece(text, "plain", 1, 0) for text in pieces])
    writer.end_line()
    assert out.getvalue() == shown


def test_views_go_round_and_an_unknown_name_is_the_usual_one() -> None:
    assert [other(view) for view in VIEWS] == ["sources", "verified"]
    assert view_named("sources") == "sources"
    assert view_named(None) == view_named("rainbow") == "verified"
    assert {shown_as(origin, "verified") for origin in ORIGINS} == {"plain", "verified"}
