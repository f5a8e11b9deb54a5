"""Pages on where guesses come from: a block that converges from the left, and n-grams collected from the window."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from textual.content import Content
from textual.geometry import Size

from lade_chat.protocol.tutorial import Collection, Convergence, Iteration, LookaheadStep
from lade_chat.tui.explain.page import LABEL, MUTED, NEW, WIDEST, Cell, Draw, Grid, Page, count_in_words, in_words, text
from lade_chat.tui.inspector.step_views import shown
from lade_chat.tui.theme.token_tints import VERIFIED

POINTED_OUT = "bold $text-accent"
JACOBI = "1 of 3 · Guesses settle"


def jacobi_pages(walk: Convergence) -> list[Page]:
    """Return the pages on Jacobi iteration; none if no iteration was taken."""
    if not walk.iterations:
        return []
    block, first = _Block(walk), walk.iterations[0]

    def page(says: str, draw: Draw, iteration: Iteration = first, *, unseen: bool = False) -> Page:
        return Page(JACOBI, says, draw, iteration.mask, "guesses", unseen=unseen)

    return [
        page(text("first guesses", places=in_words(block.size)), block.beginning, unseen=True),
        page(text("first answers"), partial(block.draw, 1), unseen=True),
        page(text("guess mask"), partial(block.draw, 1)),
        page(text("first settled"), partial(block.draw, 1, settling=True)),
        *(
            page(block.said_of(number), partial(block.draw, number, settling=True), iteration)
            for number, iteration in enumerate(walk.iterations[1:], start=2)
        ),
        *(
            page(says, partial(block.draw, len(walk.iterations), settling=True), walk.iterations[-1], unseen=True)
            for says in block.outcome()
        ),
    ]


class _Block:
    """The table of a Jacobi iteration: the first guesses, then each iteration's tokens, converged ones on the left."""

    def __init__(self, walk: Convergence) -> None:
        self._walk, self._iterations = walk, walk.iterations
        self.size = len(walk.iterations[0].guesses)
        self._final = tuple(token for each in walk.iterations for token in each.chosen[: each.settled])[: self.size]

    @property
    def _rows(self) -> list[list[str]]:
        """All rows that are ever shown; they fix the columns' widths."""
        rows, settled = [[*self._iterations[0].guesses], [*self._final]], 0
        for iteration in self._iterations:
            rows.append([*self._final[:settled], *iteration.chosen][: self.size])
            settled += iteration.settled
        return rows

    def beginning(self, room: Size) -> list[Content]:
        """The first guesses, and what stands before them."""
        others = "what the chat template puts" if self._walk.template else "the names (User:, Assistant:)"
        prompt = f"Read so far: {self._walk.prompt_tokens} tokens, the question and {others} around it."
        return [*self.draw(0, room), Content(""), Content.styled(prompt, MUTED)]

    def draw(self, rows: int, room: Size, *, settling: bool = False) -> list[Content]:
        """The reply so far, the first guesses, ``rows`` iterations; what the last one settled only if ``settling``."""
        grid = Grid(self._rows, room.width)
        lines = [
            Content.assemble((f"{'reply':<{LABEL}}", MUTED), shown(self._walk.begun)),
            grid.row("guess", [(token, MUTED) for token in self._iterations[0].guesses]),
        ]
        settled = 0
        for number, iteration in enumerate(self._iterations[:rows], start=1):
            new = iteration.settled if settling or number < rows else 0
            own = NEW if number == rows else MUTED
            cells: list[Cell] = [(token, VERIFIED) for token in self._final[:settled]]
            cells += [(token, f"{NEW} {VERIFIED}" if at < new else own) for at, token in enumerate(iteration.chosen)]
            lines.append(grid.row(f"step {number}", cells[: self.size]))
            settled += iteration.settled
        return lines

    def said_of(self, number: int) -> str:
        """The sentence for an iteration after the first."""
        settled = sum(each.settled for each in self._iterations[:number])
        iteration = self._iterations[number - 1]
        says = [text("next step", number=number, before=number - 1)]
        right = [f"“{shown(token, WIDEST)}”" for token in iteration.guesses[: iteration.settled - 1]]
        if len(right) == 1:
            says.append(text("one right", first=right[0]))
        elif right:
            says.append(text("several right", first=right[0], to="and" if len(right) == 2 else "to", last=right[-1]))
        if settled >= self.size:
            says.append(text("all settled", places=in_words(self.size)))
        elif right:
            guesses = "it" if len(right) == 1 else "them"
            says.append(text("more settled", guesses=guesses, places=in_words(iteration.settled)))
        else:
            says.append(text("first wrong"))
        return " ".join(says)

    def outcome(self) -> tuple[str, str]:
        """The sentences for the result of the iteration, and for what becomes of wrong guesses."""
        count, plainly = len(self._iterations), in_words(len(self._final))
        than = "as many as plain decoding takes" if count >= len(self._final) else f"plain decoding takes {plainly}"
        settled = text("settled tokens", tokens=plainly, steps=count_in_words(count, "step"), than=than)
        return settled, text("dropped guesses")


NGRAMS = "2 of 3 · N-grams are collected"


def ngram_pages(walk: Collection) -> list[Page]:
    """Return the pages on the lookahead branch; a single page if the window yielded no n-grams."""
    steps = walk.steps
    full = next((number for number, step in enumerate(steps) if step.inspection.ngrams), None)
    if full is None:
        return [Page(NGRAMS, text("no n-gram"))]
    size, columns, mask = steps[full].inspection.ngram_size, len(steps[0].inspection.window[0]), steps[full].mask

    def unseen(says: str, draw: Draw) -> Page:
        return Page(NGRAMS, says, draw, mask, unseen=True)

    def page(says: str, number: int, *, pool: bool = False) -> Page:
        return Page(NGRAMS, says, partial(_window, steps, number, pool=pool), steps[number].mask, "window")

    more = text("more rows", columns=in_words(columns))
    return [
        unseen(text("n-grams", size=in_words(size)), partial(_example, steps[full])),
        unseen(text("window", columns=in_words(columns)), partial(_window, steps, 0, rows=1)),
        *(page(text("next row" if number else "first row"), number) for number in range(full)),
        page(text("columns", tokens=count_in_words(size, "token")), full, pool=True),
        page(text("window mask"), full, pool=True),
        *(page(more, number, pool=True) for number in range(full + 1, len(steps))[:1]),
        unseen(text("same steps"), partial(_written, steps)),
    ]


def _window(
    steps: Sequence[LookaheadStep], number: int, room: Size, *, rows: int | None = None, pool: bool = False
) -> list[Content]:
    """Return the first ``rows`` of the window before a step, or all and its new row; with ``pool`` the n-grams, too."""
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
        held = f"The pool: {count_in_words(inspection.pool_size, 'n-gram')}. Just added:"
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
