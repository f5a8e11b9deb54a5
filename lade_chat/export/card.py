"""A picture in cells, for SVG, PNG, GIF and the cast of a race: heading, question, texts, metrics, legend."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from lade_chat.export.content import Content, metrics_of, title_of
from lade_chat.export.layout import Line, Stretch, rows, width_of, written
from lade_chat.export.recording import Recording
from lade_chat.presentation.metrics import counted, fit, pack, part, seconds

REPLY_COLUMNS = 80
RACE_COLUMNS = 120
MIN_COLUMNS = 24
QUESTION_ROWS = 4
Placed: TypeAlias = tuple[int, int, Line]
"""A row, a column, and the line there."""
_GAP = 3
"""Cells between the two texts of a race; a rule stands in their middle."""


@dataclass(frozen=True)
class Pane:
    """One text with its place and its metrics."""

    column: int
    width: int
    title: Line
    lines: tuple[Line, ...]
    metrics: tuple[Line, ...]
    times: tuple[float, ...]
    seconds: float

    def metrics_at(self, moment: float) -> tuple[Line, ...]:
        """Return its clock and tokens while it runs, then all of its metrics."""
        if moment >= self.seconds:
            return self.metrics
        count = bisect_right(self.times, moment)
        return (written(f"{seconds(moment)} · {counted(count, 'token')}", "dim"),)


@dataclass(frozen=True)
class Card:
    """The layout of a picture; its rows follow from the number of text rows."""

    columns: int
    title: Line
    question: tuple[Line, ...]
    panes: tuple[Pane, ...]
    verdict: tuple[Line, ...]
    legend: tuple[Line, ...]
    seconds: float

    @property
    def divider(self) -> float | None:
        """The column of the rule between two texts."""
        return self.panes[1].column - _GAP / 2 if len(self.panes) > 1 else None

    @property
    def text_rows(self) -> int:
        return max(1, *(len(pane.lines) for pane in self.panes))

    @property
    def text_row(self) -> int:
        """The first row of the texts; the heading's is 0."""
        titles = 2 if len(self.panes) > 1 else 0
        return 2 + (len(self.question) + 1 if self.question else 0) + titles

    def metrics_row(self, text_rows: int) -> int:
        return self.text_row + text_rows + 1

    def verdict_row(self, text_rows: int) -> int:
        return self.metrics_row(text_rows) + max(len(pane.metrics) for pane in self.panes) + 1

    def legend_row(self, text_rows: int) -> int:
        return self.verdict_row(text_rows) + (len(self.verdict) + 1 if self.verdict else 0)

    def rows(self, text_rows: int) -> int:
        """All rows of the picture."""
        return self.legend_row(text_rows) + len(self.legend)

    def frame(self, text_rows: int) -> Iterator[Placed]:
        """Yield everything that is visible from start to end."""
        yield from self._heading()
        for pane in self.panes:
            yield from self._title_of(pane)
        yield from self._legend(text_rows)

    def outcome(self, text_rows: int) -> Iterator[Placed]:
        """Yield what appears only at the end."""
        for row, line in enumerate(self.verdict, start=self.verdict_row(text_rows)):
            yield row, 0, line

    def still(self) -> Iterator[Placed]:
        """Yield the final picture with every row of the texts, in reading order."""
        count = self.text_rows
        yield from self._heading()
        for pane in self.panes:
            yield from self._title_of(pane)
            for row, line in enumerate(pane.lines, start=self.text_row):
                yield row, pane.column, line
            for row, line in enumerate(pane.metrics, start=self.metrics_row(count)):
                yield row, pane.column, line
        yield from self.outcome(count)
        yield from self._legend(count)

    def _heading(self) -> Iterator[Placed]:
        yield 0, 0, self.title
        for row, line in enumerate(self.question, start=2):
            yield row, 0, line

    def _title_of(self, pane: Pane) -> Iterator[Placed]:
        if len(self.panes) > 1:
            yield self.text_row - 2, pane.column, pane.title

    def _legend(self, text_rows: int) -> Iterator[Placed]:
        for row, line in enumerate(self.legend, start=self.legend_row(text_rows)):
            yield row, 0, line


def card_of(content: Content, columns: int | None = None) -> Card:
    """Lay a reply or a race out."""
    columns = max(MIN_COLUMNS, columns or (RACE_COLUMNS if content.is_race else REPLY_COLUMNS))
    width = (columns - _GAP) // 2 if content.is_race else columns
    heading = fit([part(rank, text) for rank, text in enumerate(content.heading())], columns)
    return Card(
        columns=columns,
        title=written(heading, "title"),
        question=_question(content.asked, columns),
        panes=tuple(
            _pane(content, side, column, width) for side, column in zip(content.sides, (0, width + _GAP), strict=False)
        ),
        verdict=_paragraphs(content.verdict, columns, content.seconds),
        legend=_legend(content, columns),
        seconds=content.seconds,
    )


def stretches(content: Content, side: Recording) -> list[Stretch]:
    """Return a reply's pieces, each with its ink and time."""
    return [
        (piece.text, content.shown_as(piece), moment) for piece, moment in zip(side.pieces, side.times, strict=True)
    ]


def _pane(content: Content, side: Recording, column: int, width: int) -> Pane:
    metrics = pack(metrics_of(side, titled=content.is_race), width)
    return Pane(
        column,
        width,
        written(title_of(side), "dim"),
        rows(stretches(content, side), width),
        rows([(metrics, "dim", side.seconds)], width),
        tuple(side.times),
        side.seconds,
    )


def _question(text: str, columns: int) -> tuple[Line, ...]:
    found = rows([(f"> {text.strip()}", "question", 0.0)], columns) if text.strip() else ()
    if len(found) <= QUESTION_ROWS:
        return found
    last = found[QUESTION_ROWS - 1]
    while width_of(last) > columns - 1:
        last = last[:-1]
    return (*found[: QUESTION_ROWS - 1], (*last, *written("…", "question")))


def _paragraphs(texts: tuple[str, ...], columns: int, moment: float) -> tuple[Line, ...]:
    return tuple(line for text in texts for line in rows([(text, "verdict", moment)], columns))


def _legend(content: Content, columns: int) -> tuple[Line, ...]:
    """Return a line for each look: its name in its ink, and its meaning."""
    legend = content.legend()
    widest = max((len(shown) for shown in legend), default=0)
    lines: list[Line] = []
    for shown, meaning in legend.items():
        lines.extend(rows([(f" {shown:{widest}} ", shown, 0.0), (f" {meaning}", "dim", 0.0)], columns))
    return tuple(lines)
