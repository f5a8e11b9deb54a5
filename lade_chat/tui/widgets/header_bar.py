"""Header: model, device, precision, sampling, and the state of lookahead."""

from __future__ import annotations

from rich.cells import cell_len
from textual.content import Content
from textual.widget import Widget

from lade_chat.presentation.metrics import lookahead_forms, sampling_forms
from lade_chat.presentation.sanitize import printable
from lade_chat.presentation.status_parts import SEPARATOR
from lade_chat.tui.chat.chat_state import ChatState, Phase

ABSENCE = {Phase.UNLOADED: "no model", Phase.LOST: "engine lost"}
"""Why there is no model, unless it is being loaded."""


class HeaderBar(Widget):
    """The header line: the model on the left, and on the right the state of lookahead, which is always shown."""

    def __init__(self, state: ChatState) -> None:
        super().__init__()
        self._state = state

    def show(self, state: ChatState) -> None:
        """Show the loaded model, or why there is none, and how it decodes; greedy sampling (None) is not shown."""
        self._state = state
        self.refresh()

    def render(self) -> Content:
        width, model, options = self.size.width, self._state.model, self._state.options
        is_there = model is None or model.lookahead_supported
        on = options.lookahead and is_there
        forms = lookahead_forms(on, options.sizes) if is_there else ("lookahead not available",)
        left, badge = _fitted(self._left(), [f" {form} " for form in forms], width)
        return Content.assemble(
            (left, "bold"), " " * (width - cell_len(left) - cell_len(badge)), (badge, self._badge_style(on))
        )

    def _badge_style(self, on: bool) -> str:
        if self.app.native_ansi_color:
            return "reverse" if on else ""
        return "$text-success on $success 25%" if on else "$text-muted on $surface-lighten-2"

    def _left(self) -> list[str]:
        """Return the left texts, the longest first; sampling is kept longer than the device."""
        model, sampling = self._state.model, self._state.sampling
        if model is None:
            absence = ABSENCE.get(self._state.phase, "loading the model")
            return [f"lade-chat   {absence}", absence]
        name = printable(model.name).replace("\n", " ")
        about = SEPARATOR.join((name, model.device, model.dtype))
        drawn = list(sampling_forms(sampling)) if sampling is not None else []
        whole = [SEPARATOR.join((about, each)) for each in drawn[:1]] or [about]
        less = [SEPARATOR.join((which, each)) for each in drawn for which in (about, name)]
        return [*(f"lade-chat   {text}" for text in whole), *whole, *less, about, name]


def _fitted(texts: list[str], badges: list[str], width: int) -> tuple[str, str]:
    """The first text that fits, with the longest badge that leaves it room; else the end of the last one."""
    for text in texts:
        for badge in badges:
            if cell_len(text) + cell_len(badge) < width:
                return text, badge
    keep = max(width - cell_len(badges[-1]) - 2, 0)
    return "…" + texts[-1][len(texts[-1]) - keep :] if keep else "", badges[-1]
