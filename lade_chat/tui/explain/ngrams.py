"""N-gram pages: n-grams collected from the window of the lookahead branch."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from textual.content import Content
from textual.geometry import Size

from lade_chat.protocol.tutorial import Collection, Group, LookaheadStep
from lade_chat.tui.explain.page import MUTED, NEW, POINTED_OUT, Cell, Grid, Page, counted, in_words
from lade_chat.tui.inspector.step_views import shown

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
    size, columns, mask = steps[full].inspection.ngram_size, len(steps[0].inspection.window[0]), steps[full].mask

    def page(says: str, number: int, *, pool: bool = False) -> Page:
        return Page(TITLE, says, partial(_window, steps, number, pool=pool), steps[number].mask, LIT)

    idea = (
        f"Such tokens are kept in runs of n tokens, called n-grams; here n is {in_words(size)}."
        " Lookahead decoding collects them while it answers, and tries them later as guesses."
    )
    means = (
        f"It collects them in a window: guesses for places further on, here {in_words(columns)} side by side."
        " The first row is drawn at random, as before. Every further row is said by the model."
    )
    first = "Each step reads the window, too. Below each token stands what the model would write after it: a new row."
    other = "The next step does the same with the new row. So each column, read downwards, grows into a run of tokens."
    ngrams = (
        f"Now each column is an n-gram: {counted(size, 'token')}, each said by the model after those above it."
        " All n-grams go into a pool, from which guesses are taken later."
    )
    sees = (
        "In the drawing: a window token sees the text, the first row up to its own column, and the tokens above it."
        " The text does not see the window, so the window cannot change the text."
    )
    more = f"From now on every step adds {in_words(columns)} n-grams: the window's oldest row goes, a new one comes."
    end = (
        "The window took no steps of its own."
        " Each of these steps also wrote the reply's next token, as a step of plain decoding does."
    )
    return [
        Page(TITLE, idea, partial(_example, steps[full]), mask, unseen=True),
        Page(TITLE, means, partial(_window, steps, 0, rows=1), mask, unseen=True),
        *(page(other if number else first, number) for number in range(full)),
        page(ngrams, full, pool=True),
        page(sees, full, pool=True),
        *(page(more, number, pool=True) for number in range(full + 1, len(steps))[:1]),
        Page(TITLE, end, partial(_written, steps), mask, unseen=True),
    ]


def _window(
    steps: Sequence[LookaheadStep], number: int, room: Size, *, rows: int | None = None, pool: bool = False
) -> list[Content]:
    """Return the window before a step, and its new row; only the first ``rows`` of them if given.

    With ``pool`` the n-grams follow that went there, the first of them pointed out in both places.
    """
    inspection = steps[number].inspection
    # The rows of all steps fix the columns' places.
    grid = Grid([row for step in steps for row in (*step.inspection.window, step.inspection.new_row)], room.width)
    oldest = number - len(inspection.window) + 1
    lines = [
        grid.row("guess" if oldest + place == 0 else "", _cells(row, MUTED, pointed_out=pool))
        for place, row in enumerate(inspection.window[:rows])
    ]
    if rows is None:
        lines.append(grid.row("new", _cells(inspection.new_row, NEW, pointed_out=pool)))
    if pool:
        held = f"The pool: {counted(inspection.pool_size, 'n-gram')}. Just added:"
        lines += [Content(""), Content.styled(held, MUTED), *_ngrams(steps[number], room, first=POINTED_OUT)]
    return lines


def _ngrams(step: LookaheadStep, room: Size, *, first: str = "") -> list[Content]:
    """The n-grams that a step yielded, one a line, the first of them in a style of its own."""
    ngrams = step.inspection.ngrams
    grid = Grid(ngrams, room.width, label=2)
    return [
        grid.row("", [(token, first if number == 0 else "") for token in ngram]) for number, ngram in enumerate(ngrams)
    ]


def _cells(row: Sequence[str], style: str, *, pointed_out: bool) -> list[Cell]:
    """Return a row's tokens as cells, with the first highlighted if ``pointed_out``."""
    return [(token, POINTED_OUT if pointed_out and place == 0 else style) for place, token in enumerate(row)]


def _example(step: LookaheadStep, room: Size) -> list[Content]:
    return [Content.styled("Some that it has just collected:", MUTED), Content(""), *_ngrams(step, room)]


def _written(steps: Sequence[LookaheadStep], room: Size) -> list[Content]:
    """Return the tokens that each step emitted."""
    return [
        Content.assemble(
            (f"step {number} wrote ", MUTED), (" ".join(shown(token) for token in step.inspection.settled), NEW)
        )
        for number, step in enumerate(steps, start=1)
    ]
