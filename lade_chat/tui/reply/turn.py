"""The model's turn: tinted text while it streams, folded thoughts, and metrics at the end."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from textual.content import Content
from textual.events import Resize
from textual.widgets import Static

from lade_chat.presentation.metrics import Part, pack, reply_parts, summary
from lade_chat.presentation.sanitize import printable
from lade_chat.protocol.values import FinishReason, Piece, Statistics
from lade_chat.store.values import Turn as KeptTurn
from lade_chat.tui.reply.body import ReplyBody
from lade_chat.tui.reply.markdown_check import is_markdown
from lade_chat.tui.reply.text import ReplyText
from lade_chat.tui.reply.thought_splitter import Section
from lade_chat.tui.reply.tinted_text import TintedText
from lade_chat.tui.transcript.turn import Turn
from lade_chat.tui.widgets.metric_line import FigureLine
from lade_chat.tui.widgets.stack import Stack
from lade_chat.tui.widgets.tooltips import explain

if TYPE_CHECKING:
    from lade_chat.tui.reply.markdown_reply import MarkdownReply


class PackedLine(Static):
    """Several figures that all stay, broken into lines only between them."""

    def __init__(self, items: list[str], classes: str) -> None:
        super().__init__(markup=False, classes=classes)
        self._items = items
        explain(self, "summary")

    def on_resize(self, event: Resize) -> None:
        self.update(Content(pack(self._items, event.size.width)))


class ReplyTurn(Turn):
    """Feed it pieces in order, then end it once. Then it is Markdown, if ``rendered`` is wished."""

    speaker = "Model"

    def __init__(self, *, rendered: bool = True) -> None:
        self._stack = Stack()
        super().__init__(self._stack)
        self._body = ReplyBody()
        self._stack.add(self._body)
        self._statistics = Statistics()
        self._marks: Stack | None = None
        self._rendered = rendered
        self._ended = False
        self._documents: dict[TintedText, MarkdownReply] = {}
        self._figures: list[FigureLine] = []

    def add(self, pieces: Iterable[Piece], statistics: Statistics) -> None:
        """Show more of the reply, and mark where lookahead was switched."""
        if self._body.reply.spans and statistics.lookahead != self._statistics.lookahead:
            state = "ON" if statistics.lookahead else "OFF"
            self._mark(f"lookahead switched {state} after {self._statistics.generated_tokens} tokens")
        self._statistics = statistics
        self._body.extend(pieces)

    def end(self, reason: FinishReason, statistics: Statistics, *, debug: bool) -> None:
        """The reply is complete: show what was kept back, its figures, and in debug mode its SUMMARY."""
        self._finish()
        self._add_figures(reply_parts(statistics, reason))
        if debug:
            self._stack.add(PackedLine(summary(statistics), classes="summary"))

    def go_on(self) -> None:
        """Reopen an ended reply: further tokens are appended to it."""
        self._ended = False
        for part, document in self._documents.items():
            self._body.discard(document)
            part.display = True
        self._documents.clear()
        for line in self._figures:
            line.display = False
        self._body.go_on()

    def restore(self, turns: Sequence[KeptTurn]) -> bool:
        """Show a reply as it was told when it was given, with all that went on from it.

        False if it never came to anything.
        """
        for turn in turns:
            self.add(turn.pieces(), turn.statistics or Statistics())
        self._finish()
        for turn in turns:
            if turn.statistics is not None:
                self._add_figures(kept_parts(turn))
        return any(turn.reply or turn.ending not in (None, "failed") for turn in turns)

    def break_off(self) -> None:
        """The reply ends here without its figures; what was said stays."""
        self._finish()

    @property
    def has_thoughts(self) -> bool:
        return self._body.has_thoughts

    def open_thoughts(self, wanted: bool) -> None:
        self._body.open_thoughts(wanted)

    @property
    def reply(self) -> ReplyText:
        """All that was said."""
        return self._body.reply

    def _add_figures(self, parts: list[Part]) -> None:
        line = FigureLine(parts, classes="figures")
        self._figures.append(line)
        self._stack.add(line)

    def _mark(self, text: str) -> None:
        """A line below what is said, which may still grow."""
        if self._marks is None:
            self._marks = Stack()
            self._stack.add(self._marks)
        self._marks.add(Static(Content(printable(text)), markup=False, classes="mark"))

    def _finish(self) -> None:
        self._body.end()
        for line in self._figures:
            line.display = True
        self._ended = True
        self.show_rendered(self._rendered)

    def show_rendered(self, wanted: bool) -> None:
        """As Markdown, or token by token; of a running reply the tokens."""
        self._rendered = wanted
        if not self._ended:
            return
        for section, part in self._body.parts:
            if isinstance(part, TintedText):
                self._show_part(section, part)

    def _show_part(self, section: Section, part: TintedText) -> None:
        document = self._documents.get(part)
        if document is None and self._rendered and is_markdown(self.reply.text[section.start : section.end]):
            from lade_chat.tui.reply.markdown_reply import MarkdownReply  # 50 ms that the first paint need not wait for

            document = MarkdownReply(self._body.tokens_of(section), lambda: self._switch(part))
            document.display = False  # until all of it is there
            self._documents[part] = document
            self._body.add(document, after=part)
        elif document is not None:
            self._switch(part)

    def _switch(self, part: TintedText) -> None:
        part.display = not self._rendered
        self._documents[part].display = self._rendered


def kept_parts(turn: KeptTurn) -> list[Part]:
    """A stored reply's figures, with why it ended."""
    statistics = turn.statistics or Statistics()
    if turn.ending is not None and turn.ending != "failed":
        return reply_parts(statistics, turn.ending)
    return [*reply_parts(statistics, "eos")[:-1], Part(2, ("broken off",))]
