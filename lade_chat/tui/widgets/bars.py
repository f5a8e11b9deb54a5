"""The chat's two lines beside the transcript: the header above it, and the status line above the prompt."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import monotonic

from rich.cells import cell_len
from rich.filesize import decimal
from textual.content import Content
from textual.timer import Timer
from textual.widget import Widget

from lade_chat.presentation.metrics import PREFILL, lookahead_forms, sampling_forms, stage_words
from lade_chat.presentation.sanitize import printable
from lade_chat.presentation.status_parts import SEPARATOR, StatusPart, fit, part
from lade_chat.protocol.events import Loading
from lade_chat.tui.chat.chat_state import ChatState, Phase
from lade_chat.tui.key_map import keys_of
from lade_chat.tui.widgets.metric_lines import MetricLine

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


REFUSAL_SECONDS = 60.0
"""Maximum time that a refusal is shown while nothing else is typed."""
HINT_SECONDS = 4.0
BESIDE = "  │  "
"""Between a hint and the state."""
_PERCENTAGE = "  100%"
"""The widest percentage, which is shown even if there is no room for a bar."""
MAX_ROWS = 5
"""Of a hint that takes more than one."""


class StatusBar(MetricLine):
    """Exactly one line, whatever the width; more only for a hint that does not fit."""

    def __init__(self) -> None:
        super().__init__()
        self._share: float | None = None
        self._hint = ""
        self._holds: Callable[[], bool] = lambda: True
        self._rows = 1
        self._timer: Timer | None = None
        self._begun = 0.0
        """The time at which the loading of a model began."""
        self._clock: Timer | None = None
        """Set while it goes on."""

    def show(self, parts: Sequence[StatusPart]) -> None:
        if self._clock is not None:
            self._clock.stop()
            self._clock = None
        self._set(list(parts), None)

    def begin_loading(self) -> None:
        """Tell that the engine starts, and from now on how long the loading takes."""
        self.show([part(0, "starting the engine")])
        self._begun = monotonic()
        self._clock = self.set_interval(1.0, self.refresh)

    def show_loading(self, progress: Loading) -> None:
        is_counted = progress.total > 1 and progress.stage != "unpacking"
        share = min(progress.done / progress.total, 1.0) if is_counted else None
        stage = stage_words(progress.stage, progress.total)
        if progress.stage == "download" and progress.total:
            bytes_done = f"{stage}: {decimal(progress.done)} of {decimal(progress.total)}"
            stage = f"{bytes_done} · {keys_of(self).put_into('{stop} cancels')}"
        self._set([part(0, stage)], share)

    def show_reading(self, done: int, total: int) -> None:
        self._set([part(0, PREFILL)], done / total if total else None)

    def hint(self, text: str, holds: Callable[[], bool] = lambda: True, seconds: float = HINT_SECONDS) -> None:
        """Show ``text`` for some seconds a row, and no longer than it ``holds``; beside it the state, given room."""
        self._hint, self._holds = text, holds
        if self._timer is not None:
            self._timer.stop()
        self._fit_hint()
        self._timer = self.set_timer(seconds * self._rows, self._end_hint)
        self.refresh()

    def render(self) -> Content:
        width = self.size.width
        if not self._hint or not self._holds():
            return self._state(width)
        if self._rows > 1:
            return Content.styled(self._hint, "$text-warning")
        hint = Content.styled(fit([part(0, self._hint)], width), "$text-warning")
        room = width - hint.cell_length - cell_len(BESIDE)
        if not self.parts or room < cell_len(min(self.parts, key=lambda part: part.rank).forms[-1]):
            return hint
        return Content.assemble(hint, BESIDE, self._state(room))

    def _state(self, width: int) -> Content:
        room = width if self._share is None else width - cell_len(_PERCENTAGE)
        line = fit(self._parts_and_clock, room) if self.parts else ""
        if self._share is None:
            return Content(line)
        return Content.assemble(line, " ", *bar(self._share, min(30, width - len(line) - 7)))

    @property
    def _parts_and_clock(self) -> list[StatusPart]:
        """The parts, behind those of a loading model the seconds that it has taken."""
        taken = int(monotonic() - self._begun) if self._clock is not None else 0
        return [*self.parts, part(1, f"{taken} s")] if taken else self.parts

    def _set(self, parts: list[StatusPart], share: float | None) -> None:
        if (parts, share) != (self.parts, self._share):
            self.parts, self._share = parts, share
            self.refresh()

    def review(self) -> None:
        """Take a hint away that holds no longer: something that it is about may have changed."""
        if self._hint and not self._holds():
            self._end_hint()

    def on_resize(self) -> None:
        self._fit_hint()

    def _end_hint(self) -> None:
        self._hint = ""
        self._fit_hint()
        self.refresh()

    def _fit_hint(self) -> None:
        """Take as many rows as the hint needs."""
        rows = len(Content(self._hint).wrap(self.size.width)) if self._hint and self.size.width else 1
        if rows != self._rows:
            self._rows = rows
            self.styles.height = min(rows, MAX_ROWS)


def bar(share: float, width: int) -> list[tuple[str, str]]:
    """A progress bar of ``width`` cells and the percentage after it."""
    full = round(share * max(width, 0))
    return [("━" * full, "$success"), ("━" * (max(width, 0) - full), "$surface-lighten-3"), (f" {share:4.0%}", "")]
