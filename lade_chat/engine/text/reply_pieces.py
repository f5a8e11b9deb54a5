"""Turns a reply's tokens into pieces of text, up to a stop string, however tokens split that."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from decoding import Detokenizer, FinishReason, Step
from lade_chat.engine.prompt_builder import Prompt
from lade_chat.engine.text.control_tokens import UNREADABLE
from lade_chat.engine.text.thought_normalizer import Begin, ThoughtNormalizer
from lade_chat.loading.model_loader import LoadedModel
from lade_chat.presentation.thought_splitter import CLOSING, OPENING, partial_match_length
from lade_chat.protocol.values import Piece


class StopStrings:
    """Filters a stream of pieces: cuts it at the first stop string, and holds back text that may begin one.

    The first stop string is the one completed first, so that the result does not depend on token boundaries. A thought
    at the reply's beginning, whose tags are each within a piece, and white space behind it are not searched.
    """

    def __init__(self, stop_strings: Iterable[str], begin: Begin = "answer") -> None:
        self._stops = [stop for stop in stop_strings if stop]
        self._place: Begin | None = begin
        """None behind a thought, before the answer."""
        self._held: list[Piece] = []
        self._skipped = 0
        """Characters held that are not searched."""
        self.reached = False

    def __bool__(self) -> bool:
        """Return True if there is any stop string."""
        return bool(self._stops)

    def push(self, piece: Piece) -> Sequence[Piece]:
        """Take the next piece; returns the pieces that may be shown, cut before a stop string."""
        if self.reached:
            return [msgspec.structs.replace(piece, text="")]
        if not self._stops:
            return [piece]
        if self._place != "answer" and (begin := self._answer_begin(piece.text)):
            self._skipped = len(self._held_text()) + begin
        self._held.append(piece)
        text = self._held_text()
        ends = ((at + len(stop), at) for stop in self._stops if (at := text.find(stop, self._skipped)) >= 0)
        found = min(ends, default=None)
        if found is not None:
            self.reached = True
            return self._release(found[1], everything=True)
        return self._release(len(text) - partial_match_length(text[self._skipped :], self._stops))

    def _answer_begin(self, text: str) -> int:
        """Return how many characters of the next text belong to a thought, or stand behind it."""
        begin = 0
        if self._place in ("reply", "opened") and (begun := text.lstrip()):
            self._place = "thought" if begun.startswith(OPENING) else "answer"
        if self._place == "thought":
            end = text.find(CLOSING)
            begin, self._place = (len(text), "thought") if end < 0 else (end + len(CLOSING), None)
        if self._place is None:
            begin = len(text) - len(text[begin:].lstrip())
            self._place = "answer" if begin < len(text) else None
        return begin

    def reached_by(self, text: str) -> bool:
        """Return True if ``text`` after the pieces so far would complete a stop string."""
        text = self._held_text() + text
        return self._place in ("reply", "answer") and any(stop in text[self._skipped :] for stop in self._stops)

    def finish(self) -> Sequence[Piece]:
        """Release the pieces still held back, at the end of the reply."""
        return self._release(len(self._held_text()), everything=True)

    def _held_text(self) -> str:
        return "".join(held.text for held in self._held)

    def _release(self, length: int, everything: bool = False) -> list[Piece]:
        """Pieces within the first ``length`` held characters; with ``everything`` the rest too, cut to that length."""
        released: list[Piece] = []
        while self._held and (everything or len(self._held[0].text) <= length):
            piece = self._held.pop(0)
            released.append(msgspec.structs.replace(piece, text=piece.text[: max(0, length)]))
            length -= len(piece.text)
            self._skipped = max(0, self._skipped - len(piece.text))
        return released


class ReplyPieces:
    """The text of one reply: ``pieces`` not taken yet; ``closes_thought`` once the thought has reached its limit."""

    def __init__(
        self, loaded: LoadedModel, prompt: Prompt, stop: Sequence[str], max_thought_tokens: int | None = None
    ) -> None:
        self.closes_thought = False
        self.pieces: list[Piece] = []
        self._begun_in_thought = 0
        self._detokenizer = Detokenizer(loaded.tokenizer, prompt.ids)
        self._thoughts = ThoughtNormalizer(loaded.thinking, prompt.begin)
        self._delimiters = loaded.thinking.shown_tokens(loaded.tokenizer)
        self._stops = StopStrings([*prompt.stop_strings, *stop], prompt.begin)
        self._limit, self._room = max_thought_tokens, prompt.max_new_tokens
        self._closing = loaded.thinking.closing_ids(loaded.tokenizer) if max_thought_tokens else ()

    @property
    def thought(self) -> int:
        """The number of tokens between the delimiters of the thought."""
        return self._begun_in_thought - self._thoughts.delimiter_tokens

    @property
    def ends_whole(self) -> bool:
        """False while the last character is unfinished."""
        return not self._detokenizer.pending

    def take(self) -> tuple[Piece, ...]:
        """Return the pieces since the last call."""
        pieces, self.pieces = tuple(self.pieces), []
        return pieces

    def push(self, step: Step, number: int) -> Step:
        """Add a step's tokens; returns the step, cut where a stop string or the longest thought is complete.

        ``number``: the number of steps before it.
        """
        for count, (token, origin) in enumerate(zip(step.tokens, step.origins, strict=True), start=1):
            text = self._text_of(token) if count <= step.written else self._detokenizer.finish()
            pending = "" if self._thoughts.is_holding else self._detokenizer.pending
            if pending and self._stops and self._stops.reached_by(text + pending):
                text += self._detokenizer.finish()
            was_thinking = self._thoughts.is_thinking
            self._add(Piece(text, origin.value, token, number))
            self._room -= 1
            self._begun_in_thought += was_thinking
            # Without room for an answer behind it, nothing is gained.
            is_full = self.thought == self._limit and self._room > len(self._closing)
            self.closes_thought = self._thoughts.is_thinking and is_full
            if self._stops.reached or self.closes_thought:
                reason = FinishReason.STOP if self._stops.reached else None
                tokens, origins = step.tokens[:count], step.origins[:count]
                return msgspec.structs.replace(step, tokens=tokens, origins=origins, finish_reason=reason)
        return step

    def close_thought(self, number: int) -> tuple[int, ...]:
        """End the thought in the model's place; returns the tokens of the delimiter, told as step ``number``'s."""
        self.closes_thought = False
        for token in self._closing:
            self._add(Piece(self._text_of(token), "plain", token, number))
        self._room -= len(self._closing)
        return self._closing

    def finish(self, token: int, number: int, *, stopped: bool = False) -> None:
        """Release held-back pieces, and the bytes of an unfinished character as the last ``token``'s.

        Of a reply that was ``stopped``, such bytes are dropped: nobody will see the rest of the character.
        """
        rest = self._detokenizer.finish()
        if stopped:
            rest = rest.rstrip(UNREADABLE)
        for piece in self._thoughts.finish():
            self.pieces.extend(self._stops.push(piece))
        self.pieces.extend(self._stops.finish())
        if rest and self.pieces:
            last = self.pieces[-1]
            self.pieces[-1] = Piece(last.text + rest, last.origin, last.id, last.step)
        elif rest:
            self.pieces.append(Piece(rest, "plain", token, number))

    def _add(self, piece: Piece) -> None:
        for each in self._thoughts.push(piece):
            self.pieces.extend(self._stops.push(each))

    def _text_of(self, token: int) -> str:
        """Return the text that a token completes; delimiters of thoughts have one where they count."""
        name = self._delimiters.get(token) if self._thoughts.expects_delimiter else None
        return self._detokenizer.push(token) if name is None else self._detokenizer.finish() + name
