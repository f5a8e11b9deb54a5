"""Recorder: what a screen shows, as the frames of a film."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

from rich.color import Color
from rich.style import Style
from textual.screen import Screen
from textual.strip import Strip

from lade_chat.export.film import Film, Frame, Mark, Row, Run
from lade_chat.tui.terminal.textual_private import strips_of

FRAMES_PER_SECOND = 10
_INK, _GROUND = "#e0e0e0", "#121212"
"""Default text and background colours of a cell."""


class Recorder:
    """Records frames as the rows that have changed since the previous frame."""

    def __init__(self, columns: int, rows: int, report: Callable[[float], None] = lambda _: None) -> None:
        """``report`` gets the seconds recorded so far, at every frame."""
        self.film = Film(columns, rows)
        self._report = report
        self._before: list[Row] = [()] * rows
        self._began = monotonic()

    def take(self, screen: Screen[object]) -> None:
        """Take a frame, unless nothing has changed."""
        now = monotonic()
        if not self.film.frames:
            self._began = now
        rows = [_row(strip) for strip in strips_of(screen)]
        changed = {place: row for place, row in enumerate(rows) if row != self._before[place]}
        self.film.seconds = now - self._began
        self._report(self.film.seconds)
        if changed:
            self._before = rows
            self.film.frames.append(Frame(self.film.seconds, changed))


def _row(strip: Strip) -> Row:
    runs = list[Run]()
    for segment in strip:
        if segment.control or not segment.text:
            continue
        run = _run(segment.text, segment.style or Style())
        if runs and runs[-1][1:] == run[1:]:
            run = run._replace(text=runs.pop().text + run.text)
        runs.append(run)
    return tuple(runs)


def _run(text: str, style: Style) -> Run:
    ink, ground = _hex(style.color, _INK), _hex(style.bgcolor, _GROUND)
    if style.reverse:
        ink, ground = ground, ink
    mark: Mark = "strike" if style.strike else "underline" if style.underline else ""
    return Run(text, ink, ground, bool(style.bold), mark)


def _hex(colour: Color | None, otherwise: str) -> str:
    if colour is None or colour.is_default:
        return otherwise
    return "#{:02x}{:02x}{:02x}".format(*colour.get_truecolor())
