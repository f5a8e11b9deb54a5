"""Sources view: acceptance rate per source and depth, and the size of the draft tables."""

from __future__ import annotations

from textual.content import Content

from lade_chat.presentation.metrics import pack
from lade_chat.presentation.sources import SOURCES
from lade_chat.protocol.inspection import Inspection, Origin, Trials
from lade_chat.tui.inspector.view import InspectorView

DEPTHS = 5
"""Columns; deeper guesses are few."""
NAME = 11
"""The width of the sources' names."""


class SourcesView(InspectorView):
    """A guess counts once all before it were accepted: only then did it have its chance."""

    TITLE = "Accepted of the guesses that had their chance"
    FIGURE = "sources"

    def draw(self, inspection: Inspection, width: int) -> list[Content]:
        depths = max(1, min(DEPTHS, 1 + (width - NAME - 22) // 6))
        heads = [f"{'depth 1' if depth == 1 else depth:>{_cell(depth)}}" for depth in range(1, depths + 1)]
        lines = [Content.styled(f"{'':<{NAME}}{'all':>12}{''.join(heads)}", "$foreground-muted")]
        trials = {each.origin: each for each in inspection.trials}
        lines += [_row(origin, trials.get(origin, Trials(origin, (), ())), depths) for origin in SOURCES]
        sizes = dict(inspection.table_sizes)
        held = [_entries(sizes.get(origin, 0), source.entry) for origin, source in SOURCES.items()]
        return [*lines, Content.styled("The tables hold:", "$foreground-muted"), Content(pack(held, width))]


def _row(origin: Origin, trials: Trials, depths: int) -> Content:
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
