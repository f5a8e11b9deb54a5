"""Budget view: the step's cost with 0, 1, 2 … candidates, and the number taken."""

from __future__ import annotations

from itertools import accumulate

from textual.content import Content

from lade_chat.protocol.inspection import Inspection
from lade_chat.tui.inspector.view import InspectorView
from lade_chat.tui.widgets.plot import columns

HEIGHT = 3
LABEL = 6


class CostView(InspectorView):
    """The curve is measured on this machine, and kept up to date by the steps themselves."""

    TITLE = "What a step costs by its candidates"
    FIGURE = "budget"

    def draw(self, inspection: Inspection, width: int) -> list[Content]:
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
