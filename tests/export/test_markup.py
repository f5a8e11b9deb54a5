"""HTML and SVG: exactly the reply's text, its colours, and nothing in the text that is taken for markup."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest

from lade_chat.export.html_page import html_page
from lade_chat.export.svg_card import CELL, svg_card
from lade_chat.export.theme import DARK, LIGHT, Theme
from tests.export.samples import STEPS, TEXT, race, reply

NASTY = "<b>&amp;</b> ]]> --> \"'</pre><script>alert(1)</script>\x1b[31m\x07\r\uffff\n  x"
SVG = "{http://www.w3.org/2000/svg}"


class Page(HTMLParser):
    """The texts of a page by the class of what holds them, and its tags."""

    def __init__(self, page: bytes) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.texts: list[tuple[str, str]] = []
        self._open: list[tuple[str, str]] = []
        self.feed(page.decode())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag != "meta":
            self._open.append((tag, dict(attrs).get("class") or ""))

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop()[0] == tag

    def handle_data(self, data: str) -> None:
        if any(name == "text" for _, name in self._open):
            self.texts.append((self._open[-1][1], data))

    @property
    def text(self) -> str:
        # A line break right behind <pre> is none.
        return "".join(text for _, text in self.texts).removeprefix("\n")


def rows_of(svg: bytes) -> list[str]:
    """The rows of an SVG from top to bottom."""
    texts = ElementTree.fromstring(svg).iter(f"{SVG}text")
    return ["".join(text.itertext()).replace("\N{NO-BREAK SPACE}", " ") for text in texts]


@pytest.mark.parametrize(
    "text", [None, "\n\nbegins with line breaks\n", "tab\tand    spaces  \n", "好 👍🏽\n" + "x" * 300]
)
def test_a_page_holds_exactly_the_text(text: str | None) -> None:
    assert Page(html_page(reply(text), "auto")).text == (TEXT if text is None else text)


def test_a_page_marks_each_token_by_its_origin() -> None:
    marked = [(name, text) for name, text in Page(html_page(reply(), "auto")).texts if name != "text"]
    expected = [(origin, text) for step in STEPS for text, origin in step]
    assert marked == expected


def test_a_page_takes_nothing_for_markup_and_loads_nothing() -> None:
    plain, nasty = (Page(html_page(reply(text), "auto")) for text in ("x", NASTY))
    assert nasty.tags == plain.tags
    assert nasty.text.startswith(NASTY[:40])
    assert "\x1b" not in nasty.text
    assert "␛[31m␇␍" in nasty.text
    page = html_page(reply(NASTY), "auto").decode()
    assert "default-src 'none'" in page
    assert not re.search(r"(src|href)=|url\(|@import", page)


@pytest.mark.parametrize("write", [html_page, svg_card])
@pytest.mark.parametrize(("theme", "grounds"), [("auto", "DL"), ("dark", "D"), ("light", "L")])
def test_the_colours_follow_the_theme(write: object, theme: Theme, grounds: str) -> None:
    assert callable(write)
    written = write(reply(), theme).decode()
    for name, colours in (("D", DARK), ("L", LIGHT)):
        values = {colours.ground, colours.text, *colours.tints.values()}
        assert all((value in written) == (name in grounds) for value in values)
    assert ("prefers-color-scheme" in written) == (theme == "auto")


def test_an_svg_has_the_text_row_by_row_with_its_leading_spaces() -> None:
    rows = rows_of(svg_card(reply(), "auto"))
    first = rows.index("def total(xs):")
    assert rows[first + 1] == "    return sum(xs)"
    assert rows[0].rstrip() == "lade-chat · tiny-12M · cpu · float32"
    assert any("first token 0.23 s" in row for row in rows)


def test_an_svg_tints_each_token_where_it_stands() -> None:
    picture = ElementTree.fromstring(svg_card(reply(), "auto"))
    left = min(float(text.get("x", "inf")) for text in picture.iter(f"{SVG}tspan"))
    tints = [(rect.get("class"), rect) for rect in picture.iter(f"{SVG}rect") if rect.get("class") in DARK.tints]
    cells = [
        (name, round((float(rect.get("x", "")) - left) / CELL), round(float(rect.get("width", "")) / CELL))
        for name, rect in tints
    ]
    assert cells[:6] == [
        ("trajectory", 3, 6),
        ("context", 9, 1),
        ("successor", 12, 2),
        ("trajectory", 0, 4),
        ("context", 10, 8),
        ("trajectory", 0, 12),  # the legend
    ]


def test_an_svg_keeps_its_widths_whatever_the_font() -> None:
    picture = ElementTree.fromstring(svg_card(reply("abc 好 def"), "auto"))
    [row] = [text for text in picture.iter(f"{SVG}text") if "".join(text.itertext()).startswith("abc")]
    assert [float(run.get("textLength", "")) for run in row] == pytest.approx([4 * CELL, 2 * CELL, 4 * CELL])
    assert float(row[2].get("x", "")) - float(row[0].get("x", "")) == pytest.approx(6 * CELL)


def test_an_svg_takes_nothing_for_markup() -> None:
    svg = svg_card(reply(NASTY), "auto")
    tags = {element.tag.removeprefix(SVG) for element in ElementTree.fromstring(svg).iter()}
    assert tags == {"svg", "title", "style", "rect", "g", "text", "tspan"}
    assert any("<script>alert(1)</script>␛[31m␇␍" in row for row in rows_of(svg))


def test_a_race_shows_both_sides_and_the_outcome() -> None:
    page = Page(html_page(race(), "auto"))
    assert page.tags.count("section") == 2
    assert page.text.replace("\n\n", "\n").count("def total(xs):") == 2
    rows = rows_of(svg_card(race(), "auto"))
    assert any(row.count("def total(xs):") == 2 for row in rows)
    assert any("lookahead ON auto" in row and "lookahead OFF" in row for row in rows)
    assert {"speed-up: 2.00x", "the texts are identical"} <= set(rows)


def test_a_long_question_does_not_fill_the_picture() -> None:
    rows = rows_of(svg_card(reply(question="word " * 500), "auto"))
    assert len([row for row in rows if "word" in row]) == 4
    assert rows[5].rstrip().endswith("…")


@pytest.mark.parametrize(
    ("question", "last"),
    [("one\n\ntwo\n\nthree", "…"), ("好" * 400, f"{'好' * 39} …"), ("a\nb\nc\n    d\ne", "    d…")],
    ids=["paragraphs", "wide", "indented"],
)
def test_a_long_question_is_cut_wherever_its_fourth_row_ends(question: str, last: str) -> None:
    assert rows_of(svg_card(reply(question=question), "auto"))[5].rstrip() == last


@pytest.mark.parametrize("emoji", ["👨\u200d👩\u200d👧\u200d👦", "❤\ufe0f", "👍🏽"])
def test_an_emoji_of_several_characters_moves_nothing_behind_it(emoji: str) -> None:
    picture = ElementTree.fromstring(svg_card(reply(f"{emoji}|"), "auto"))
    [row] = [text for text in picture.iter(f"{SVG}text") if "".join(text.itertext()) == f"{emoji}|"]
    assert [float(run.get("textLength", "")) for run in row] == pytest.approx([2 * CELL, CELL])
