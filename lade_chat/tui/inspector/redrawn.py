"""A view of the inspector, redrawn when step or room changes; and a token's blanks and line ends made visible."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import TypeAlias

from textual.content import Content
from textual.events import Resize
from textual.widgets import Static

from lade_chat.presentation.sanitize import printable
from lade_chat.presentation.status_parts import cut
from lade_chat.protocol.inspection import Candidate, Inspection
from lade_chat.tui.key_map import keys_of
from lade_chat.tui.widgets.metric_lines import explain

NOTHING_YET = (
    "nothing yet: ask something, or {pause} pauses a reply and {step_once} takes one step;"
    " a conversation does not keep its steps"
)


DrawStep: TypeAlias = Callable[[Inspection, int], list[Content]]
"""Draws one aspect of a step, in lines of at most so many cells."""


class InspectorView(Static):
    """One aspect of the last step, below its title; ``metric`` explains it."""

    def __init__(self, title: str, metric: str, draw: DrawStep, *, id: str) -> None:  # noqa: A002
        super().__init__(markup=False, id=id, classes="inspector-view")
        explain(self, metric)
        self._title, self._draw_step = title, draw
        self._inspection: Inspection | None = None

    def show(self, inspection: Inspection | None) -> None:
        """Draw a step; None where nothing has been inspected yet."""
        self._inspection = inspection
        self._draw()

    def on_resize(self, _event: Resize) -> None:
        self._draw()

    def _draw(self) -> None:
        width = self.size.width
        if not width:
            return
        lines = [Content.styled(self._title, "bold")]
        if self._inspection is None:
            lines.append(Content.styled(keys_of(self).put_into(NOTHING_YET), "$foreground-muted"))
        else:
            lines += self._draw_step(self._inspection, width)
        content = Content("\n").join(lines)
        # Of many steps most take as many lines as the one before: then nothing else has to be laid out.
        self.update(content, layout=content.get_height({}, width) != self.size.height)


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
