"""ReplyText: turns a reply's tokens into pieces of text, each with its origin, up to a stop string."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from decoding import Detokenizer, FinishReason, Step
from lade_chat.engine.prompt_builder import Prompt
from lade_chat.engine.text.stop_strings import StopStrings
from lade_chat.engine.text.thoughts import ThoughtNormalizer
from lade_chat.loading.model import LoadedModel
from lade_chat.protocol.values import Piece


class ReplyText:
    """The text of one reply.

    Attributes:
        pieces: what has not been taken yet.
    """

    def __init__(self, loaded: LoadedModel, prompt: Prompt, stop: Sequence[str]) -> None:
        self.pieces: list[Piece] = []
        self._detokenizer = Detokenizer(loaded.tokenizer, prompt.ids)
        self._thoughts = ThoughtNormalizer(loaded.thinking, prompt.begin)
        self._delimiters = loaded.thinking.shown_tokens(loaded.tokenizer)
        self._stops = StopStrings([*prompt.stop_strings, *stop])

    def take(self) -> tuple[Piece, ...]:
        """Return the pieces since the last call."""
        pieces, self.pieces = tuple(self.pieces), []
        return pieces

    def push(self, step: Step, number: int) -> Step:
        """Add a step's tokens; returns the step, cut behind the token that completes a stop string if one does.

        Args:
            number: the number of steps before it.
        """
        for count, (token, origin) in enumerate(zip(step.tokens, step.origins, strict=True), start=1):
            text = self._text_of(token) if count <= step.written else self._detokenizer.finish()
            pending = "" if self._thoughts.is_holding else self._detokenizer.pending
            if pending and self._stops and self._stops.reached_by(text + pending):
                text += self._detokenizer.finish()
            for piece in self._thoughts.push(Piece(text, origin.value, token, number)):
                self.pieces.extend(self._stops.push(piece))
            if self._stops.reached:
                kept = step.tokens[:count]
                return msgspec.structs.replace(
                    step, tokens=kept, origins=step.origins[:count], finish_reason=FinishReason.STOP
                )
        return step

    def finish(self, token: int, number: int) -> None:
        """Release held-back pieces, and the bytes of an unfinished character as the last ``token``'s."""
        rest = self._detokenizer.finish()
        for piece in self._thoughts.finish():
            self.pieces.extend(self._stops.push(piece))
        self.pieces.extend(self._stops.finish())
        if rest and self.pieces:
            last = self.pieces[-1]
            self.pieces[-1] = Piece(last.text + rest, last.origin, last.id, last.step)
        elif rest:
            self.pieces.append(Piece(rest, "plain", token, number))

    def _text_of(self, token: int) -> str:
        """Return the text that a token completes; delimiters of thoughts have one where they count."""
        name = self._delimiters.get(token) if self._thoughts.expects_delimiter else None
        return self._detokenizer.push(token) if name is None else self._detokenizer.finish() + name
