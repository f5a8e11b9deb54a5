"""Incremental splitter of a streamed reply into thoughts (``<think>…</think>``) and answer."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

Kind: TypeAlias = Literal["answer", "thought"]

OPENING = "<think>"
CLOSING = "</think>"


class Section(NamedTuple):
    """Characters ``[start, end)`` of the reply, the tags left out."""

    kind: Kind
    start: int
    end: int


class ThoughtSplitter:
    """Feed it the whole text so far; it keeps back an end that may turn out to be a tag.

    Some chat templates open the thought themselves, so that a reply begins inside it: then a closing tag
    without an opening one makes everything before it a thought, and ``recast`` counts such changes of mind.
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
        """Take in ``text``, which begins with what was seen before; ``final`` gives up what was kept back."""
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
        """The next tag that means something here. A stray closing tag does so only before any thought."""
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
