"""Streaming text in chunks, each token tinted by its origin: only the last chunk is drawn anew."""

from __future__ import annotations

from collections.abc import Iterable

from textual.content import Content, Span
from textual.widgets import Static

from lade_chat.protocol import Origin
from lade_chat.sanitize import printable
from lade_chat.tui.stack import Stack
from lade_chat.tui.tint import style_of

CHUNK_TOKENS = 64


class Chunk(Static):
    """Some whole lines of the text."""

    def __init__(self) -> None:
        super().__init__(Content(""), markup=False)
        self.tokens = 0
        self._text = ""
        self._spans: list[Span] = []

    def add(self, text: str, style: str) -> None:
        """Take in one token's characters; ``draw`` shows them."""
        start = len(self._text)
        self._text += text
        self.tokens += 1
        if not style or not text:
            return
        last = self._spans[-1] if self._spans else None
        if last is not None and last.end == start and last.style == style:
            self._spans[-1] = Span(last.start, len(self._text), style)
        else:
            self._spans.append(Span(start, len(self._text), style))

    def draw(self) -> None:
        self.update(Content(self._text, list(self._spans)))


class TintedText(Stack):
    """Append only. A chunk ends at the first line break after 64 tokens, so the chunks are whole lines."""

    def __init__(self, classes: str | None = None) -> None:
        super().__init__(classes)
        self._last: Chunk | None = None

    def extend(self, tokens: Iterable[tuple[str, Origin]]) -> None:
        """Show more tokens."""
        chunk = self._last or self._begin()
        for text, origin in tokens:
            style = style_of(origin, self.app)
            shown = printable(text)
            if chunk.tokens >= CHUNK_TOKENS and "\n" in shown:
                shown, _, rest = shown.partition("\n")
                chunk.add(shown, style)
                chunk.draw()
                chunk = self._begin()
                shown = rest
            chunk.add(shown, style)
        chunk.draw()

    def _begin(self) -> Chunk:
        self._last = Chunk()
        self.add(self._last)
        return self._last
