"""Body of a reply: the answer tinted token by token, the thought before it folded to one line until it is opened."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.events import Click
from textual.widgets import Static

from lade_chat.presentation.metric_words import counted, seconds
from lade_chat.presentation.thought_splitter import Section, Sections, gap_behind_thought, sections_of
from lade_chat.protocol.inspection import TokenSource
from lade_chat.protocol.values import Piece
from lade_chat.tui.key_map import keys_of
from lade_chat.tui.reply.tinted_text import PlaceOf, TintedText
from lade_chat.tui.widgets.stack import Stack


class Thought(Vertical):
    """A folded thought: a dim line that a click or a key opens."""

    def __init__(self) -> None:
        super().__init__()
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
        self.text.display = wanted
        self._draw()

    def on_click(self, event: Click) -> None:
        if event.button == 1 and self.screen.get_selected_text() is None:
            self.open(not self.text.display)

    def _draw(self) -> None:
        mark, verb = ("▾", "folds") if self.text.display else ("▸", "opens")
        key = keys_of(self).first("toggle_thoughts")
        words = "thinking…" if self.running else "thought for"
        taken = f" in {seconds(self._seconds)}" if self._measured else ""
        tokens = counted(self._measured or self._tokens, "token")
        self._line.update(Content(f"{mark} {words} {tokens}{taken} · {key} {verb}"))


class ReplyBody(Stack):
    """The streamed text of a reply: a widget for its thought, if there is one, and one for its answer.

    What else belongs to the reply is added above and below the answer: few widgets within one another are soon drawn.
    """

    def __init__(self) -> None:
        super().__init__()
        self.text = ""
        """All that was said."""
        self.thought: Thought | None = None
        self.answer = TintedText()
        self.add(self.answer)
        self._sections = Sections()
        self._shown = 0
        """The number of characters that were processed."""
        self._pieces: deque[Piece] = deque()
        """Those not shown whole, and the place in the text where they begin."""
        self._begun = 0
        self._thoughts_open = False

    def extend(self, pieces: Iterable[Piece]) -> None:
        new = list(pieces)
        self.text += "".join(piece.text for piece in new)
        self._pieces += new
        self._advance()

    def end(self) -> None:
        """Show the text held back as a possible tag, since the stream has ended."""
        self._advance(final=True)
        self.answer.end()
        if self.thought is not None:
            self.thought.end()

    def reopen(self) -> None:
        """Accept more text after the end; a thought that was cut off continues."""
        if self.thought is not None and self._sections.thinking:
            self.thought.running = True

    def place_at(self, x: int, y: int, in_document: PlaceOf | None) -> int | None:
        """Return the place in the reply that a cell of the screen shows, if any; ``in_document`` asks a document."""
        for section in self._sections.parts:
            text = self.answer if self.thought is None or section.kind == "answer" else self.thought.text
            place = text.place_at(x, y, in_document if text is self.answer else None)
            if place is not None:  # a text ends where its section does
                return section.end - sum(len(token) for token, _ in text.tokens) + place
        return None

    def open_thoughts(self, wanted: bool) -> None:
        self._thoughts_open = wanted
        if self.thought is not None:
            self.thought.open(wanted)

    def _advance(self, *, final: bool = False) -> None:
        self._sections = sections_of(self.text, final=final)
        for section in self._sections.parts:
            if section.end > self._shown:
                self._part(section).extend(self._tokens(section))
                self._shown = section.end
        if self.thought is not None and self.thought.running and not self._sections.thinking:
            self.thought.end()

    def _part(self, section: Section) -> Thought | TintedText:
        """Return the widget of a section; a thought's is added as it begins."""
        if section.kind == "thought" and self.thought is None:
            self.thought = Thought()
            self.thought.open(self._thoughts_open)
            self.add(self.thought, before=self.answer)
        return self.answer if self.thought is None or section.kind == "answer" else self.thought

    def _tokens(self, section: Section) -> Iterator[tuple[str, TokenSource]]:
        """Yield a section's tokens not shown yet, without leading line breaks, nor the gap behind a thought."""
        text, start, end = self.text, max(section.start, self._shown), section.end
        if not text[section.start : start].strip("\n"):
            begun = text[start:end]
            is_first = not text[: section.start].strip()
            start += len(begun) - len(begun.lstrip("\n")) if is_first else gap_behind_thought(begun)
        while self._pieces and self._begun < end:
            piece = self._pieces[0]
            piece_end = self._begun + len(piece.text)
            if part := text[max(self._begun, start) : min(piece_end, end)]:
                yield part, piece.origin
            if piece_end > end:
                break
            self._pieces.popleft()
            self._begun = piece_end
