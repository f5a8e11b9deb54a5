"""Lines across the screen: the header, the status line above the prompt, and the footer with the keys."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from time import monotonic
from typing import ClassVar

from rich.cells import cell_len
from rich.filesize import decimal
from textual.binding import Binding
from textual.content import Content
from textual.events import MouseDown, MouseMove
from textual.reactive import reactive
from textual.timer import Timer
from textual.widget import Widget

from lade_chat.presentation.metric_words import PREFILL, lookahead_forms, sampling_forms, stage_words
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
        style = "$text-success on $success 25%" if on else "$text-muted on $surface-lighten-2"
        if self.app.native_ansi_color:
            style = "reverse" if on else ""
        return Content.assemble((left, "bold"), " " * (width - cell_len(left) - cell_len(badge)), (badge, style))

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
OTHER_ROWS = 6
"""Of the screen: header, a line of the transcript, prompt and keys."""


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
        self._hint, self._holds = printable(text), holds
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
        taken = int(monotonic() - self._begun) if self._clock is not None else 0
        clock = [part(1, f"{taken} s")] if taken else []  # the seconds that the model has taken to load so far
        line = fit([*self.parts, *clock], room) if self.parts else ""
        if self._share is None:
            return Content(line)
        return Content.assemble(line, " ", *bar(self._share, min(30, width - len(line) - 7)))

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
        rows = max(1, min(rows, MAX_ROWS, self.app.size.height - OTHER_ROWS))
        if rows != self._rows:
            self._rows = rows
            self.styles.height = rows


def bar(share: float, width: int) -> list[tuple[str, str]]:
    """A progress bar of ``width`` cells and the percentage after it."""
    full = round(share * max(width, 0))
    return [("━" * full, "$success"), ("━" * (max(width, 0) - full), "$surface-lighten-3"), (f" {share:4.0%}", "")]


class KeyFooter(Widget):
    """Line with as many bindings as there is room for; a click on a key presses it.

    ``actions`` are the screen's and application's actions that apply now, most important first, each with a
    description that replaces the binding's unless empty; without ``actions`` all visible bindings are shown. A focused
    widget's bindings come first.

    The keys are chosen as the line is drawn. A widget for each, as in Textual's footer, took as long to mount as all
    else on the screen, at its start and at every change of keys.
    """

    ALLOW_SELECT: ClassVar[bool] = False
    _hovered: reactive[str | None] = reactive(None)
    """The key under the pointer."""

    def __init__(self, actions: Mapping[str, str] | None = None) -> None:
        super().__init__()
        self.actions = actions
        self._shown: list[tuple[str, Content]] = []
        """Each key, and what is drawn of it."""

    def on_mount(self) -> None:
        changed = self.screen.bindings_updated_signal
        changed.subscribe(self, lambda screen: self.refresh() if screen.app.app_focus else None)

    def render(self) -> Content:
        self._shown = self._fitting()
        return Content.assemble(*(shown for _, shown in self._shown))

    def _fitting(self) -> list[tuple[str, Content]]:
        words = self.actions or {}
        shown: dict[str, tuple[str, Content]] = {}
        room = self.size.width
        for binding in self._offered():
            if binding.action not in shown:
                display, about = self.app.get_key_display(binding), words.get(binding.action) or binding.description
                drawn = self._drawn(binding.key, f" {display} ", f"{about} ")
                room -= drawn.cell_length
                if room < 0:
                    break
                shown[binding.action] = binding.key, drawn
        return list(shown.values())

    def _drawn(self, key: str, display: str, about: str) -> Content:
        drawn = Content.assemble(
            (display, "bold $footer-key-foreground on $footer-key-background"),
            (about, "$footer-description-foreground on $footer-description-background"),
        )
        return drawn.stylize_before("on $block-hover-background") if key == self._hovered else drawn

    def _offered(self) -> list[Binding]:
        bindings = [(each.node, each.binding) for each in self.screen.active_bindings.values()]
        if self.actions is None:
            return [binding for _, binding in bindings if binding.show]
        own = [binding for node, binding in bindings if binding.show and node not in (self.screen, self.app)]
        by_action = {binding.action.removeprefix("app."): binding for _, binding in reversed(bindings)}
        return [*own, *(by_action[action] for action in self.actions if action in by_action)]

    def _key_at(self, x: int) -> str | None:
        for key, drawn in self._shown:
            if x < drawn.cell_length:
                return key
            x -= drawn.cell_length
        return None

    def on_mouse_move(self, event: MouseMove) -> None:
        self._hovered = self._key_at(event.x)

    def on_leave(self) -> None:
        self._hovered = None

    def on_mouse_down(self, event: MouseDown) -> None:
        if (key := self._key_at(event.x)) is not None:
            self.app.simulate_key(key)
