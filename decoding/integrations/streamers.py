"""Feed: the tokens of steps, passed to a streamer of transformers one at a time."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from transformers import TextStreamer
from transformers.generation.streamers import BaseStreamer

_TAIL = 8
"""Tokens before a line that are decoded with it; several, since a character may take several tokens."""


class Feed:
    """A streamer that gets each token once, in order, as from plain `generate`.

    A :class:`TextStreamer` drops a line's tokens after the line, and decodes the next line alone. Tokenizers like
    Llama's drop the first space of a text, so that indented lines would lose one. Here it keeps the last few tokens.
    """

    def __init__(self, streamer: BaseStreamer, prompt: Sequence[int], *, has_prompt: bool) -> None:
        """
        Args:
            streamer: of transformers, or the caller's own.
            prompt: the text before.
            has_prompt: True if the streamer has got the prompt already.
        """
        self._streamer, self._prompt, self._has_prompt = streamer, prompt, has_prompt
        self._tail: list[int] = []

    def begin(self) -> None:
        """Pass the prompt on; the streamer is untouched before."""
        shown = not getattr(self._streamer, "skip_prompt", False)
        if not self._has_prompt:
            self._streamer.put(torch.tensor([list(self._prompt)]))
        if shown:
            self._remember(self._prompt)

    def put(self, tokens: Sequence[int]) -> None:
        """Pass a step's tokens on."""
        for token in tokens:
            self._streamer.put(torch.tensor([token]))
            self._remember([token])

    def end(self) -> None:
        """End the stream."""
        self._streamer.end()

    def _remember(self, tokens: Sequence[int]) -> None:
        self._tail = [*self._tail, *tokens][-_TAIL:]
        streamer = self._streamer
        if isinstance(streamer, TextStreamer) and not streamer.token_cache:
            streamer.token_cache = list(self._tail)
            streamer.print_len = len(str(streamer.tokenizer.decode(self._tail, **streamer.decode_kwargs)))
