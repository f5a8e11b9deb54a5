"""A film as an animated GIF shows every colour of the screen, as far as the format has room."""

from __future__ import annotations

from colorsys import hsv_to_rgb
from io import BytesIO

import pytest
from PIL import Image
from rich.segment import Segment
from rich.style import Style

from lade_chat.export.film import Film, Frame
from lade_chat.export.raster import film_gif
from tests.export.samples import rgb

BLOCK = "\N{FULL BLOCK}"
GROUND = "#101010"


def hues(count: int) -> list[str]:
    """As many different colours."""
    colours = (hsv_to_rgb(place / count, 1, 1) for place in range(count))
    return ["#{:02x}{:02x}{:02x}".format(*(round(255 * part) for part in colour)) for colour in colours]


def shown(inks: list[str]) -> list[tuple[int, ...]]:
    """The colours of a film's rows, each of a block of another ink."""
    rows = {place: (Segment(BLOCK, Style(color=ink, bgcolor=GROUND)),) for place, ink in enumerate(inks)}
    picture = Image.open(BytesIO(film_gif(Film(1, len(inks), [Frame(0.0, rows)], 1.0)))).convert("RGB")
    height = picture.height // len(inks)
    found = (picture.getpixel((picture.width // 2, place * height + height // 2)) for place in range(len(inks)))
    return [colour for colour in found if isinstance(colour, tuple)]


def off(inks: list[str]) -> int:
    """The greatest difference between a part of a colour as it was given and as it is shown."""
    given = map(rgb, inks)
    return max(abs(a - b) for pair in zip(given, shown(inks), strict=True) for a, b in zip(*pair, strict=True))


@pytest.mark.parametrize("count", [1, 40, 127, 128, 250])
def test_colours_that_a_gif_has_room_for_are_shown_as_they_are(count: int) -> None:
    assert off(hues(count)) == 0


def test_more_colours_than_a_gif_has_are_shown_as_similar_ones() -> None:
    assert off(hues(700)) <= 16
