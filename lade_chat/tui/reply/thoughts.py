"""Thoughts of a reply (``<think>…</think>``): split from the stream, folded to one line until opened."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple, TypeAlias

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from lade_chat.presentation.metrics import counted
from lade_chat.protocol.inspection import Origin
from lade_chat.tui.reply.tinted_text import TintedText
from lade_chat.tui.terminal.key_names import keys_of

Kind: TypeAlias = Literal["answer", "thought"]

OPENING = "<think>"
CLOSING = "</think>"


class Section(NamedTuple):
    """Characters ``[start, end)`` of the reply, the tags left out."""

    kind: Kind
    start: int
    end: int


class ThoughtSplitter:
    """Splits a growing text into answers and thoughts; a possibly incomplete tag at its end is held back.

    Some chat templates open the thought in the prompt, so that a reply begins inside it. A closing tag without an
    opening one therefore turns everything before it into a thought, and ``recast`` counts such reclassifications.
    """

    def __init__(self) -> None:
        self.sections: list[Section] = []
        self.recast = 0
        self._kind: Kind = "answer"
        self._done = 0

    @property
    def thinking(self) -> bool:
        """True while the text ends inside a thought."""
        return self._kind == "thought"

    def advance(self, text: str, *, final: bool = False) -> None:
        """Process the whole text so far, which extends the previous one; ``final`` releases the text held back."""
        while (found := self._next_tag(text)) is not None:
            position, tag = found
            self._extend(position)
            self._done = position + len(tag)
            if tag == OPENING:
                self._kind = "thought"
                continue
            if self._kind == "answer":
                self.sections = [Section("thought", 0, position)]
                self.recast += 1
            self._kind = "answer"
        self._extend(len(text) if final else len(text) - _kept_back(text, self._done))

    def _next_tag(self, text: str) -> tuple[int, str] | None:
        """Return the next effective tag. An unmatched closing tag counts only before the first thought."""
        candidates = [(text.find(CLOSING, self._done), CLOSING)] if self._closing_counts() else []
        if self._kind == "answer":
            candidates.append((text.find(OPENING, self._done), OPENING))
        found = [candidate for candidate in candidates if candidate[0] >= 0]
        return min(found) if found else None

    def _closing_counts(self) -> bool:
        return self._kind == "thought" or all(section.kind == "answer" for section in self.sections)

    def _extend(self, end: int) -> None:
        if end <= self._done:
            return
        last = self.sections[-1] if self.sections else None
        if last is not None and last.kind == self._kind and last.end == self._done:
            self.sections[-1] = last._replace(end=end)
        else:
            self.sections.append(Section(self._kind, self._done, end))
        self._done = end


def _kept_back(text: str, start: int) -> int:
    """Return the number of characters at the end of ``text`` that may begin a tag."""
    for length in range(min(len(CLOSING) - 1, len(text) - start), 0, -1):
        tail = text[-length:]
        if OPENING.startswith(tail) or CLOSING.startswith(tail):
            return length
    return 0


class Thought(Vertical):
    """A folded thought: a dim line that a click or a key opens."""

    def __init__(self) -> None:
        super().__init__()
        self.is_open = False
        self.running = True
        self._tokens = 0
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
        self._line.update(Content(f"{mark} {words} {counted(self._tokens, 'token')} · {key} {verb}"))
