"""Footer: as many whole keys as fit, the most important first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from textual.binding import Binding
from textual.content import Content
from textual.events import MouseDown, MouseMove
from textual.reactive import reactive
from textual.screen import Screen
from textual.widget import Widget


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
        self.screen.bindings_updated_signal.subscribe(self, self._bindings_changed)

    def _bindings_changed(self, screen: Screen[object]) -> None:
        if screen.app.app_focus:
            self.refresh()

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
