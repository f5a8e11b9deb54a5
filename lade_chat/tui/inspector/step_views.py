"""Views of a step as lines of text: its window, its candidate tree, what it cost, and what its sources are worth."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate

from rich.cells import set_cell_size
from textual.content import Content
from textual.style import Style

from lade_chat.presentation.sanitize import printable
from lade_chat.presentation.status_parts import cut, pack
from lade_chat.presentation.token_looks import SOURCES
from lade_chat.protocol.inspection import Candidate, Inspection, RankedToken, TokenSource, Trials
from lade_chat.tui.theme.token_tints import style_of
from lade_chat.tui.widgets.metric_lines import columns

MUTED = "$foreground-muted"


def shown(text: str, width: int | None = None) -> str:
    """A token as one can see it: blanks and line breaks as signs, cut to ``width`` cells."""
    seen = printable(text).replace(" ", "·").replace("\n", "↵").replace("\t", "⇥") or "∅"
    return seen if width is None else cut(seen, width)


def plainly(inspection: Inspection) -> str:
    """Return the words for a step without candidates or window."""
    return "this step read the prompt" if inspection.prompt else "a plain step: the last token alone was read"


def children_of(candidates: Sequence[Candidate]) -> defaultdict[int, list[int]]:
    """Return the numbers of the candidates that follow each, accepted ones first; those of 0 follow the last token."""
    children: defaultdict[int, list[int]] = defaultdict(list)
    for number, candidate in enumerate(candidates, start=1):
        children[candidate.parent].append(number)
    for siblings in children.values():
        siblings.sort(key=lambda number: not candidates[number - 1].accepted)
    return children


WINDOW_LABEL = 5
WIDEST, NARROWEST = 9, 4
NGRAMS = 3
"""N-grams that are written out."""


def draw_window(inspection: Inspection, width: int) -> list[Content]:
    """Return the window as a grid. Row r is shifted r positions to the right, so n-grams run down its columns."""
    rows = inspection.window
    if not rows:
        too_dear = "no window in this step: it would cost more than it wins"
        return [Content.styled(too_dear if inspection.candidates else plainly(inspection), MUTED)]
    positions = len(rows[0]) + len(rows)
    cell = max(NARROWEST, min(WIDEST, (width - WINDOW_LABEL) // positions))
    fitting = (width - WINDOW_LABEL) // cell

    def line(label: str, offset: int, cells: Iterable[str], style: str = "") -> Content:
        """One row of the grid, as many of its cells as there is room for."""
        text = "".join(set_cell_size(each, cell) for each in [*[""] * offset, *cells][:fitting])
        return Content.assemble((set_cell_size(label, WINDOW_LABEL), MUTED), (text.rstrip(), style))

    grid = [[shown(token, cell - 1) for token in row] for row in (*rows, inspection.new_row)]
    return [
        line("", 0, (f"+{place + 1}" for place in range(positions)), MUTED),
        *(line(f"{index - len(rows):+d}", index, row) for index, row in enumerate(grid[:-1])),
        line("new", len(rows), grid[-1], "bold $text-success"),
        *_ngrams(inspection, width),
    ]


def _ngrams(inspection: Inspection, width: int) -> list[Content]:
    ngrams = inspection.ngrams
    if not ngrams:
        missing = inspection.ngram_size - 1 - len(inspection.window)
        return [Content.styled(f"filling: n-grams from {missing} steps on", MUTED)]
    written = [Content(cut(" ".join(map(shown, ngram)), width)) for ngram in ngrams[:NGRAMS]]
    return [Content.styled(f"{len(ngrams)} n-grams, each read down a slope:", MUTED), *written]


MAX_LINES = 8
"""Of the tree; the likeliest branches come first."""


def draw_tree(inspection: Inspection, width: int) -> list[Content]:
    """Return the candidate tree as text; a chain of single children is drawn on one line."""
    if not inspection.candidates:
        why = "no candidates in this step" if inspection.window else plainly(inspection)
        return [Content.styled(why, MUTED), *_end(inspection)]
    lines = list(_branches(inspection.candidates, width))
    if (more := len(lines) - MAX_LINES) > 0:
        more_lines = Content.styled(f"  … and {more} more {'branch' if more == 1 else 'branches'}", MUTED)
        lines = [*lines[:MAX_LINES], more_lines]
    return [Content.assemble(("last token ", MUTED), shown(inspection.last)), *lines, *_end(inspection)]


def _branches(candidates: Sequence[Candidate], width: int) -> Iterator[Content]:
    """Yield the tree's lines; candidates of a line come from one source, and were all accepted or none was."""
    children = children_of(candidates)
    waiting = [(number, 0) for number in reversed(children[0])]
    while waiting:
        number, depth = waiting.pop()
        first, run = candidates[number - 1], [candidates[number - 1]]
        while len(below := children[number]) == 1:
            only = candidates[below[0] - 1]
            if (only.origin, only.accepted) != (first.origin, first.accepted):
                break
            number = below[0]
            run.append(only)
        waiting += [(child, depth + 1) for child in reversed(below)]
        probability = "" if run[-1].probability is None else f" {run[-1].probability:4.0%}"
        indent, source = "  " * min(depth, 6), f" {first.origin}{probability}"
        text = cut(" ".join(shown(each.text) for each in run), max(4, width - len(indent) - len(source) - 3))
        mark, style = ("✓", style_of(first.origin)) if first.accepted else ("·", MUTED)
        yield Content.assemble(f"{indent}{mark} ", (text, style), (source, MUTED))


def _end(inspection: Inspection) -> list[Content]:
    """Return the tokens that the step emitted, the last of which was not a candidate, and those that may come next."""
    if not inspection.settled:
        return []
    *guessed, own = inspection.settled
    sources = [candidate.origin for candidate in inspection.candidates if candidate.accepted]
    parts = [(f"{shown(token)} ", style_of(origin)) for token, origin in zip(guessed, sources, strict=False)]
    settled = Content.assemble(("settled ", MUTED), *parts, (shown(own), "bold"))
    return [settled, *(_following(inspection.likeliest) if inspection.likeliest else ())]


def _following(tokens: Sequence[RankedToken]) -> list[Content]:
    """Return the tokens that may come next, each of which a click chooses unless it is half a character."""
    following = [
        Content.styled(
            f"{shown(token.text or token.name)} {token.probability:.0%}",
            Style.from_meta({"@click": f"screen.take_next({number})"}) if token.text or token.ends else "",
        )
        for number, token in enumerate(tokens)
    ]
    line = Content.assemble("next, the model's own: ", Content(" · ").join(following))
    return [line.stylize_before(MUTED), Content.styled("a click or /token has another reply go on with one", MUTED)]


HEIGHT = 3
COST_LABEL = 6


def draw_costs(inspection: Inspection, width: int) -> list[Content]:
    """Plot the cost of a step by its number of candidates, as measured on this machine."""
    costs, taken = inspection.costs, len(inspection.candidates)
    if not costs:
        fixed = inspection.ngram_size
        why = "the sizes are fixed: nothing is budgeted" if fixed else "nothing was budgeted in this step"
        return [Content.styled(why, MUTED)]
    chances = [candidate.probability or 0.0 for candidate in inspection.candidates]
    expected = list(accumulate(chances, initial=1.0))
    drawn = costs[: max(1, min(len(costs), width - COST_LABEL))]
    lines = []
    for index, line in enumerate(columns(drawn, HEIGHT)):
        label = f"{max(drawn):.1f}×" if index == 0 else ""
        here, after = (line[taken : taken + 1], "$success"), (line[taken + 1 :], MUTED)
        lines.append(Content.assemble((f"{label:>{COST_LABEL - 1}} ", MUTED), line[:taken], here, after))
    mark = " " * (COST_LABEL + min(taken, len(drawn) - 1)) + "▲"
    cost, hope = costs[min(taken, len(costs) - 1)], expected[-1]
    least = "none pays" if not taken else f"{taken} taken"
    said = f"{least}: {hope:.2f} tokens expected for {cost:.2f} plain steps, {hope / cost:.2f}x"
    return [*lines, Content.styled(mark, "$success"), Content(said)]


DEPTHS = 5
"""Columns; deeper guesses are few."""
NAME = 11
"""The width of the sources' names."""


def draw_sources(inspection: Inspection, width: int) -> list[Content]:
    """Return the acceptance rate of each source by depth, over candidates all of whose ancestors were accepted."""
    depths = max(1, min(DEPTHS, 1 + (width - NAME - 22) // 6))
    heads = [f"{'depth 1' if depth == 1 else depth:>{_cell(depth)}}" for depth in range(1, depths + 1)]
    lines = [Content.styled(f"{'':<{NAME}}{'all':>12}{''.join(heads)}", MUTED)]
    trials = {each.origin: each for each in inspection.trials}
    lines += [_row(origin, trials.get(origin, Trials(origin, (), ())), depths) for origin in SOURCES]
    sizes = dict(inspection.table_sizes)
    counts = [(sizes.get(origin, 0), *source.entry) for origin, source in SOURCES.items()]
    held = [f"{count} {one if count == 1 else several}" for count, one, several in counts]
    return [*lines, Content.styled("The tables hold:", MUTED), Content(pack(held, width))]


def _row(origin: TokenSource, trials: Trials, depths: int) -> Content:
    tried, accepted = sum(trials.tried), sum(trials.accepted)
    cells = [
        f"{_share(a, t):>{_cell(depth)}}"
        for depth, (a, t) in enumerate(zip(trials.accepted[:depths], trials.tried[:depths], strict=True), start=1)
    ]
    whole = f"{accepted}/{tried} {_share(accepted, tried)}" if tried else "never asked"
    return Content.assemble((f"{origin:<{NAME}}", MUTED), f"{whole:>12}", *cells)


def _cell(depth: int) -> int:
    """The width of a depth's column; the first one says what they are."""
    return 10 if depth == 1 else 6


def _share(accepted: int, tried: int) -> str:
    return f"{accepted / tried:.0%}" if tried else "–"
