"""Streamed text in chunks, each token tinted by its origin; only the last chunk is redrawn. Whether it is Markdown."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TypeAlias

from rich.cells import cell_len
from textual.content import Content, Span
from textual.geometry import Offset, Region
from textual.widget import Widget

from lade_chat.presentation.sanitize import printable
from lade_chat.protocol.inspection import TokenSource
from lade_chat.tui.theme.token_tints import style_of
from lade_chat.tui.widgets.stack import Blank, Stack

PlaceOf: TypeAlias = Callable[[Widget, Offset], int | None]

CHUNK_TOKENS = 64
LAST_LINE_TOKENS = 64
"""Maximum number of tokens searched backwards for the beginning of a line."""
_FENCE = re.compile(r"^ {0,3}(`{3,}(?=[^`]*$)|~{3,})")
_MARKS = re.compile(
    r"^#{1,6} \S|^\s{0,3}([-*+]|\d{1,3}[.)]) +\S|^> |^\|.*\|\s*$|\*\*\S|`[^`\n]+`|\]\(\S+\)", re.MULTILINE
)
_INDENTED = re.compile(r"^(?: {4}|\t)", re.MULTILINE)
_LIST_ITEM = re.compile(r"\s*([-*+]|\d+[.)])\s")


class TextChunk(Widget):
    """Some whole lines of the text."""

    virtual_size = Blank.virtual_size

    def __init__(self) -> None:
        super().__init__()
        self.tokens = 0
        self.end: int | None = None
        """The number of the text's tokens that end with it; None while it grows."""
        self.text = ""
        self._spans: list[Span] = []

    def add(self, text: str, style: str) -> None:
        """Take in one token's characters; ``draw`` shows them."""
        start = len(self.text)
        self.text += text
        self.tokens += 1
        if not style or not text:
            return
        last = self._spans[-1] if self._spans else None
        if last is not None and last.end == start and last.style == style:
            self._spans[-1] = Span(last.start, len(self.text), style)
        else:
            self._spans.append(Span(start, len(self.text), style))

    def render(self) -> Content:
        return Content(self.text, list(self._spans))

    def draw(self) -> None:
        """Show the characters added: redraw the last row, or lay out anew if there are more rows."""
        width, height = self.size
        if width and Content(self.text).get_height({}, width) == height:
            self.refresh(Region(0, height - 1, width, 1))
        else:
            self.refresh(layout=True)

    @property
    def end_column(self) -> int:
        """The cell at which the last line ends."""
        lines = Content(self.text).wrap(self.size.width or 1)
        return lines[-1].cell_length if lines else 0

    def take(self, other: TextChunk) -> None:
        """Take in all of the chunk below this one."""
        start = len(self.text) + 1
        self.text += "\n" + other.text
        self._spans += [Span(start + begin, start + end, style) for begin, end, style in other._spans]


class TintedText(Stack):
    """Streamed text in chunks of whole lines, each a Markdown block or at most about 64 tokens; append-only."""

    def __init__(self, classes: str | None = None) -> None:
        super().__init__(classes)
        self.tokens: list[tuple[str, TokenSource]] = []
        """All of the text; a token in which a chunk ends stands there in two parts."""
        self.closed = 0
        """Of the tokens, those in blocks of Markdown that have ended: after a blank line, or a fence."""
        self._chunks: list[TextChunk] = []
        self._line = self._fence = ""
        self._covered = False
        self._covered_tokens = 0
        self._apart: TextChunk | None = None

    def extend(self, tokens: Iterable[tuple[str, TokenSource]]) -> None:
        """Show more tokens."""
        chunk = self._chunks[-1] if self._chunks else self._begin()
        if self._covered:
            self._covered, self.display = False, True
        for text, origin in tokens:
            rest = printable(text)
            while "\n" in rest:
                line, _, rest = rest.partition("\n")
                block_ends = self._ends_block(self._line + line)
                if block_ends or chunk.tokens >= CHUNK_TOKENS:
                    self.tokens.append((line + "\n", origin))
                    chunk.add(line, style_of(origin))
                    chunk.end = len(self.tokens)
                    chunk.draw()
                    chunk = self._begin()
                    self.closed = len(self.tokens) if block_ends else self.closed
                else:
                    self._add(chunk, line + "\n", origin)
                self._line = ""
            if rest or not text:
                self._add(chunk, rest, origin)
                self._line += rest
        chunk.draw()
        if self._covered_tokens:
            self._stand_apart()

    def lay_out(self) -> None:
        """Have the heights of all that holds the text computed anew."""
        if self._chunks:
            self._chunks[-1].refresh(layout=True)

    def cover(self, count: int) -> None:
        """Hide the lines of the first ``count`` tokens, which are shown as rendered Markdown instead."""
        for chunk in self._chunks:
            chunk.display = chunk.end is None or chunk.end > count
        self._covered = 0 < count >= len(self.tokens)
        self.display = not self._covered
        self._covered_tokens = count
        self._stand_apart()

    def _stand_apart(self) -> None:
        """Leave a row between a document and the lines below it, as it will between its blocks; none within a list."""
        count = self._covered_tokens
        below = next((chunk for chunk in self._chunks if chunk.display), None) if count else None
        if below is not None:
            above = "".join(text for text, _ in self.tokens[max(0, count - LAST_LINE_TOKENS) : count]).rstrip()
            begun = "".join(text for text, _ in self.tokens[count : count + LAST_LINE_TOKENS])
            if _LIST_ITEM.match(begun) and _LIST_ITEM.match(above.rpartition("\n")[2]):
                below = None
        if below is not self._apart:
            for chunk in filter(None, (self._apart, below)):
                chunk.set_class(chunk is below, "-below-document")
            self._apart = below

    def place_at(self, x: int, y: int, in_document: PlaceOf | None) -> int | None:
        """Return the place in the text that a cell of the screen shows, if any; ``in_document`` asks a document."""

        def place(column: int) -> int | None:
            widget, offset = self.screen.get_widget_and_offset_at(column, y)
            if widget is None or offset is None:
                return None
            found = self._place_of(widget, offset)
            return in_document(widget, offset) if found is None and in_document is not None else found

        here, left = place(x), place(x - 1)
        text = "".join(token for token, _ in self.tokens)
        # Textual takes the second cell of a wide character for the next one.
        return left if here is not None and left is not None and cell_len(text[left : left + 1]) == 2 else here

    def _place_of(self, shown: Widget, offset: Offset) -> int | None:
        """Return the place in the text of the character that one of its chunks shows there."""
        before = 0
        for chunk in self._chunks:
            if chunk is shown:
                index = index_at(chunk.text, *offset)
                return None if index is None else before + index
            before += len(chunk.text) + 1
        return None

    @property
    def end_column(self) -> int:
        """The cell at which the last line ends; 0 if a document shows it."""
        return self._chunks[-1].end_column if self._chunks and not self._covered else 0

    def end(self) -> None:
        """Merge the chunks of a finished text, unless some are rendered: few are cheaper to lay out.

        Two stay, since more may follow: the blocks that have ended, which can be rendered then, and the rest.
        """
        if all(chunk.display for chunk in self._chunks):
            ended = [chunk for chunk in self._chunks if chunk.end is not None and chunk.end <= self.closed]
            self._chunks = [self._merged(part) for part in (ended, self._chunks[len(ended) :]) if part]

    def _merged(self, chunks: list[TextChunk]) -> TextChunk:
        first, *others = chunks
        for other in others:
            first.take(other)
            self.discard(other)
        if others:
            first.end = others[-1].end
            first.draw()
        return first

    def _ends_block(self, line: str) -> bool:
        mark = _FENCE.match(line)
        if self._fence:
            if mark and mark[1].startswith(self._fence):
                self._fence = ""
                return True
            return False
        self._fence = mark[1] if mark else ""
        return not line.strip()

    def _add(self, chunk: TextChunk, text: str, origin: TokenSource) -> None:
        self.tokens.append((text, origin))
        chunk.add(text, style_of(origin))

    def _begin(self) -> TextChunk:
        chunk = TextChunk()
        self._chunks.append(chunk)
        self.add(chunk)
        return chunk


def index_at(text: str, column: int, line: int) -> int | None:
    """Return the index of the character that is shown there, with tabs as spaces; None below the last line."""
    lines = text.split("\n")
    if line >= len(lines):
        return None
    shown = lines[line]
    index = next((i for i in range(len(shown)) if len(shown[: i + 1].expandtabs()) > column), len(shown))
    return sum(len(each) + 1 for each in lines[:line]) + index


def is_markdown(text: str) -> bool:
    """Return whether rendering improves a text and loses nothing (unfenced code would lose its indentation)."""
    outside, fence, fenced = [], "", False
    for line in text.splitlines():
        mark = _FENCE.match(line)
        if mark and not fence:
            fence, fenced = mark[1], True
        elif mark and mark[1].startswith(fence):
            fence = ""
        elif not fence:
            outside.append(line)
    rest = "\n".join(outside)
    has_list = re.search(r"^\s{0,3}([-*+]|\d{1,3}[.)]) +\S", rest, re.MULTILINE)
    if _INDENTED.search(rest) and not has_list:
        return False
    return fenced or _MARKS.search(rest) is not None
