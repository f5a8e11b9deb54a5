"""Streamed text in chunks, each token tinted by its origin; only the last chunk is redrawn."""

from __future__ import annotations

from collections.abc import Iterable

from textual.content import Content, Span
from textual.widgets import Static

from lade_chat.presentation.sanitize import printable
from lade_chat.protocol.inspection import Origin
from lade_chat.tui.theme.tint import style_of
from lade_chat.tui.widgets.stack import Stack

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
        """Show what was taken in. The screen is laid out anew only when that takes more lines."""
        content = Content(self._text, list(self._spans))
        width, height = self.size
        grown = not width or content.get_height({}, width) != height
        self.update(content, layout=grown)

    def take(self, other: Chunk) -> None:
        """Take in all of the chunk below this one."""
        start = len(self._text) + 1
        self._text += "\n" + other._text
        self._spans += [Span(start + begin, start + end, style) for begin, end, style in other._spans]


class TintedText(Stack):
    """Append only. A chunk ends at the first line break after 64 tokens, so the chunks are whole lines."""

    def __init__(self, classes: str | None = None) -> None:
        super().__init__(classes)
        self._chunks: list[Chunk] = []

    def extend(self, tokens: Iterable[tuple[str, Origin]]) -> None:
        """Show more tokens."""
        chunk = self._chunks[-1] if self._chunks else self._begin()
        for text, origin in tokens:
            style = style_of(origin)
            shown = printable(text)
            if chunk.tokens >= CHUNK_TOKENS and "\n" in shown:
                shown, _, rest = shown.partition("\n")
                chunk.add(shown, style)
                chunk.draw()
                chunk = self._begin()
                shown = rest
            chunk.add(shown, style)
        chunk.draw()

    def end(self) -> None:
        """Nothing more comes: one chunk is cheaper to lay out than many."""
        if len(self._chunks) < 2:
            return
        first, *others = self._chunks
        for other in others:
            first.take(other)
            self.discard(other)
        self._chunks = [first]
        first.draw()

    def _begin(self) -> Chunk:
        chunk = Chunk()
        self._chunks.append(chunk)
        self.add(chunk)
        return chunk
