"""N-gram pages: n-grams collected from the window of the lookahead branch."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from textual.content import Content

from lade_chat.protocol.tutorial import Collection, Group, LookaheadStep
from lade_chat.tui.explain.page import MUTED, NEW, POINTED_OUT, Cell, Grid, Page, Room, counted, in_words
from lade_chat.tui.inspector.redrawn import shown

TITLE = "2 of 3 · N-grams are collected"
LIT: frozenset[Group] = frozenset({"window"})


def ngram_pages(walk: Collection) -> list[Page]:
    """Return the pages on the lookahead branch; a single page if the window yielded no n-grams."""
    steps = walk.steps
    full = next((number for number, step in enumerate(steps) if step.inspection.ngrams), None)
    if full is None:
        says = (
            "The reply ended before any n-gram could be collected. Choose a question that is answered at more length."
        )
        return [Page(TITLE, says, lambda room: [])]
    size, columns = steps[full].inspection.ngram_size, len(steps[0].inspection.window[0])
    window, mask = _Window(steps), steps[full].mask
    idea = (
        f"Such tokens are kept in runs of n tokens, called n-grams; here n is {in_words(size)}."
        " Lookahead decoding collects them while it answers, and tries them later as guesses."
    )
    means = (
        f"It collects them in a window: guesses for places further on, here {in_words(columns)} side by side."
        " The first row is drawn at random, as before. Every further row is said by the model."
    )
    end = (
        "The window took no steps of its own."
        " Each of these steps also wrote the reply's next token, as a step of plain decoding does."
    )
    return [
        Page(TITLE, idea, partial(_example, steps[full]), mask, unseen=True),
        Page(TITLE, means, partial(window.draw, 0, rows=1), mask, unseen=True),
        *window.filling(full),
        *window.yielding(full, size, columns),
        Page(TITLE, end, partial(_written, steps), mask, unseen=True),
    ]


class _Window:
    """The window's content step by step, in columns of fixed position."""

    def __init__(self, steps: Sequence[LookaheadStep]) -> None:
        self._steps = steps
        self._rows = [row for step in steps for row in (*step.inspection.window, step.inspection.new_row)]

    def filling(self, full: int) -> list[Page]:
        """Return the pages of the steps before the window is full."""
        first = (
            "Each step reads the window, too. Below each token stands what the model would write after it: a new row."
        )
        other = (
            "The next step does the same with the new row. So each column, read downwards, grows into a run of tokens."
        )
        return [self._page(first if number == 0 else other, number) for number in range(full)]

    def yielding(self, full: int, size: int, columns: int) -> list[Page]:
        """Return the pages of the steps that yield n-grams: the first with a full window, and the next, if any."""
        ngrams = (
            f"Now each column is an n-gram: {counted(size, 'token')}, each said by the model after those above it."
            " All n-grams go into a pool, from which guesses are taken later."
        )
        mask = (
            "In the drawing: a window token sees the text, the first row up to its own column, and the tokens above it."
            " The text does not see the window, so the window cannot change the text."
        )
        more = (
            f"From now on every step adds {in_words(columns)} n-grams: the window's oldest row goes, a new one comes."
        )
        pages = [self._page(ngrams, full, pool=True), self._page(mask, full, pool=True)]
        if full + 1 < len(self._steps):
            pages.append(self._page(more, full + 1, pool=True))
        return pages

    def _page(self, says: str, number: int, *, pool: bool = False) -> Page:
        return Page(TITLE, says, partial(self.draw, number, pool=pool), self._steps[number].mask, LIT)

    def draw(self, number: int, room: Room, *, rows: int | None = None, pool: bool = False) -> list[Content]:
        """The rows before a step, and the new one; only the first ``rows`` of them if given.

        With ``pool`` the n-grams follow that went there, the first of them pointed out in both places.
        """
        inspection = self._steps[number].inspection
        grid = Grid(self._rows, room.width)
        oldest = number - len(inspection.window) + 1
        lines = [
            grid.row("guess" if oldest + place == 0 else "", _cells(row, MUTED, pointed_out=pool))
            for place, row in enumerate(inspection.window[:rows])
        ]
        if rows is None:
            lines.append(grid.row("new", _cells(inspection.new_row, NEW, pointed_out=pool)))
        if pool:
            held = f"The pool: {counted(inspection.pool_size, 'n-gram')}. Just added:"
            return [
                *lines,
                Content(""),
                Content.styled(held, MUTED),
                *_ngrams(self._steps[number], room, first=POINTED_OUT),
            ]
        return lines


def _ngrams(step: LookaheadStep, room: Room, *, first: str = "") -> list[Content]:
    """The n-grams that a step yielded, one a line, the first of them in a style of its own."""
    ngrams = step.inspection.ngrams
    grid = Grid(ngrams, room.width, label=2)
    return [
        grid.row("", [(token, first if number == 0 else "") for token in ngram]) for number, ngram in enumerate(ngrams)
    ]


def _cells(row: Sequence[str], style: str, *, pointed_out: bool) -> list[Cell]:
    """Return a row's tokens as cells, with the first highlighted if ``pointed_out``."""
    return [(token, POINTED_OUT if pointed_out and place == 0 else style) for place, token in enumerate(row)]


def _example(step: LookaheadStep, room: Room) -> list[Content]:
    return [Content.styled("Some that it has just collected:", MUTED), Content(""), *_ngrams(step, room)]


def _written(steps: Sequence[LookaheadStep], room: Room) -> list[Content]:
    """Return the tokens that each step emitted."""
    return [
        Content.assemble(
            (f"step {number} wrote ", MUTED), (" ".join(shown(token) for token in step.inspection.settled), NEW)
        )
        for number, step in enumerate(steps, start=1)
    ]
