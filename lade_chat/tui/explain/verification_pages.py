"""Verification pages: candidates beside the model's own choices, the accepted run, and why the text cannot change."""

from __future__ import annotations

from functools import partial
from itertools import zip_longest
from typing import NamedTuple

from textual.content import Content
from textual.geometry import Size

from lade_chat.presentation.token_looks import SOURCES
from lade_chat.protocol.inspection import TokenSource
from lade_chat.protocol.tutorial import LookaheadStep, Verification
from lade_chat.tui.explain.page import MUTED, NEW, Cell, Draw, Grid, Page, count_in_words, in_words, text
from lade_chat.tui.inspector.step_views import shown
from lade_chat.tui.theme.token_tints import VERIFIED

TITLE = "3 of 3 · Guesses are verified"
MAX_MASK = 24
"""Rows of a mask; a larger one would leave no room for the candidates."""
MAX_BRANCH = 8
"""Candidates in a row beside a mask; more take the whole width."""
SOURCE_LABEL = 1 + max(map(len, SOURCES))
"""The width of a source before its branch."""
LINES = 3
"""Lines of one branch: the candidates, the model's own choices, a gap."""


def verification_pages(walk: Verification) -> list[Page]:
    """Return the pages on the verification branch: one step's candidates beside the model's own choices."""
    step = walk.step
    if step is None:
        return [Page(TITLE, text("no candidate"))]
    tree = _Tree(walk.before, step)
    last = shown(step.inspection.last)
    title, reads, begins = TITLE, "The next step", "A little later the reply ends with"
    if walk.number:
        title, reads, begins = f"Step {walk.number} of the race", "The step", "Before this step the reply ends with"
    mask = step.mask if len(step.mask.rows) <= MAX_MASK and tree.longest <= MAX_BRANCH else None

    def page(says: str, draw: Draw, *, unseen: bool = False) -> Page:
        return Page(title, says, draw, mask, "candidates", unseen=unseen)

    proposed = text("candidates", begins=begins, last=last, places=tree.places())
    pages = [
        page(proposed, partial(tree.draw, models=False), unseen=True),
        page(text("candidate answers", reads=reads), tree.draw, unseen=True),
    ]
    if mask is not None:
        pages.append(page(text("candidate mask"), tree.draw))
    pages.append(page(tree.verdict(), partial(tree.draw, judged=True)))
    written = partial(tree.draw, judged=True, written=True)
    if tree.accepted:
        count = len(step.inspection.settled)
        after = "ended" if count == tree.accepted else "own token"
        pages.append(page(text(after, tokens=count_in_words(count, "token")), written))
    return [*pages, page(text("cannot change"), written)]


class _Branch(NamedTuple):
    """A run of candidates from the last token to a leaf."""

    origin: TokenSource
    guesses: tuple[str, ...]
    said: tuple[str, ...]
    """The model's choice at each of their places, and at the one after the last."""
    accepted: int
    """The number of them, from the left."""


class _Tree:
    """The candidates of a step, branch by branch."""

    def __init__(self, before: str, step: LookaheadStep) -> None:
        self._before, self._step = before, step
        self._candidates = step.inspection.candidates
        parents = {candidate.parent for candidate in self._candidates}
        leaves = [number for number in range(1, 1 + len(self._candidates)) if number not in parents]
        self._branches = sorted((self._to(leaf) for leaf in leaves), key=lambda branch: -branch.accepted)
        self.accepted = sum(candidate.accepted for candidate in self._candidates)
        self.longest = max((len(branch.guesses) for branch in self._branches), default=0)

    def _to(self, leaf: int) -> _Branch:
        numbers = [leaf]
        while (parent := self._candidates[numbers[0] - 1].parent) > 0:
            numbers.insert(0, parent)
        run = [self._candidates[number - 1] for number in numbers]
        origin = next(source for source in SOURCES if source in {each.origin for each in run})
        said = tuple(self._step.chosen[number] for number in (0, *numbers))
        return _Branch(origin, tuple(each.text for each in run), said, sum(each.accepted for each in run))

    def places(self) -> str:
        """Return where the candidates' sources found them."""
        origins = {candidate.origin for candidate in self._candidates}
        return " and in ".join(source.place for origin, source in SOURCES.items() if origin in origins)

    def verdict(self) -> str:
        """Return the sentence that tells the accepted candidates from the rejected ones."""
        if not self.accepted:
            return text("all wrong")
        rest = " The others are dropped." if self.accepted < len(self._candidates) else ""
        are = "one is: it is" if self.accepted == 1 else f"{in_words(self.accepted)} in a row are: they are"
        return text("some right", are=are) + rest

    def draw(self, room: Size, *, models: bool = True, judged: bool = False, written: bool = False) -> list[Content]:
        """The text and the branches; with ``models`` what the model says beneath, with ``judged`` what came of it."""
        lines = [self._text(room, written), Content("")]
        most = max(1, (room.height - len(lines)) // LINES)
        words = [row for branch in self._branches for row in (branch.guesses, branch.said)]
        grid = Grid(words, room.width, SOURCE_LABEL, breaks=True)
        rows = [(branch, line) for branch in self._branches for line in grid.lines if line.start <= len(branch.guesses)]
        for branch, line in rows[:most]:
            label = "" if line.start else branch.origin
            lines.append(grid.row(label, self._guesses(branch, judged), line))
            if models:
                lines.append(grid.row("model", self._answers(branch, judged), line))
                lines.append(Content(""))
        if hidden := sum(len(branch.guesses[line]) for branch, line in rows[most:]):
            lines[-1 if models else len(lines) :] = [Content.styled(f"… and {hidden} more", MUTED)]
        return lines

    def _guesses(self, branch: _Branch, judged: bool) -> list[Cell]:
        right, wrong = (VERIFIED, f"{MUTED} strike") if judged else ("", "")
        return [(token, right if place < branch.accepted else wrong) for place, token in enumerate(branch.guesses)]

    def _answers(self, branch: _Branch, judged: bool) -> list[Cell]:
        """Return the model's choices: the accepted run, its own next token, and the rest."""
        said = branch.said
        if not judged:
            return [(token, NEW) for token in said]
        own = self.accepted and branch.accepted == self.accepted
        styles = [VERIFIED] * branch.accepted + [NEW if own else MUTED]
        return [(token, style) for token, style in zip_longest(said, styles[: len(said)], fillvalue=MUTED)]

    def _text(self, room: Size, written: bool) -> Content:
        """The end of the reply up to this step, on one line; with what it wrote if ``written``."""
        settled = self._step.inspection.settled if written else ()
        tail = [shown(token) for token in settled]
        tokens: list[Cell] = [(token, VERIFIED if at < self.accepted else NEW) for at, token in enumerate(tail)]
        left = room.width - SOURCE_LABEL - sum(len(token) for token in tail)
        before = shown(self._before)
        if len(before) > left:
            before = "…" + before[len(before) - max(left - 1, 0) :]
        line = Content.assemble((f"{'reply':<{SOURCE_LABEL}}", MUTED), before, *tokens)
        return line.truncate(room.width, ellipsis=True)
