"""Footer: as many whole keys as fit, the most important first."""

from __future__ import annotations

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.events import Resize
from textual.widgets import Footer
from textual.widgets._footer import FooterKey

_BLANKS = 3
"""Before a key, between it and its words, and behind them."""


class KeyFooter(Footer):
    """Of the bindings in their order as many as there is room for; clicked, a key is pressed."""

    def __init__(self) -> None:
        super().__init__(show_command_palette=False)

    def compose(self) -> ComposeResult:
        # Not by way of Footer.compose: it binds every key to a reactive that lets go of none for as long as it lasts.
        if not self._bindings_ready:
            return
        shown: dict[str, FooterKey] = {}
        for _, binding, enabled, tooltip in self.screen.active_bindings.values():
            if binding.show and binding.action not in shown:
                display = self.app.get_key_display(binding)
                shown[binding.action] = FooterKey(
                    binding.key, display, binding.description, binding.action, disabled=not enabled, tooltip=tooltip
                )
        self.styles.grid_size_columns = len(shown)
        room = self.size.width
        for key in shown.values():
            room -= cell_len(key.key_display) + cell_len(key.description) + _BLANKS
            if room >= 0:
                key.set_reactive(FooterKey.compact, False)
                yield key

    def on_resize(self, _event: Resize) -> None:
        self.refresh(recompose=True)
