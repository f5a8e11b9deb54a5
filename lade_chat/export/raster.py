"""A reply or a race as a PNG, all of it, or as an animated GIF at the pace at which it was decoded."""

from __future__ import annotations

from collections.abc import Iterator
from io import BytesIO

from PIL import Image

from lade_chat.export.canvas import Canvas
from lade_chat.export.card import Card, card_of
from lade_chat.export.content import Content
from lade_chat.export.theme import Theme, fixed
from lade_chat.export.viewport import Viewport

STILL_SIZE, MOVING_SIZE = 26, 15
"""Font sizes in pixels; a still is drawn for screens of twice the density."""
FRAMES_PER_SECOND = 15
MAX_FRAMES = 900
"""A reply of more than a minute has fewer frames a second: a picture is of use only if it can be sent."""
TEXT_ROWS = 24
HOLD_SECONDS = 3.0
"""Display time of the last frame, the only one that is not the reply's own."""


def png(content: Content, theme: Theme, columns: int | None) -> bytes:
    """Everything at the end, with every row."""
    card = card_of(content, columns)
    canvas = Canvas(card, card.text_rows, fixed(theme), STILL_SIZE)
    for row, column, line in card.still():
        canvas.draw(row, column, line)
    file = BytesIO()
    canvas.picture().save(file, "PNG", optimize=True)
    return file.getvalue()


def gif(content: Content, theme: Theme, columns: int | None) -> bytes:
    """The reply as it was written; a text of more than 24 rows scrolls."""
    card = card_of(content, columns)
    moments = _moments(card.seconds)
    frames = _frames(card, moments, theme)
    durations = [round(1000 * (after - moment)) for moment, after in zip(moments, [*moments[1:], 0], strict=True)]
    durations[-1] = round(1000 * HOLD_SECONDS)
    file = BytesIO()
    first = next(frames)
    # Unchanged pixels stay as they were: each frame holds only what is new in it.
    first.save(file, "GIF", save_all=True, append_images=frames, duration=durations, loop=0, disposal=1)
    return file.getvalue()


def _moments(seconds: float) -> list[float]:
    """Return the start of each frame in whole hundredths of a second, as in GIF, so that rounding cannot add up."""
    end = max(round(100 * seconds), 1)
    count = max(1, min(MAX_FRAMES, int(end * FRAMES_PER_SECOND / 100)))
    return [round(end * frame / count) / 100 for frame in range(count + 1)]


def _frames(card: Card, moments: list[float], theme: Theme) -> Iterator[Image.Image]:
    rows = min(card.text_rows, TEXT_ROWS)
    canvas = Canvas(card, rows, fixed(theme), MOVING_SIZE)
    for row, column, line in card.frame(rows):
        canvas.draw(row, column, line)
    views = [Viewport(pane.lines, rows) for pane in card.panes]
    for moment in moments:
        # The last moment is the end, but for the rounding.
        now = card.seconds if moment == moments[-1] else moment
        for pane, view in zip(card.panes, views, strict=True):
            for row, line in view.advance(now):
                canvas.draw(card.text_row + row, pane.column, line, pane.width)
            for row, line in enumerate(pane.metrics_at(now), start=card.metrics_row(rows)):
                canvas.draw(row, pane.column, line, pane.width)
        if now == card.seconds:
            for row, column, line in card.outcome(rows):
                canvas.draw(row, column, line)
        yield canvas.picture()
