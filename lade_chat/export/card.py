"""A picture in cells, for all formats but HTML, and the film of it: heading, question, texts in rows, metrics."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import NamedTuple, TypeAlias

from rich.cells import cell_len, split_graphemes
from rich.color import Color
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from rich.text import Text

from lade_chat.export.content import Content, Recording, metrics_of, title_of
from lade_chat.export.theme import ALL_INKS, Colours, Ink
from lade_chat.presentation.metric_words import counted, seconds
from lade_chat.presentation.sanitize import printable
from lade_chat.presentation.status_parts import cut, fit, pack, part

_CONSOLE = Console()

FilmRow: TypeAlias = tuple[Segment, ...]


class Frame(NamedTuple):
    """The rows that differ from the frame before, by position; ``seconds`` since the first frame."""

    seconds: float
    rows: Mapping[int, FilmRow]


@dataclass
class Film:
    """A film of a screen of ``columns`` by ``rows`` cells: the frames that it showed in ``seconds``."""

    columns: int
    rows: int
    frames: list[Frame] = field(default_factory=list)
    seconds: float = 0.0
    _shown: Sequence[FilmRow] = ()

    def show(self, rows: Sequence[FilmRow], seconds: float) -> None:
        """Add a frame of the rows that are other than before, if there are any."""
        changed = {place: row for place, row in enumerate(rows) if self._shown[place : place + 1] != [row]}
        if changed:
            self.frames.append(Frame(seconds, changed))
        self._shown, self.rows = rows, len(rows)


class Stretch(NamedTuple):
    """Text in one ink that appears at one moment."""

    text: str
    ink: Ink
    seconds: float = 0.0


Line: TypeAlias = tuple[Stretch, ...]


def label(text: str, ink: Ink) -> Line:
    """Return one line, whatever white space the text holds."""
    return (Stretch(printable(" ".join(text.split())), ink),)


def rows(stretches: Iterable[Stretch], width: int) -> list[Line]:
    """Break text into rows of ``width`` cells, between words where it can be; rows at the end are not empty."""
    parts, text = list(stretches), Text()
    for place, each in enumerate(parts):
        text.append(printable(each.text), str(place))
    found = []
    for row in text.wrap(_CONSOLE, width, overflow="fold"):
        # What is drawn as one belongs to the stretch that it begins in, or one of several tokens would be torn.
        edges = [*accumulate((len(glyph) for glyph, _ in glyphs(row.plain)), initial=0)]
        line = []
        for span in sorted(span for span in row.spans if span):
            start, end = (edges[bisect_left(edges, place)] for place in (span.start, span.end))
            if start < end:
                line.append(parts[int(str(span.style))]._replace(text=row.plain[start:end]))
        found.append(tuple(line))
    while found and not found[-1]:
        found.pop()
    return found


def width_of(line: Line) -> int:
    """Return the cells that a row fills."""
    return sum(cell_len(each.text) for each in line)


def glyphs(text: str) -> Iterator[tuple[str, int]]:
    """Yield the characters that are drawn as one, an emoji's several among them, with the cells that they fill."""
    for start, end, width in split_graphemes(text)[0]:
        yield text[start:end], width


def padded(line: Line, width: int, ink: Ink = "plain") -> Line:
    """Fill a row up to ``width`` cells."""
    return (*line, Stretch(" " * (width - width_of(line)), ink))


REPLY_COLUMNS = 80
RACE_COLUMNS = 120
QUESTION_ROWS = 4
TEXT_ROWS = 24
"""Maximum rows of moving texts; longer ones scroll."""
_RULE = Stretch(" │ ", "rule")
"""Between the two texts of a race."""


@dataclass(frozen=True)
class Pane:
    """One text with its metrics."""

    width: int
    title: Line
    lines: Sequence[Line]
    metrics: Sequence[Line]
    times: Sequence[float]
    seconds: float

    def text_at(self, moment: float, height: int) -> list[Line]:
        """Return the last rows of what is there by then; each word stands where the finished text has it."""
        shown = [tuple(each for each in line if each.seconds <= moment) for line in self.lines]
        while shown and not shown[-1]:
            shown.pop()
        return _filled(shown[-height:], height)

    def metrics_at(self, moment: float) -> Sequence[Line]:
        """Return its clock and tokens while it runs, then all of its metrics."""
        if moment >= self.seconds:
            return self.metrics
        return [label(f"{seconds(moment)} · {counted(bisect_right(self.times, moment), 'token')}", "dim")]


class Card:
    """A reply or a race laid out: the parts of a picture."""

    def __init__(self, content: Content) -> None:
        self.columns = columns = columns_of(content)
        self.seconds = content.seconds
        heading = fit([part(rank, text) for rank, text in enumerate(content.heading())], columns)
        self._title = label(heading, "title")
        self._question = _question(content.asked.strip(), columns)
        width = (columns - len(_RULE.text)) // 2 if content.is_race else columns
        self.panes = [_pane(content, side, width) for side in content.sides]
        ink: Ink = "verdict" if content.is_won else "plain"
        self._verdict = [line for text in content.verdict for line in rows([Stretch(text, ink)], columns)]
        self._legend = _legend(content, columns)

    @property
    def text_rows(self) -> int:
        """The rows of the longest text."""
        return max(1, *(len(pane.lines) for pane in self.panes))

    def rows(self, moment: float, height: int) -> list[Line]:
        """Return all rows as they are at a moment, with ``height`` rows of the texts; at the end with the outcome."""
        most = max(len(pane.metrics) for pane in self.panes)
        columns = []
        for pane in self.panes:
            titles = [pane.title, ()] if len(self.panes) > 1 else []
            columns.append([*titles, *pane.text_at(moment, height), (), *_filled(pane.metrics_at(moment), most)])
        found: list[Line] = [padded(self._title, self.columns, "title"), ()]
        found += [*self._question, ()] if self._question else []
        found += [self._beside(lines) for lines in zip(*columns, strict=True)]
        if self._verdict:
            found += [(), *_filled(self._verdict if moment >= self.seconds else (), len(self._verdict))]
        return [*found, (), *self._legend]

    def film(self, colours: Colours, moments: Sequence[float], height: int) -> Film:
        """Return the picture as it is at each of the moments, with a margin of a cell."""
        film = Film(self.columns + 2, 0, seconds=self.seconds)
        styles = {ink: Style.from_color(*map(Color.parse, colours.of(ink))) for ink in ALL_INKS}
        for moment in moments:
            film.show([self._coloured(line, styles) for line in [*self.rows(moment, height), ()]], moment)
        return film

    def _beside(self, lines: Sequence[Line]) -> Line:
        left, *right = lines
        return (*padded(left, self.panes[0].width), _RULE, *right[0]) if right else left

    def _coloured(self, line: Line, styles: Mapping[Ink, Style]) -> FilmRow:
        edge = Stretch(" ", "title" if line and line[0].ink == "title" else "plain")
        inked = (edge, *padded(line, self.columns), edge)
        return tuple(Segment(each.text, styles[each.ink]) for each in inked if each.text)


def columns_of(content: Content) -> int:
    """Return the width of a picture in cells."""
    return RACE_COLUMNS if content.is_race else REPLY_COLUMNS


def _filled(lines: Sequence[Line], height: int) -> list[Line]:
    return [*lines, *[()] * (height - len(lines))]


def _pane(content: Content, side: Recording, width: int) -> Pane:
    pieces = zip(side.pieces, side.times, strict=True)
    return Pane(
        width,
        label(title_of(side), "dim"),
        rows([Stretch(piece.text, content.shown_as(piece), moment) for piece, moment in pieces], width),
        rows([Stretch(pack(metrics_of(side, titled=content.is_race), width), "dim")], width),
        side.times,
        side.seconds,
    )


def _question(text: str, columns: int) -> list[Line]:
    found = rows([Stretch(f"> {text}", "question")], columns) if text else []
    if len(found) > QUESTION_ROWS:
        *found, last = found[:QUESTION_ROWS]
        shown = "".join(each.text for each in last).rstrip()
        found.append((Stretch(cut(f"{shown}…", columns), "question"),))
    return found


def _legend(content: Content, columns: int) -> list[Line]:
    """Return a line for each look: its name in its ink, and its meaning."""
    legend = content.legend()
    widest = max((len(shown) for shown in legend), default=0)
    lines: list[Line] = []
    for shown, meaning in legend.items():
        lines += rows([Stretch(f" {shown:{widest}} ", shown), Stretch(f" {meaning}", "dim")], columns)
    return lines
