"""Feeding a streamer of transformers: every token once, in order, however many a step settled."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from transformers import TextStreamer
from transformers.generation.streamers import BaseStreamer

_TAIL = 8
"""Tokens before a line that are decoded with it; one would do, were every character one token."""


class Feed:
    """Tells a streamer of the tokens as plain `generate` does, one at a time.

    A :class:`TextStreamer` forgets a line's tokens once the line is out, and decodes the next line alone. Tokenizers
    of the Llama kind take the first space off what they decode, so that indented lines would lose one. Here it keeps
    the last few tokens, as given out.
    """

    def __init__(self, streamer: BaseStreamer, prompt: Sequence[int], *, prompt_told: bool) -> None:
        """
        Args:
            streamer: transformers' or the caller's own.
            prompt: the text before.
            prompt_told: whether the streamer has been given the prompt already.
        """
        self._streamer = streamer
        self._tail: list[int] = []
        shown = not getattr(streamer, "skip_prompt", False)
        if not prompt_told:
            streamer.put(torch.tensor([list(prompt)]))
        if shown:
            self._remember(prompt)

    def put(self, tokens: Sequence[int]) -> None:
        """Tell the streamer of a step's tokens."""
        for token in tokens:
            self._streamer.put(torch.tensor([token]))
            self._remember([token])

    def end(self) -> None:
        """Tell the streamer that the text is complete."""
        self._streamer.end()

    def _remember(self, tokens: Sequence[int]) -> None:
        self._tail = [*self._tail, *tokens][-_TAIL:]
        streamer = self._streamer
        if isinstance(streamer, TextStreamer) and not streamer.token_cache:
            streamer.token_cache = list(self._tail)
            streamer.print_len = len(str(streamer.tokenizer.decode(self._tail, **streamer.decode_kwargs)))
