"""PNG and GIF: the right size, colours and pace, in few bytes."""

from __future__ import annotations

import itertools
from colorsys import hsv_to_rgb
from io import BytesIO

import pytest
from PIL import Image
from rich.segment import Segment
from rich.style import Style

from lade_chat.export import raster
from lade_chat.export.card import TEXT_ROWS, Film, Frame
from lade_chat.export.content import Content
from lade_chat.export.raster import FRAMES_PER_SECOND, HOLD_SECONDS, MAX_FRAMES, _moments, film_gif, film_png, gif, png
from lade_chat.export.theme import DARK, LIGHT, Colours, Theme
from tests.export.samples import MODEL, QUESTION, race, recorded, reply, rgb


def opened(picture: bytes) -> Image.Image:
    return Image.open(BytesIO(picture))


def frames_of(picture: bytes) -> list[tuple[float, Image.Image]]:
    """Each frame's seconds, and what it shows."""
    image = opened(picture)
    found = []
    for number in range(image.n_frames):  # type: ignore[attr-defined]
        image.seek(number)
        found.append((image.info["duration"] / 1000, image.convert("RGB")))
    return found


def colours_of(image: Image.Image) -> set[object]:
    return {colour for _, colour in image.convert("RGB").getcolors(1 << 16) or []}


@pytest.mark.parametrize(("theme", "colours"), [("auto", DARK), ("dark", DARK), ("light", LIGHT)])
def test_a_png_has_the_colours_of_its_theme(theme: Theme, colours: Colours) -> None:
    found = colours_of(opened(png(reply(), theme)))
    assert {rgb(colours.ground), rgb(colours.bar), rgb(colours.text), *map(rgb, colours.tints.values())} <= found


def test_a_png_grows_with_its_text() -> None:
    one, many = (opened(png(reply("x\n" * rows + "x"), "auto")) for rows in (0, 99))
    assert many.height > 5 * one.height
    assert many.width == one.width


@pytest.mark.parametrize("content", [reply(), race(), reply("good " * 24)], ids=["reply", "race", "long"])
def test_a_gif_lasts_as_long_as_the_reply_and_holds_its_end(content: Content) -> None:
    frames = frames_of(gif(content, "auto"))
    *running, end = [seconds for seconds, _ in frames]
    assert sum(running) == pytest.approx(content.seconds, abs=0.006)
    assert end == HOLD_SECONDS
    assert len(running) <= content.seconds * FRAMES_PER_SECOND + 1


def test_a_gif_ends_with_everything_and_begins_without_the_text() -> None:
    frames = frames_of(gif(reply(), "auto"))
    first, last = frames[0][1], frames[-1][1]
    row = first.height // 2  # below the question, above the legend
    upper = (0, 4 * 18, first.width, row)
    assert rgb(DARK.tints["trajectory"]) not in colours_of(first.crop(upper))
    assert rgb(DARK.tints["trajectory"]) in colours_of(last.crop(upper))


def test_a_gif_of_a_long_text_scrolls_in_the_same_room() -> None:
    exactly, longer = (opened(gif(reply("x\n" * (rows - 1) + "x"), "auto")) for rows in (TEXT_ROWS, TEXT_ROWS + 30))
    assert exactly.size == longer.size


def test_two_hundred_tokens_take_less_than_a_megabyte() -> None:
    steps = [[(" verified", "trajectory"), (" then", "context"), (f" {n}", "plain")] for n in range(67)]
    content = Content(QUESTION, MODEL, (recorded(steps, step_seconds=0.03),))  # type: ignore[arg-type]
    assert len(gif(content, "auto")) < 300_000
    assert len(png(content, "auto")) < 300_000


@pytest.mark.parametrize("seconds", [0.0, 0.004, 0.1, 1.0, 59.99, 60.0, 333.333, 5000.0])
def test_frames_are_capped_and_do_not_drift(seconds: float) -> None:
    moments = _moments(seconds)
    assert moments[0] == 0
    assert moments[-1] == seconds
    steps = [after - before for before, after in itertools.pairwise(moments)]
    assert all(step > 0.0599 or len(steps) == 1 for step in steps)
    assert len(steps) <= MAX_FRAMES


def test_characters_that_no_font_has_keep_their_cells(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(raster, "OTHERS", ())
    face = raster.Typeface(15)
    missing, letter = face.tile("好", 2), face.tile("x", 1)
    assert missing.size == (2 * face.cell, face.row)
    assert missing.getbbox() is not None
    assert letter.width == face.cell


def test_without_any_font_of_the_system_pillows_own_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(raster, "MONOSPACED", ("no-such-font.ttf",))
    assert opened(png(reply(), "auto")).width > 300


# --- A film as an animated GIF shows every colour of the screen, as far as the format has room

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


def pictured(text: str, columns: int) -> Image.Image:
    return opened(film_png(Film(columns, 1, [Frame(0.0, {0: (Segment(text),)})])))


@pytest.mark.parametrize("emoji", ["👨\u200d👩\u200d👧\u200d👦", "❤\ufe0f", "👍🏽"])
def test_an_emoji_of_several_characters_fills_two_cells(emoji: str) -> None:
    joined, apart = (pictured(f"{emoji}|", 8), pictured("  |", 8))
    cells = (joined.width // 8 * 2, 0, joined.width, joined.height)
    assert joined.crop(cells).tobytes() == apart.crop(cells).tobytes()


def test_an_accent_of_its_own_is_drawn() -> None:
    whole, apart, bare = (pictured(text, 1) for text in ("é", "e\u0301", "e"))
    assert apart.tobytes() == whole.tobytes() != bare.tobytes()
