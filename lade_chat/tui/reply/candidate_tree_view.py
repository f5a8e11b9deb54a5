"""Candidate tree below a reply in slow motion: proposed, then judged, then faded."""

from __future__ import annotations

from enum import Enum, auto
from typing import TypeAlias

from rich.cells import cell_len
from textual.content import Content
from textual.events import Resize
from textual.widgets import Static

from lade_chat.presentation.metric_words import counted
from lade_chat.presentation.status_parts import fit, part
from lade_chat.protocol.inspection import Inspection
from lade_chat.tui.inspector.step_views import children_of, shown
from lade_chat.tui.widgets.metric_lines import explain

_LINES = "$foreground 35%"
_LABEL = "$foreground-muted"
MAX_ROWS = 6
"""Rows of a tree; half as many on a short screen."""
_WIDEST = 16
"""Cells of one candidate."""


class CandidateStage(Enum):
    """Stage of a step's animation: candidates proposed, then accepted or rejected, then the rejected ones faded."""

    PROPOSED = auto()
    JUDGED = auto()
    FADED = auto()


_REJECTED = {
    CandidateStage.PROPOSED: "$foreground 85%",
    CandidateStage.JUDGED: "$foreground 55% strike",
    CandidateStage.FADED: "$foreground 45% dim",
}
"""The style of candidates that are not accepted."""

_JOINTS = {(True, True): "─", (True, False): "┬", (False, False): "├", (False, True): "╰"}
"""The line before a candidate, by whether it is the first and the last of its siblings, which stand below the first."""
_Line: TypeAlias = list[tuple[str, str]]


class CandidateTreeView(Static):
    """A step's candidates, drawn from the column where the text ends; never shrinks between steps, to avoid flicker."""

    def __init__(self) -> None:
        super().__init__(markup=False)
        explain(self, "candidate tree")
        self._step: tuple[Inspection, CandidateStage, int] | None = None
        self._rows = 0

    def show(self, inspection: Inspection, stage: CandidateStage, column: int) -> None:
        """Draw a step below the cell ``column`` of the line above."""
        self._step = inspection, stage, column
        self._draw()

    def on_resize(self, _event: Resize) -> None:
        self._draw()

    def _draw(self) -> None:
        width = self.size.width
        if self._step is None or not width:
            return
        inspection, stage, column = self._step
        most = MAX_ROWS if self.screen.has_class("-tall") else MAX_ROWS // 2
        lines = tree_lines(inspection, stage, width=width, height=most, column=column)
        self._rows = max(self._rows, len(lines))
        lines += [Content("")] * (self._rows - len(lines))
        content = Content("\n").join([*lines, caption(inspection, stage, width)])
        self.update(content, layout=self.size.height != self._rows + 1)


def caption(inspection: Inspection, stage: CandidateStage, width: int) -> Content:
    """Return the line that counts the step's candidates and, once they are judged, the accepted ones."""
    count, kept = len(inspection.candidates), sum(each.accepted for each in inspection.candidates)
    candidates = counted(count, "candidate")
    parts = [part(0, f"step {inspection.step + 1}")]
    if inspection.prompt:
        parts.append(part(1, "the prompt is read"))
    elif not count:
        parts.append(part(1, "no candidates"))
    elif stage is CandidateStage.PROPOSED:
        parts.append(part(1, f"{candidates}, checked at once", candidates))
    else:
        parts.append(part(1, f"{kept} of {candidates} verified", f"{kept} of {count} verified"))
    if stage is not CandidateStage.PROPOSED:
        parts.append(part(2, f"{counted(len(inspection.settled), 'token')} in this step"))
    return Content.styled(fit(parts, width), _LABEL)


def tree_lines(inspection: Inspection, stage: CandidateStage, *, width: int, height: int, column: int) -> list[Content]:
    """Return the tree, the accepted branch first, in at most ``height`` lines of ``width`` cells."""
    rows = _branches(inspection, stage, children_of(inspection.candidates), 0)
    if len(rows) > height:
        more = len(rows) - height + 1  # two at least: this line has the place of one
        rows = [*rows[: height - 1], [(f"… and {more} more branches", _LABEL)]]
    widest = max((sum(cell_len(text) for text, _ in row) for row in rows), default=0)
    indent = " " * max(0, min(column, width - widest))
    return [Content.assemble(indent, *row).truncate(width, ellipsis=True) for row in rows]


def _branches(
    inspection: Inspection, stage: CandidateStage, children: dict[int, list[int]], parent: int
) -> list[_Line]:
    """Return the rows of all that continues ``parent``, joined by lines."""
    rows: list[_Line] = []
    below = children[parent]
    for place, number in enumerate(below):
        first, last = place == 0, place == len(below) - 1
        candidate = inspection.candidates[number - 1]
        style = _REJECTED[stage]
        if candidate.accepted and stage is not CandidateStage.PROPOSED:
            style = f"$source-{candidate.origin}"  # in either view
        own = (shown(candidate.text, _WIDEST), style)
        label = _REJECTED[stage] if stage is CandidateStage.FADED and not candidate.accepted else _LABEL
        after = _branches(inspection, stage, children, number) or [[(f" {candidate.origin}", label)]]
        for line, row in enumerate(after):
            lead = _JOINTS[first and parent > 0, last] if line == 0 else " " if last else "│"
            rail = lead if parent > 0 else f"{lead}{'─' if line == 0 else ' '}"
            rows.append([(rail, _LINES), own if line == 0 else (" " * cell_len(own[0]), ""), *row])
    return rows
