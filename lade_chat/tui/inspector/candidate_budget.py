"""Views of the budget: the cost of a step by its candidates, and how often each source was accepted."""

from __future__ import annotations

from itertools import accumulate

from textual.content import Content

from lade_chat.presentation.sources import SOURCES
from lade_chat.presentation.status_parts import pack
from lade_chat.protocol.inspection import Inspection, TokenSource, Trials
from lade_chat.tui.widgets.metric_lines import columns

HEIGHT = 3
LABEL = 6


def draw_costs(inspection: Inspection, width: int) -> list[Content]:
    """Plot the cost of a step by its number of candidates, as measured on this machine."""
    costs, taken = inspection.costs, len(inspection.candidates)
    if not costs:
        why = "the sizes are fixed: nothing is budgeted"
        if not inspection.ngram_size:
            why = "nothing was budgeted in this step"
        return [Content.styled(why, "$foreground-muted")]
    chances = [candidate.probability or 0.0 for candidate in inspection.candidates]
    expected = list(accumulate(chances, initial=1.0))
    drawn = costs[: max(1, min(len(costs), width - LABEL))]
    lines = []
    for index, line in enumerate(columns(drawn, HEIGHT)):
        label = f"{max(drawn):.1f}×" if index == 0 else ""
        before, at, after = line[:taken], line[taken : taken + 1], line[taken + 1 :]
        lines.append(
            Content.assemble(
                (f"{label:>{LABEL - 1}} ", "$foreground-muted"),
                before,
                (at, "$success"),
                (after, "$foreground-muted"),
            )
        )
    mark = " " * (LABEL + min(taken, len(drawn) - 1)) + "▲"
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
    lines = [Content.styled(f"{'':<{NAME}}{'all':>12}{''.join(heads)}", "$foreground-muted")]
    trials = {each.origin: each for each in inspection.trials}
    lines += [_row(origin, trials.get(origin, Trials(origin, (), ())), depths) for origin in SOURCES]
    sizes = dict(inspection.table_sizes)
    held = [_entries(sizes.get(origin, 0), source.entry) for origin, source in SOURCES.items()]
    return [*lines, Content.styled("The tables hold:", "$foreground-muted"), Content(pack(held, width))]


def _row(origin: TokenSource, trials: Trials, depths: int) -> Content:
    tried, accepted = sum(trials.tried), sum(trials.accepted)
    cells = [
        f"{_share(a, t):>{_cell(depth)}}"
        for depth, (a, t) in enumerate(zip(trials.accepted[:depths], trials.tried[:depths], strict=True), start=1)
    ]
    whole = f"{accepted}/{tried} {_share(accepted, tried)}" if tried else "never asked"
    return Content.assemble((f"{origin:<{NAME}}", "$foreground-muted"), f"{whole:>12}", *cells)


def _entries(count: int, entry: tuple[str, str]) -> str:
    one, several = entry
    return f"{count} {one if count == 1 else several}"


def _cell(depth: int) -> int:
    """The width of a depth's column; the first one says what they are."""
    return 10 if depth == 1 else 6


def _share(accepted: int, tried: int) -> str:
    return f"{accepted / tried:.0%}" if tried else "–"
