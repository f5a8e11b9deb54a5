"""Turns a reply's tokens into pieces of text, up to a stop string, however tokens split that."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from decoding import Detokenizer, FinishReason, Step
from lade_chat.engine.prompt_builder import Prompt
from lade_chat.engine.text.control_tokens import UNREADABLE
from lade_chat.engine.text.stop_strings import StopStrings
from lade_chat.engine.text.thought_normalizer import ThoughtNormalizer
from lade_chat.loading.model_loader import LoadedModel
from lade_chat.protocol.values import Piece


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
