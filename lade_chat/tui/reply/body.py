"""Body of a reply: the answer tinted token by token, the thought before it folded to one line until it is opened."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.events import Click
from textual.widgets import Static

from lade_chat.presentation.metrics import counted, seconds
from lade_chat.presentation.thought_splitter import Section, ThoughtSplitter, gap_behind_thought
from lade_chat.protocol.inspection import TokenSource
from lade_chat.protocol.values import Piece
from lade_chat.tui.reply.tinted_text import TintedText
from lade_chat.tui.terminal.key_names import keys_of
from lade_chat.tui.widgets.stack import Stack


class TokenSpan(NamedTuple):
    """One token's characters ``[start, end)`` in the reply; empty for a special or unfinished token."""

    start: int
    end: int
    origin: TokenSource
    step: int


class ReplyText:
    """The text and token spans of a reply, append-only; colours, copies and storage are derived from it."""

    def __init__(self) -> None:
        self.text = ""
        self.spans: list[TokenSpan] = []

    def append(self, pieces: Iterable[Piece]) -> None:
        for piece in pieces:
            start = len(self.text)
            self.text += piece.text
            self.spans.append(TokenSpan(start, len(self.text), piece.origin, piece.step))


class Thought(Vertical):
    """A folded thought: a dim line that a click or a key opens."""

    def __init__(self) -> None:
        super().__init__()
        self.is_open = False
        self.running = True
        self._tokens = self._measured = 0
        self._seconds = 0.0
        self._line = Static(markup=False, classes="thought-line")
        self.text = TintedText(classes="thought-text")
        self.text.display = False

    def compose(self) -> ComposeResult:
        yield self._line
        yield self.text

    def on_mount(self) -> None:
        self._draw()

    def extend(self, tokens: Iterable[tuple[str, TokenSource]]) -> None:
        new = list(tokens)
        self._tokens += len(new)
        self.text.extend(new)
        self._draw()

    def measure(self, tokens: int, seconds: float) -> None:
        """Take over the engine's own figures; 0 tokens for a thought that it knows nothing of."""
        self._measured, self._seconds = tokens, seconds
        self._draw()

    def end(self) -> None:
        self.running = False
        self.text.end()
        self._draw()

    def open(self, wanted: bool) -> None:
        self.is_open = wanted
        self.text.display = wanted
        self._draw()

    def on_click(self, event: Click) -> None:
        if event.button == 1 and self.screen.get_selected_text() is None:
            self.open(not self.is_open)

    def _draw(self) -> None:
        mark, verb = ("▾", "folds") if self.is_open else ("▸", "opens")
        key = keys_of(self).first("toggle_thoughts")
        words = "thinking…" if self.running else "thought for"
        taken = f" in {seconds(self._seconds)}" if self._measured else ""
        tokens = counted(self._measured or self._tokens, "token")
        self._line.update(Content(f"{mark} {words} {tokens}{taken} · {key} {verb}"))


class ReplyBody(Stack):
    """The streamed text of a reply: one widget for its thought, if there is one, and one for its answer."""

    def __init__(self) -> None:
        super().__init__()
        self.reply = ReplyText()
        self.parts: list[tuple[Section, Thought | TintedText]] = []
        self._splitter = ThoughtSplitter()
        self._cursor = 0
        self._thoughts_open = False

    def extend(self, pieces: Iterable[Piece]) -> None:
        self.reply.append(pieces)
        self._advance()

    def end(self) -> None:
        """Show the text held back as a possible tag, since the stream has ended."""
        self._advance(final=True)
        for _, part in self.parts:
            part.end()

    def reopen(self) -> None:
        """Accept more text after the end; a thought that was cut off continues."""
        if self._splitter.thinking and self.parts and isinstance(thought := self.parts[-1][1], Thought):
            thought.running = True

    @property
    def end_column(self) -> int:
        """The cell at which the text ends; 0 in a thought."""
        last = self.parts[-1][1] if self.parts else None
        return last.end_column if isinstance(last, TintedText) else 0

    @property
    def texts(self) -> list[TintedText]:
        """The text of each part."""
        return [part.text if isinstance(part, Thought) else part for _, part in self.parts]

    def place_of(self, text: TintedText, place: int) -> int:
        """Return the place in the reply of a character of one of its parts; these end where their sections do."""
        section, _ = self.parts[self.texts.index(text)]
        return section.end - sum(len(token) for token, _ in text.tokens) + place

    @property
    def has_thoughts(self) -> bool:
        return any(isinstance(part, Thought) for _, part in self.parts)

    def measure_thought(self, tokens: int, seconds: float) -> None:
        """Tell how many tokens the thought has taken, and how long; 0 for one that was not measured."""
        for _, part in self.parts:
            if isinstance(part, Thought):
                part.measure(tokens, seconds)

    def open_thoughts(self, wanted: bool) -> None:
        self._thoughts_open = wanted
        for _, part in self.parts:
            if isinstance(part, Thought):
                part.open(wanted)

    def _advance(self, *, final: bool = False) -> None:
        self._splitter.advance(self.reply.text, final=final)
        for index, section in enumerate(self._splitter.sections):
            if index < len(self.parts):
                shown, part = self.parts[index]
            else:
                shown, part = section._replace(end=section.start), self._begin(section)
                self.parts.append((shown, part))
            if section.end > shown.end:
                part.extend(self._tokens(shown, section))
                self.parts[index] = (section, part)
        if self.parts and not self._splitter.thinking and isinstance(self.parts[-1][1], Thought):
            self.parts[-1][1].end()

    def _begin(self, section: Section) -> Thought | TintedText:
        if self.parts and isinstance(self.parts[-1][1], Thought):
            self.parts[-1][1].end()
        part: Thought | TintedText
        if section.kind == "thought":
            part = Thought()
            part.open(self._thoughts_open)
        else:
            part = TintedText()
        self.add(part)
        return part

    def _tokens(self, shown: Section, section: Section) -> Iterable[tuple[str, TokenSource]]:
        """Return a section's tokens not shown yet, without leading line breaks, nor the gap behind a thought."""
        start, end = shown.end, section.end
        text = self.reply.text
        if not text[section.start : start].strip("\n"):
            begun = text[start:end]
            is_first = not text[: section.start].strip()
            start += len(begun) - len(begun.lstrip("\n")) if is_first else gap_behind_thought(begun)
        spans = self.reply.spans
        while self._cursor < len(spans) and spans[self._cursor].end <= start:
            self._cursor += 1
        for index in range(self._cursor, len(spans)):
            span = spans[index]
            if span.start >= end:
                break
            if part := text[max(span.start, start) : min(span.end, end)]:
                yield part, span.origin
