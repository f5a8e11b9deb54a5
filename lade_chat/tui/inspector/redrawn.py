"""Base of the inspector's views: redrawn when the step or the available room changes."""

from __future__ import annotations

from textual.content import Content
from textual.events import Resize
from textual.widgets import Static

from lade_chat.presentation.sanitize import printable
from lade_chat.protocol.inspection import Inspection
from lade_chat.tui.terminal.key_names import keys_of
from lade_chat.tui.widgets.metric_lines import explain

NOTHING_YET = (
    "nothing yet: ask something, or {pause} pauses a reply and {step_once} takes one step;"
    " a conversation does not keep its steps"
)


class InspectorView(Static):
    """One aspect of the last step."""

    TITLE = ""
    METRIC = ""

    def __init__(self) -> None:
        super().__init__(markup=False, classes="inspector-view")
        explain(self, self.METRIC)
        self._inspection: Inspection | None = None

    def show(self, inspection: Inspection | None) -> None:
        """Draw a step; None where nothing has been inspected yet."""
        self._inspection = inspection
        self._draw()

    def on_resize(self, _event: Resize) -> None:
        self._draw()

    def draw(self, inspection: Inspection, width: int) -> list[Content]:
        """The view's lines, at most ``width`` cells each."""
        raise NotImplementedError

    def _draw(self) -> None:
        width = self.size.width
        if not width:
            return
        lines = [Content.styled(self.TITLE, "bold")]
        if self._inspection is None:
            lines.append(Content.styled(keys_of(self).put_into(NOTHING_YET), "$foreground-muted"))
        else:
            lines += self.draw(self._inspection, width)
        content = Content("\n").join(lines)
        # Of many steps most take as many lines as the one before: then nothing else has to be laid out.
        self.update(content, layout=content.get_height({}, width) != self.size.height)


def shown(text: str, width: int | None = None) -> str:
    """A token as one can see it: blanks and line breaks as signs, cut to ``width`` characters."""
    seen = printable(text).replace(" ", "·").replace("\n", "↵").replace("\t", "⇥") or "∅"
    return seen if width is None or len(seen) <= width else f"{seen[: max(0, width - 1)]}…"


def plainly(inspection: Inspection) -> str:
    """Return the words for a step without candidates or window."""
    return "this step read the prompt" if inspection.prompt else "a plain step: the last token alone was read"
