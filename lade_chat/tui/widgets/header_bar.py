"""Header: model, device, precision, sampling, and the state of lookahead."""

from __future__ import annotations

from rich.cells import cell_len
from textual.content import Content
from textual.widget import Widget

from lade_chat.presentation.metrics import lookahead_forms, sampling_forms
from lade_chat.presentation.sanitize import printable
from lade_chat.presentation.status_parts import SEPARATOR
from lade_chat.protocol.values import DecodingOptions, ModelInfo, Sampling


class HeaderBar(Widget):
    """The header line: the model on the left, and on the right the state of lookahead, which is always shown."""

    def __init__(self, options: DecodingOptions, sampling: Sampling | None) -> None:
        super().__init__()
        self.show(None, "loading the model", options, sampling)

    def show(self, model: ModelInfo | None, absence: str, options: DecodingOptions, sampling: Sampling | None) -> None:
        """Show the loaded model, or why there is none, and how it decodes; greedy sampling (None) is not shown."""
        self._model, self._absence, self._options, self._sampling = model, absence, options, sampling
        self.refresh()

    def render(self) -> Content:
        width = self.size.width
        is_there = self._model is None or self._model.lookahead_supported
        on, sizes = self._options.lookahead and is_there, self._options.sizes
        forms = lookahead_forms(on, sizes) if is_there else ("lookahead not available",)
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
        if self._model is None:
            return [f"lade-chat   {self._absence}", self._absence]
        name = printable(self._model.name).replace("\n", " ")
        about = SEPARATOR.join((name, self._model.device, self._model.dtype))
        drawn = list(sampling_forms(self._sampling)) if self._sampling is not None else []
        whole = [SEPARATOR.join((about, each)) for each in drawn[:1]] or [about]
        less = [SEPARATOR.join((model, each)) for each in drawn for model in (about, name)]
        return [*(f"lade-chat   {text}" for text in whole), *whole, *less, about, name]


def _fitted(texts: list[str], badges: list[str], width: int) -> tuple[str, str]:
    """The first text that fits, with the longest badge that leaves it room; else the end of the last one."""
    for text in texts:
        for badge in badges:
            if cell_len(text) + cell_len(badge) < width:
                return text, badge
    keep = max(width - cell_len(badges[-1]) - 2, 0)
    return "…" + texts[-1][len(texts[-1]) - keep :] if keep else "", badges[-1]
