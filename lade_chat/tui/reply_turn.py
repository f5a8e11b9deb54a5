"""The model's turn: tinted text as it streams in, thoughts folded, and its figures when it has ended."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from textual.content import Content
from textual.events import Resize
from textual.widgets import Static

from lade_chat.figures import Part, pack, reply_parts, summary
from lade_chat.protocol import FinishReason, Origin, Piece, Statistics
from lade_chat.sanitize import printable
from lade_chat.store.values import Turn as KeptTurn
from lade_chat.tui.figure_line import FigureLine
from lade_chat.tui.markdown_text import is_markdown
from lade_chat.tui.reply_text import ReplyText
from lade_chat.tui.stack import Stack
from lade_chat.tui.thinking import Section, ThoughtSplitter
from lade_chat.tui.thought import Thought
from lade_chat.tui.tinted_text import TintedText
from lade_chat.tui.turn import Turn

if TYPE_CHECKING:
    from lade_chat.tui.markdown_reply import MarkdownReply


class PackedLine(Static):
    """Several figures that all stay, broken into lines only between them."""

    def __init__(self, items: list[str], classes: str) -> None:
        super().__init__(markup=False, classes=classes)
        self._items = items

    def on_resize(self, event: Resize) -> None:
        self.update(Content(pack(self._items, event.size.width)))


class ReplyTurn(Turn):
    """Feed it pieces in order, then end it once. Then it is Markdown, if ``rendered`` is wished."""

    speaker = "Model"

    def __init__(self, *, rendered: bool = True) -> None:
        self._stack = Stack()
        super().__init__(self._stack)
        self.reply = ReplyText()
        self._splitter = ThoughtSplitter()
        self._recast = 0
        self._thoughts_open = False
        self._statistics = Statistics()
        self._parts: list[tuple[Section, Thought | TintedText]] = []
        self._cursor = 0
        self._marks: Stack | None = None
        self._rendered = rendered
        self._ended = False
        self._documents: dict[TintedText, MarkdownReply] = {}

    def add(self, pieces: Iterable[Piece], statistics: Statistics) -> None:
        """Show more of the reply, and mark where lookahead was switched."""
        if self.reply.spans and statistics.lookahead != self._statistics.lookahead:
            state = "ON" if statistics.lookahead else "OFF"
            self._mark(f"lookahead switched {state} after {self._statistics.generated_tokens} tokens")
        self._statistics = statistics
        self.reply.append(pieces)
        self._advance()

    def end(self, reason: FinishReason, statistics: Statistics, *, debug: bool) -> None:
        """The reply is complete: show what was kept back, its figures, and in debug mode its SUMMARY."""
        self._finish()
        self._stack.add(FigureLine(reply_parts(statistics, reason), classes="figures"))
        if debug:
            self._stack.add(PackedLine(summary(statistics), classes="summary"))

    def restore(self, turn: KeptTurn) -> bool:
        """Show a reply as it was told when it was given; False if it never came to anything."""
        statistics = turn.statistics or Statistics()
        self.add(turn.pieces(), statistics)
        self._finish()
        if turn.statistics is not None:
            self._stack.add(FigureLine(kept_parts(turn), classes="figures"))
        return bool(turn.reply) or turn.ending not in (None, "failed")

    def break_off(self) -> None:
        """The reply ends here without its figures; what was said stays."""
        self._finish()

    @property
    def has_thoughts(self) -> bool:
        return any(isinstance(part, Thought) for _, part in self._parts)

    def open_thoughts(self, wanted: bool) -> None:
        self._thoughts_open = wanted
        for _, part in self._parts:
            if isinstance(part, Thought):
                part.open(wanted)

    def _mark(self, text: str) -> None:
        """A line below what is said, which may still grow."""
        if self._marks is None:
            self._marks = Stack()
            self._stack.add(self._marks)
        self._marks.add(Static(Content(printable(text)), markup=False, classes="mark"))

    def _finish(self) -> None:
        self._advance(final=True)
        for _, part in self._parts:
            part.end()
        self._ended = True
        self.show_rendered(self._rendered)

    def show_rendered(self, wanted: bool) -> None:
        """As Markdown, or token by token; of a running reply the tokens."""
        self._rendered = wanted
        if not self._ended:
            return
        for section, part in self._parts:
            if isinstance(part, TintedText):
                self._show_part(section, part)

    def _show_part(self, section: Section, part: TintedText) -> None:
        document = self._documents.get(part)
        if document is None and self._rendered and is_markdown(self.reply.text[section.start : section.end]):
            from lade_chat.tui.markdown_reply import MarkdownReply  # 50 ms that the first paint need not wait for

            document = MarkdownReply(self._tokens_of(section), lambda: self._switch(part))
            document.display = False  # until all of it is there
            self._documents[part] = document
            self._stack.add(document, after=part)
        elif document is not None:
            self._switch(part)

    def _switch(self, part: TintedText) -> None:
        part.display = not self._rendered
        self._documents[part].display = self._rendered

    def _tokens_of(self, section: Section) -> list[tuple[str, Origin]]:
        """The tokens of a whole section."""
        self._cursor = 0
        return list(self._tokens(section._replace(end=section.start), section))

    def _advance(self, *, final: bool = False) -> None:
        self._splitter.advance(self.reply.text, final=final)
        if self._splitter.recast != self._recast:
            self._recast = self._splitter.recast
            for _, part in self._parts:
                self._stack.discard(part)
            self._parts.clear()
            self._cursor = 0
        for index, section in enumerate(self._splitter.sections):
            if index < len(self._parts):
                shown, part = self._parts[index]
            else:
                shown, part = section._replace(end=section.start), self._begin(section)
                self._parts.append((shown, part))
            if section.end > shown.end:
                part.extend(self._tokens(shown, section))
                self._parts[index] = (section, part)
        if self._parts and not self._splitter.thinking and isinstance(self._parts[-1][1], Thought):
            self._parts[-1][1].end()

    def _begin(self, section: Section) -> Thought | TintedText:
        if self._parts and isinstance(self._parts[-1][1], Thought):
            self._parts[-1][1].end()
        part: Thought | TintedText
        if section.kind == "thought":
            part = Thought()
            part.open(self._thoughts_open)
        else:
            part = TintedText()
        self._stack.add(part, before=self._marks)
        return part

    def _tokens(self, shown: Section, section: Section) -> Iterable[tuple[str, Origin]]:
        """The tokens of a section from where it has been shown; line breaks at its beginning are left out."""
        start, end = shown.end, section.end
        text = self.reply.text
        if not text[section.start : start].strip("\n"):
            while start < end and text[start] == "\n":
                start += 1
        spans = self.reply.spans
        while self._cursor < len(spans) and spans[self._cursor].end <= start:
            self._cursor += 1
        for index in range(self._cursor, len(spans)):
            span = spans[index]
            if span.start >= end:
                break
            if part := text[max(span.start, start) : min(span.end, end)]:
                yield part, span.origin


def kept_parts(turn: KeptTurn) -> list[Part]:
    """A stored reply's figures, with why it ended."""
    statistics = turn.statistics or Statistics()
    if turn.ending is not None and turn.ending != "failed":
        return reply_parts(statistics, turn.ending)
    return [*reply_parts(statistics, "eos")[:-1], Part(2, ("broken off",))]
