"""A reply's thought, folded to one line until it is opened."""

from __future__ import annotations

from collections.abc import Iterable

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from lade_chat.presentation.metrics import counted, seconds
from lade_chat.protocol.inspection import Origin
from lade_chat.tui.reply.tinted_text import TintedText
from lade_chat.tui.terminal.key_names import keys_of


class Thought(Vertical):
    """A folded thought: a dim line that a click or a key opens."""

    def __init__(self) -> None:
        super().__init__()
        self.is_open = False
        self.running = True
        self._tokens = self._measured = 0
        self._seconds = 0.0
        self._line = Static(markup=False, classes="thought-line")
        self._text = TintedText(classes="thought-text")
        self._text.display = False

    def compose(self) -> ComposeResult:
        yield self._line
        yield self._text

    def on_mount(self) -> None:
        self._draw()

    def extend(self, tokens: Iterable[tuple[str, Origin]]) -> None:
        new = list(tokens)
        self._tokens += len(new)
        self._text.extend(new)
        self._draw()

    def measure(self, tokens: int, seconds: float) -> None:
        """Take over the engine's own figures; 0 tokens for a thought that it knows nothing of."""
        self._measured, self._seconds = tokens, seconds
        self._draw()

    def end(self) -> None:
        self.running = False
        self._text.end()
        self._draw()

    def open(self, wanted: bool) -> None:
        self.is_open = wanted
        self._text.display = wanted
        self._draw()

    def on_click(self) -> None:
        if self.screen.get_selected_text() is None:
            self.open(not self.is_open)

    def _draw(self) -> None:
        mark, verb = ("▾", "folds") if self.is_open else ("▸", "opens")
        key = keys_of(self).first("toggle_thoughts")
        words = "thinking…" if self.running else "thought for"
        taken = f" in {seconds(self._seconds)}" if self._measured else ""
        tokens = counted(self._measured or self._tokens, "token")
        self._line.update(Content(f"{mark} {words} {tokens}{taken} · {key} {verb}"))
