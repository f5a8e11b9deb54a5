"""Footer: as many whole keys as fit, the most important first."""

from __future__ import annotations

from collections.abc import Mapping

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.binding import ActiveBinding
from textual.events import Resize
from textual.widgets import Footer

from lade_chat.tui.terminal.textual_private import FooterKey, is_footer_ready

_BLANKS = 3
"""Before a key, between it and its words, and behind them."""
_Shown = tuple[str, str, str, str, bool, str]
"""A key, its display, its words, the action, whether it is enabled, and the tooltip."""


class KeyFooter(Footer):
    """Footer with as many bindings as there is room for; a click on a key presses it.

    ``actions`` are the screen's and application's actions that apply now, most important first, each with a
    description that replaces the binding's unless empty; without ``actions`` all visible bindings are shown. A focused
    widget's bindings come first.
    """

    def __init__(self, actions: Mapping[str, str] | None = None) -> None:
        super().__init__(show_command_palette=False)
        self.actions = actions
        self._shown: list[_Shown] = []

    def compose(self) -> ComposeResult:
        # Not by way of Footer.compose: it binds every key to a reactive that lets go of none for as long as it lasts.
        self._shown = self._fitting()
        for key, display, about, action, enabled, tooltip in self._shown:
            shown = FooterKey(key, display, about, action, disabled=not enabled, tooltip=tooltip)
            shown.set_reactive(FooterKey.compact, False)
            yield shown

    async def recompose(self) -> None:
        """Compose anew if the keys differ: every change of focus reports the bindings."""
        if self.is_attached and self._fitting() != self._shown:
            await super().recompose()

    def _fitting(self) -> list[_Shown]:
        # The keys of a whole screen are known at once; the chat's depend on what it has not yet been told.
        if self.actions is not None and not is_footer_ready(self):
            return []
        words = self.actions or {}
        shown: dict[str, _Shown] = {}
        room = self.size.width or self.app.size.width  # before it is laid out
        for _, binding, enabled, tooltip in self._offered():
            if binding.action not in shown:
                display, about = self.app.get_key_display(binding), words.get(binding.action) or binding.description
                room -= cell_len(display) + cell_len(about) + _BLANKS
                if room < 0:
                    break
                shown[binding.action] = (binding.key, display, about, binding.action, enabled, tooltip)
        return list(shown.values())

    def _offered(self) -> list[ActiveBinding]:
        bindings = list(self.screen.active_bindings.values())
        if self.actions is None:
            return [each for each in bindings if each.binding.show]
        own = [each for each in bindings if each.binding.show and each.node not in (self.screen, self.app)]
        by_action = {each.binding.action.removeprefix("app."): each for each in reversed(bindings)}
        return [*own, *(by_action[action] for action in self.actions if action in by_action)]

    def on_resize(self, _event: Resize) -> None:
        self.refresh(recompose=True)
