"""Tree view: the step's candidates after the last token, their sources, and the accepted path."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from textual.content import Content

from lade_chat.protocol.inspection import Candidate, Inspection
from lade_chat.tui.inspector.view import InspectorView, plainly, shown
from lade_chat.tui.theme.tint import style_of

MAX_LINES = 8
"""Of the tree; the likeliest branches come first."""


class TreeView(InspectorView):
    """The candidate tree as text; a chain of single children is drawn on one line."""

    TITLE = "Candidates, and what was accepted"
    METRIC = "candidate tree"

    def draw(self, inspection: Inspection, width: int) -> list[Content]:
        if not inspection.candidates:
            why = "no candidates in this step" if inspection.window else plainly(inspection)
            return [Content.styled(why, "$foreground-muted"), *self._end(inspection)]
        lines = list(self._lines(inspection, width))
        more = len(lines) - MAX_LINES
        lines = lines[:MAX_LINES]
        if more > 0:
            lines.append(
                Content.styled(f"  … and {more} more {'branch' if more == 1 else 'branches'}", "$foreground-muted")
            )
        return [
            Content.assemble(("last token ", "$foreground-muted"), shown(inspection.last)),
            *lines,
            *self._end(inspection),
        ]

    def _lines(self, inspection: Inspection, width: int) -> Iterator[Content]:
        children: defaultdict[int, list[int]] = defaultdict(list)
        for number, candidate in enumerate(inspection.candidates, start=1):
            children[candidate.parent].append(number)
        for siblings in children.values():
            siblings.sort(key=lambda number: not inspection.candidates[number - 1].accepted)
        waiting = [(number, 0) for number in reversed(children[0])]
        while waiting:
            number, depth = waiting.pop()
            run = [number]
            while len(children[run[-1]]) == 1 and _alike(inspection, run[-1], children[run[-1]][0]):
                run.append(children[run[-1]][0])
            waiting += [(child, depth + 1) for child in reversed(children[run[-1]])]
            yield self._branch([inspection.candidates[each - 1] for each in run], depth, width)

    def _branch(self, run: list[Candidate], depth: int, width: int) -> Content:
        first = run[0]
        mark = "✓" if first.accepted else "·"
        text = " ".join(shown(each.text) for each in run)
        probability = "" if run[-1].probability is None else f" {run[-1].probability:4.0%}"
        source = f" {first.origin}{probability}"
        indent = "  " * min(depth, 6)
        room = max(4, width - len(indent) - len(source) - 3)
        text = text if len(text) <= room else f"{text[: room - 1]}…"
        style = style_of(first.origin) if first.accepted else "$foreground-muted"
        return Content.assemble(f"{indent}{mark} ", (text, style), (source, "$foreground-muted"))

    def _end(self, inspection: Inspection) -> list[Content]:
        """Return the tokens that the step emitted; the last one was not a candidate."""
        if not inspection.settled:
            return []
        *guessed, own = inspection.settled
        sources = [candidate.origin for candidate in inspection.candidates if candidate.accepted]
        return [
            Content.assemble(
                ("settled ", "$foreground-muted"),
                *((f"{shown(token)} ", style_of(origin)) for token, origin in zip(guessed, sources, strict=False)),
                (shown(own), "bold"),
            )
        ]


def _alike(inspection: Inspection, first: int, second: int) -> bool:
    """Return whether two candidates of one branch fit on one line."""
    a, b = (inspection.candidates[number - 1] for number in (first, second))
    return (a.origin, a.accepted) == (b.origin, b.accepted)
