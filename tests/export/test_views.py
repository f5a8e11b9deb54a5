"""A picture shows verified tokens alike or by their source, in every format, with a legend of the same colours."""

from __future__ import annotations

import json
from dataclasses import replace
from io import BytesIO
from itertools import combinations

import pytest
from PIL import Image

from lade_chat.export.cast import cast
from lade_chat.export.content import Content
from lade_chat.export.html_page import html_page
from lade_chat.export.picture import Writer
from lade_chat.export.raster import gif, png
from lade_chat.export.svg_card import svg_card
from lade_chat.export.theme import DARK, LIGHT, Colours, Theme, fixed
from lade_chat.presentation.token_looks import VIEWS, ColourView, Shown
from tests.export.samples import race, reply, rgb

LOST = replace(race(), sides=race().sides[::-1])
SOURCES: tuple[Shown, ...] = ("trajectory", "context", "successor")


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("write", [html_page, svg_card])
def test_pages_name_what_the_view_shows_and_nothing_else(write: Writer, view: ColourView) -> None:
    for content in (reply(), race()):
        text = write(replace(content, view=view), "auto").decode()
        shown = text.split("</style>")[1]
        assert ('class="verified"' in shown) == (view == "verified")
        assert all((f'class="{source}"' in shown) == (view == "sources") for source in SOURCES)


@pytest.mark.parametrize(("draw", "theme"), [(png, "dark"), (gif, "light")])
@pytest.mark.parametrize("view", VIEWS)
def test_rasters_have_the_tints_of_the_view(draw: Writer, view: ColourView, theme: Theme) -> None:
    written = draw(replace(reply(), view=view), theme)
    with Image.open(BytesIO(written)) as picture:
        picture.seek(getattr(picture, "n_frames", 1) - 1)
        colours = {colour for _, colour in picture.convert("RGB").getcolors(1 << 24) or ()}
    tints = fixed(theme).tints
    assert rgb(tints["verified"]) in colours
    assert all((rgb(tints[source]) in colours) == (view == "sources") for source in ("context", "successor"))


@pytest.mark.parametrize("view", VIEWS)
def test_a_cast_has_the_tints_of_the_view(view: ColourView) -> None:
    events = [json.loads(line) for line in cast(replace(reply(), view=view), "dark").decode().splitlines()[1:]]
    written = "".join(text for _, _, text in events)
    for source in ("context", "successor"):
        red, green, blue = rgb(DARK.tints[source])
        assert (f"48;2;{red};{green};{blue}m" in written) == (view == "sources")


@pytest.mark.parametrize("colours", [DARK, LIGHT], ids=["dark", "light"])
def test_sources_have_tints_of_their_own(colours: Colours) -> None:
    for one, another in combinations(SOURCES, 2):
        pair = rgb(colours.tints[one]), rgb(colours.tints[another])
        assert sum(abs(a - b) for a, b in zip(*pair, strict=True)) > 40


@pytest.mark.parametrize("write", [html_page, svg_card, cast])
def test_a_file_that_was_attached_is_a_line_of_the_question(write: Writer) -> None:
    question = "Sum @notes.txt up.\n\nFile notes.txt:\n```\none\ntwo\nthree\nfour\n```"
    text = write(replace(reply(), question=question), "dark").decode()
    assert "```" not in text
    assert "notes.txt · 4 lines" in text or "notes.txt \\u00b7 4 lines" in text


@pytest.mark.parametrize(("content", "is_green"), [(race(), True), (LOST, False)])
def test_only_a_race_that_was_won_ends_in_the_colour_of_success(content: Content, is_green: bool) -> None:
    page, card = (write(content, "auto").decode().split("</style>")[1] for write in (html_page, svg_card))
    assert ('class="verdict won"' in page) == ('class="verdict"' in card) == is_green
