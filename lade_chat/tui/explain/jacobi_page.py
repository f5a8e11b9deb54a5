"""Jacobi pages: a block of guesses that converges from the left."""

from __future__ import annotations

from functools import partial

from textual.content import Content
from textual.geometry import Size

from lade_chat.protocol.tutorial import Convergence, Group, Iteration
from lade_chat.tui.explain.page import LABEL, MUTED, NEW, WIDEST, Cell, Draw, Grid, Page, counted, in_words
from lade_chat.tui.inspector.step_views import shown
from lade_chat.tui.theme.token_colour import VERIFIED

TITLE = "1 of 3 · Guesses settle"
LIT: frozenset[Group] = frozenset({"guesses"})


def jacobi_pages(walk: Convergence) -> list[Page]:
    """Return the pages on Jacobi iteration; none if no iteration was taken."""
    if not walk.iterations:
        return []
    block, first = _Block(walk), walk.iterations[0]

    def page(says: str, draw: Draw, iteration: Iteration = first, *, unseen: bool = False) -> Page:
        return Page(TITLE, says, draw, iteration.mask, frozenset() if unseen else LIT, unseen=unseen)

    return [
        page(
            "The model has read the question and written one token. Here are guesses for the next"
            f" {in_words(block.size)}. At first any guess will do: these are tokens of the prompt, drawn at random.",
            block.beginning,
            unseen=True,
        ),
        page(
            "One step reads all the guesses. At every place the model says which token it would write there,"
            " supposing that the guesses before that place are right.",
            partial(block.draw, 1),
            unseen=True,
        ),
        page(
            "The drawing shows which tokens each token sees: a row for each, filled where it sees another."
            " A guess sees the text before (cache), the last token, and the guesses up to its own place.",
            partial(block.draw, 1),
        ),
        page(
            "Before the first place there are no guesses, only the text itself. So what the model says there"
            " is what plain decoding would write. That token is settled: it stays.",
            partial(block.draw, 1, settling=True),
        ),
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
        """The reply so far, the first guesses and ``rows`` iterations.

        What the last one settled shows only when ``settling``.
        """
        grid = Grid(self._rows, room.width)
        lines = [
            Content.assemble((f"{'reply':<{LABEL}}", MUTED), shown(self._walk.begun)),
            grid.row("guess", [(token, MUTED) for token in self._iterations[0].guesses]),
        ]
        settled = 0
        for number, iteration in enumerate(self._iterations[:rows], start=1):
            new = iteration.settled if settling or number < rows else 0
            cells: list[Cell] = [(token, VERIFIED) for token in self._final[:settled]]
            for place, token in enumerate(iteration.chosen):
                last = number == rows
                style = f"{NEW} {VERIFIED}" if place < new else NEW if last else MUTED
                cells.append((token, style))
            lines.append(grid.row(f"step {number}", cells[: self.size]))
            settled += iteration.settled
        return lines

    def said_of(self, number: int) -> str:
        """The sentence for an iteration after the first."""
        settled = sum(each.settled for each in self._iterations[:number])
        iteration = self._iterations[number - 1]
        begin = f"Step {number}: now the tokens that the model said in step {number - 1} are the guesses."
        right = _right(iteration)
        if settled >= self.size:
            return f"{begin}{right and f' {right}.'} All {in_words(self.size)} places are settled now."
        if right:
            after, places = "it" if iteration.settled == 2 else "them", f"{in_words(iteration.settled)} places at once"
            return f"{begin} {right}. So what the model says after {after} is settled, too: {places}."
        return f"{begin} The first one was wrong. The model's own token takes its place, and is settled."

    def outcome(self) -> tuple[str, str]:
        """The sentences for the result of the iteration, and for what becomes of wrong guesses."""
        count, plainly = len(self._iterations), in_words(len(self._final))
        than = "as many as plain decoding takes" if count >= len(self._final) else f"plain decoding takes {plainly}"
        outcome = f"So {plainly} tokens took {counted(count, 'step')}; {than}."
        return (
            f"{outcome} The guesses have changed nothing: every token is the model's own choice.",
            "A token of the reply is often said at the wrong place first. There it is dropped."
            " Lookahead decoding keeps such tokens as later guesses.",
        )


def _right(iteration: Iteration) -> str:
    """Return the beginning of a sentence that lists the guesses found right; empty if there are none."""
    right = [f"“{shown(token, WIDEST)}”" for token in iteration.guesses[: iteration.settled - 1]]
    if not right:
        return ""
    if len(right) == 1:
        return f"The guess {right[0]} was right"
    return f"The guesses {right[0]} {'and' if len(right) == 2 else 'to'} {right[-1]} were right"
