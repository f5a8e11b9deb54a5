"""The top line: which model runs where and in which precision, how tokens are drawn, whether lookahead is on."""

from __future__ import annotations

from rich.cells import cell_len
from textual.content import Content
from textual.widget import Widget

from lade_chat.figures import SEPARATOR, options_forms, sampling_forms
from lade_chat.protocol import DecodingOptions, ModelInfo, Sampling
from lade_chat.sanitize import printable


class HeaderBar(Widget):
    """Left the model, right the state of lookahead, which is never left out."""

    def __init__(self, options: DecodingOptions, sampling: Sampling | None) -> None:
        super().__init__()
        self._model: ModelInfo | None = None
        self._absence = "loading the model"
        self._options = options
        self._sampling = sampling

    def show_model(self, model: ModelInfo | None, absence: str = "") -> None:
        """The loaded model, or in a few words why there is none."""
        self._model = model
        self._absence = absence
        self.refresh()

    def show_options(self, options: DecodingOptions) -> None:
        self._options = options
        self.refresh()

    def show_sampling(self, sampling: Sampling | None) -> None:
        """How tokens are drawn; None for the likeliest always, which nobody has to be told."""
        self._sampling = sampling
        self.refresh()

    def render(self) -> Content:
        width = self.size.width
        forms = options_forms(self._options, self._model)
        badge = f" {forms[0] if width >= 72 else forms[-1]} "
        room = width - cell_len(badge) - 1
        left = _fitted(self._left(), room)
        on = self._options.lookahead and (self._model is None or self._model.lookahead_supported)
        return Content.assemble(
            (left, "bold"),
            " " * (width - cell_len(left) - cell_len(badge)),
            (badge, self._badge_style(on)),
        )

    def _badge_style(self, on: bool) -> str:
        if self.app.native_ansi_color:
            return "reverse" if on else ""
        return "$text-success on $success 25%" if on else "$text-muted on $surface-lighten-2"

    def _left(self) -> list[str]:
        """What to say on the left, the fullest first."""
        if self._model is None:
            return [f"lade-chat   {self._absence}", self._absence]
        name = printable(self._model.name).replace("\n", " ")
        about = SEPARATOR.join((name, self._model.device, self._model.dtype))
        sampling = sampling_forms(self._sampling) if self._sampling is not None else ()
        drawn = [SEPARATOR.join((about, form)) for form in sampling]
        return [*(f"lade-chat   {text}" for text in drawn), *drawn, f"lade-chat   {about}", about]


def _fitted(texts: list[str], width: int) -> str:
    for text in texts:
        if cell_len(text) <= width:
            return text
    shortest = texts[-1]
    keep = max(width - 1, 0)
    return "…" + shortest[len(shortest) - keep :] if keep else ""
