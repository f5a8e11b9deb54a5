"""Window view: the step's window, iterations downwards and positions to the right, and the n-grams collected."""

from __future__ import annotations

from rich.cells import cell_len, set_cell_size
from textual.content import Content

from lade_chat.protocol.inspection import Inspection
from lade_chat.tui.inspector.view import InspectorView, plainly, shown

LABEL = 5
WIDEST, NARROWEST = 9, 4
NGRAMS = 3
"""N-grams that are written out."""


class WindowView(InspectorView):
    """The window as a grid. Row r is shifted r positions to the right, so n-grams run down its columns."""

    TITLE = "Window: iterations ↓, positions →"
    METRIC = "window"

    def draw(self, inspection: Inspection, width: int) -> list[Content]:
        rows = inspection.window
        if not rows:
            if inspection.candidates:
                return [Content.styled("no window in this step: it hasn't paid off lately", "$foreground-muted")]
            return [Content.styled(plainly(inspection), "$foreground-muted")]
        positions = len(rows[0]) + len(rows)
        cell = max(NARROWEST, min(WIDEST, (width - LABEL) // positions))
        fitting = (width - LABEL) // cell
        lines = [_line("", [f"+{place + 1}" for place in range(positions)], 0, cell, fitting, "$foreground-muted")]
        lines += [
            _line(f"{index - len(rows):+d}", [shown(token, cell - 1) for token in row], index, cell, fitting, "")
            for index, row in enumerate(rows)
        ]
        new = [shown(token, cell - 1) for token in inspection.new_row]
        lines.append(_line("new", new, len(rows), cell, fitting, "bold $text-success"))
        return [*lines, *_ngrams(inspection, width)]


def _line(label: str, cells: list[str], offset: int, cell: int, fitting: int, style: str) -> Content:
    """One row of the grid, as many of its cells as there is room for."""
    padded = ["" for _ in range(offset)] + cells
    text = "".join(set_cell_size(each, cell) for each in padded[:fitting])
    return Content.assemble((set_cell_size(label, LABEL), "$foreground-muted"), (text.rstrip(), style))


def _ngrams(inspection: Inspection, width: int) -> list[Content]:
    ngrams = inspection.ngrams
    if not ngrams:
        missing = inspection.ngram_size - 1 - len(inspection.window)
        return [Content.styled(f"filling: n-grams from {missing} steps on", "$foreground-muted")]
    lines = [Content.styled(f"{len(ngrams)} n-grams, each read down a slope:", "$foreground-muted")]
    for ngram in ngrams[:NGRAMS]:
        text = " ".join(shown(token) for token in ngram)
        lines.append(Content(text if cell_len(text) <= width else f"{set_cell_size(text, width - 1)}…"))
    return lines
