"""Tells a reply's thought from its answer, and what to say of a reply without an answer.

The engine writes the thought of every model at the very beginning of the reply between ``<think>`` and ``</think>``
(`engine/text/thought_normalizer.py`), whatever delimiters it has (`loading/text/thinking.py` finds them). Elsewhere
these tags are text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple, TypeAlias

import msgspec

from lade_chat.presentation.metric_words import counted
from lade_chat.protocol.values import Piece

SpanKind: TypeAlias = Literal["answer", "thought"]

OPENING = "<think>"
CLOSING = "</think>"
_GAP = re.compile(r"\n*(?: (?!\s))?")


class Section(NamedTuple):
    """Characters ``[start, end)`` of the reply, the tags left out."""

    kind: SpanKind
    start: int
    end: int


class Sections(NamedTuple):
    """The thought and the answer of a reply so far; an empty thought does not count as one."""

    parts: tuple[Section, ...] = ()
    thinking: bool = False
    """True while the reply ends inside a thought."""


def sections_of(text: str, *, final: bool = False) -> Sections:
    """Tell a growing reply's thought from its answer; what may begin a tag at its end is held back until ``final``."""
    begun = text.lstrip()
    if not begun.startswith(OPENING):
        may_begin = not final and OPENING.startswith(begun)
        return Sections((Section("answer", 0, len(text)),) if text and not may_begin else ())
    start = len(text) - len(begun) + len(OPENING)
    end = text.find(CLOSING, start)
    answer, thinking = end + len(CLOSING), end < 0
    if thinking:
        end, answer = len(text) - (0 if final else partial_match_length(text[start:], (CLOSING,))), len(text)
    thought = (Section("thought", start, end),) if text[start:end].strip() else ()
    return Sections((*thought, Section("answer", answer, len(text))) if answer < len(text) else thought, thinking)


def partial_match_length(text: str, strings: Iterable[str]) -> int:
    """Return the length of the longest end of ``text`` that begins one of the strings without completing it."""
    wanted = list(strings)
    longest = max(map(len, wanted), default=1) - 1
    for length in range(min(longest, len(text)), 0, -1):
        tail = text[-length:]
        if any(string.startswith(tail) and len(string) > length for string in wanted):
            return length
    return 0


class SplitReply(NamedTuple):
    """A reply's thought and answer, exactly as they stand between and behind the tags."""

    thought: str
    answer: str
    is_open: bool
    """The thought has no end yet."""


def split_reply(text: str) -> SplitReply:
    """Split a whole reply."""
    begun = text.lstrip()
    if not begun.startswith(OPENING):
        return SplitReply("", text, False)
    thought, closing, answer = begun.removeprefix(OPENING).partition(CLOSING)
    return SplitReply(thought, answer, not closing)


def gap_behind_thought(text: str) -> int:
    """Return the number of characters before an answer's first: line breaks, and one blank that indents nothing."""
    found = _GAP.match(text)
    return found.end() if found is not None else 0


def answer_of(text: str) -> str:
    """Return a reply's answer alone, without the gap between it and a thought."""
    answer = split_reply(text).answer
    return text if answer is text else answer[gap_behind_thought(answer) :]


class AnswerStream:
    """Cuts the thought out of a stream of pieces; each piece stays, perhaps with an empty text."""

    def __init__(self) -> None:
        self._held: list[Piece] = []
        self._begun = False

    def push(self, pieces: Iterable[Piece], *, final: bool = False) -> Sequence[Piece]:
        """Take the next pieces; returns those that may be shown. With ``final``, none follow."""
        if self._begun:
            return list(pieces)
        self._held.extend(pieces)
        text = "".join(piece.text for piece in self._held)
        start = next((each.start for each in sections_of(text, final=final).parts if each.kind == "answer"), None)
        if start is not None and text[:start].strip():
            start += gap_behind_thought(text[start:])
            start = start if start < len(text) else None
        if start is None and not final:
            return ()
        self._begun = start is not None
        cut, start = list[Piece](), len(text) if start is None else start
        for piece in self._held:
            cut.append(msgspec.structs.replace(piece, text=piece.text[max(0, start) :]))
            start -= len(piece.text)
        self._held = []
        return cut


def nothing_said(text: str, ending: str | None, tokens: int) -> str:
    """Return the line, empty if there is a text or the user stopped it; ``tokens``: all, the end of reply included."""
    split = split_reply(text)
    if split.answer.strip() or ending not in ("eos", "length", "stop"):
        return ""
    if ending == "stop":
        return "no text: a stop string came first"
    if split.thought.strip():
        return f"no answer: the model's {counted(tokens, 'token')} are all a thought"
    if tokens <= 1 and ending == "eos":
        return "the model ended at once, without a word"
    return f"no text in the model's {counted(tokens, 'token')}: special, unprintable or blank"
