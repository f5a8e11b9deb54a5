"""Writes a model's thoughts between ``<think>`` and ``</think>`` at the reply's beginning, whatever its delimiters."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any, Literal, NamedTuple, TypeAlias

import msgspec

from lade_chat.loading.text.thinking import NAME, Thinking
from lade_chat.presentation.thought_splitter import CLOSING, OPENING, answer_of, partial_match_length, split_reply
from lade_chat.protocol.values import Message, Piece

Begin: TypeAlias = Literal["reply", "opened", "thought", "answer"]
"""Where a reply begins: at its start, in a thought that the prompt has opened, or where a continued one was cut off."""

_SPACES = 8
_GUARDED = CLOSING.replace("/", "/\N{WORD JOINER}")
"""Looks like the closing tag, and stands for it in a thought that is closed otherwise."""


class _Delimiter(NamedTuple):
    """A delimiter of the model's, the text written for it, and what follows it."""

    text: str
    written: str
    then: Begin


class ThoughtNormalizer:
    """Rewrites the delimiters in a stream of pieces, and holds back text that may begin one.

    Delimiters count at the reply's beginning, behind white space, and until the thought has ended.

    Attributes:
        delimiter_tokens: the number of tokens that ended a thought or began another; they do not count as thought.
    """

    def __init__(self, thinking: Thinking, begin: Begin) -> None:
        self._delimiters: dict[Begin, list[_Delimiter]] = {
            "reply": [_Delimiter(thinking.opening, OPENING, "thought"), _Delimiter(thinking.answer, "", "answer")],
            "thought": [_Delimiter(thinking.closing, CLOSING, "answer"), _Delimiter(thinking.again, "\n\n", "thought")],
        }
        if thinking.closing != CLOSING:
            self._delimiters["thought"].append(_Delimiter(CLOSING, _GUARDED, "thought"))
        self._opening = OPENING if begin == "opened" else ""
        self._place: Begin = "thought" if begin == "opened" else begin
        self.delimiter_tokens = 0
        self._held: list[Piece] = []
        self._done = 0
        """Characters held that are rewritten."""

    @property
    def expects_delimiter(self) -> bool:
        """True until the answer has begun."""
        return self._place != "answer"

    @property
    def is_thinking(self) -> bool:
        return self._place == "thought"

    @property
    def is_holding(self) -> bool:
        return bool(self._held)

    def push(self, piece: Piece) -> Sequence[Piece]:
        """Take the next piece; returns the pieces that may be shown, each of them one token's."""
        if not self.expects_delimiter and not self._held:
            return (piece,)
        if piece.text and self._opening:
            piece, self._done = msgspec.structs.replace(piece, text=self._opening + piece.text), len(self._opening)
            self._opening = ""
        self._held.append(piece)
        while self._rewrite():
            pass
        return self._release(len(self._text) - self._held_back())

    def finish(self) -> Sequence[Piece]:
        """Release the pieces still held back, at the end of the reply; half a delimiter of tokens is no text."""
        text = self._text
        cut = len(text) - self._held_back()
        if NAME.match(text, cut):
            self._replace(cut, len(text), "")
        return self._release(len(text), final=True)

    @property
    def _text(self) -> str:
        return "".join(piece.text for piece in self._held)

    def _rewrite(self) -> bool:
        """Rewrite the next delimiter; False if there is none."""
        text, found = self._text, None
        for each in self._delimiters.get(self._place, ()):
            start = text.find(each.text, self._done) if each.text else -1
            if start >= 0 and (found is None or start < found[0]):
                found = start, each
        if self._place == "reply" and (begun := text[self._done :].lstrip()):
            start = len(text) - len(begun)
            if found is None or found[0] != start:
                may_follow = any(each.text.startswith(begun) for each in self._delimiters["reply"])
                self._place = "reply" if may_follow else "answer"
                return False
        if found is None:
            return False
        if self._place == "thought" and found[1].written != _GUARDED:
            places = accumulate((len(piece.text) for piece in self._held[:-1]), initial=0)
            self.delimiter_tokens += sum(found[0] <= begun < found[0] + len(found[1].text) for begun in places)
        self._replace(found[0], found[0] + len(found[1].text), found[1].written)
        self._done, self._place = found[0] + len(found[1].written), found[1].then
        return True

    def _replace(self, start: int, end: int, written: str) -> None:
        """Replace these characters; what is written belongs to the token that ends the delimiter."""
        place = 0
        for index, piece in enumerate(self._held):
            first, place = place, place + len(piece.text)
            head, tail = piece.text[: max(0, start - first)], piece.text[max(0, end - first) :]
            middle = written if first < end <= place else ""
            if first < end and place > start:
                self._held[index] = msgspec.structs.replace(piece, text=head + middle + tail)

    def _held_back(self) -> int:
        texts = [each.text for each in self._delimiters.get(self._place, ())]
        return partial_match_length(self._text[self._done :], texts)

    def _release(self, length: int, *, final: bool = False) -> list[Piece]:
        """Release the pieces within the first ``length`` characters.

        In a thought, pieces without a text wait for the next one: they may begin a character of its delimiter.
        """
        released: list[Piece] = []
        while self._held and len(self._held[0].text) <= length:
            length -= len(self._held[0].text)
            released.append(self._held.pop(0))
        while self.is_thinking and not final and released and not released[-1].text:
            self._held.insert(0, released.pop())
        self._done = max(0, self._done - sum(len(piece.text) for piece in released))
        return released


class BegunReply:
    """A reply to be continued, as the model itself would have begun it."""

    def __init__(self, text: str, thinking: Thinking) -> None:
        self._thinking = thinking
        self._split = split_reply(text)
        self.begin: Begin = "thought" if self._split.is_open else "answer"

    @property
    def has_thought(self) -> bool:
        return self._split.is_open or bool(self._split.thought)

    @property
    def message(self) -> Message:
        """The reply with its thought apart, character for character."""
        return Message("assistant", self._split.answer, self._split.thought.replace(_GUARDED, CLOSING))

    def after(self, prompt: str, reply: Message) -> str:
        """Return the prompt with the begun reply, which is ``message`` with control tokens guarded."""
        is_thoughtless = not (reply.thought or self._split.is_open)
        opening = "" if is_thoughtless or self._thinking.is_opened_by(prompt) else self._thinking.opening
        closing = "" if is_thoughtless or self._split.is_open else self._thinking.closing
        return prompt + opening + reply.thought + closing + reply.content


def begin_after(ids: Sequence[int], tokenizer: Any, thinking: Thinking) -> Begin:
    """Return where a reply begins after a prompt."""
    # Of its opening every character may be a token, and white space may follow.
    end = tokenizer.decode(ids[-len(thinking.opening) - _SPACES :], skip_special_tokens=False)
    return "opened" if thinking.is_opened_by(end) else "reply"


def split_begun(messages: Sequence[Message], thinking: Thinking) -> tuple[list[Message], BegunReply | None]:
    """Return the messages, each reply's thought apart, without a last reply that is to be continued; and that."""
    earlier, begun = list(messages), None
    if earlier[-1].role == "assistant":
        begun = BegunReply(earlier.pop().content, thinking)
    return [_split_thought(message) for message in earlier], begun


def _split_thought(message: Message) -> Message:
    split = split_reply(message.content)
    if message.role != "assistant" or split.answer is message.content:
        return message
    return Message(message.role, answer_of(message.content), split.thought.strip("\n").replace(_GUARDED, CLOSING))


def in_template(message: Message) -> dict[str, str]:
    """A message as chat templates read it; where a thought is kept, it has one of two names."""
    thoughts = dict.fromkeys(("reasoning_content", "thinking"), message.thought) if message.thought else {}
    return {"role": message.role, "content": message.content, **thoughts}
