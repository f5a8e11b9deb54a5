"""Gives a reply that is to be continued the tokens that the model wrote it with."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import takewhile
from typing import Any

_UNFINISHED = 8
"""The most tokens at whose end a character may be unfinished."""


def as_written(ids: Sequence[int], written: Sequence[int], tokenizer: Any) -> tuple[int, ...]:
    """Return a prompt's ids with the reply at its end in the model's own tokens, as far as ``written`` has them.

    Of a text's several encodings the model wrote one, and the tokenizer returns one, which need not be the same: behind
    another one the model may go on otherwise.

    Args:
        ids: of a prompt that ends with a begun reply.
        written: of the text that was decoded last.
    """
    same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(ids, written, strict=False)))

    def text_of(tokens: Sequence[int]) -> str:
        text: str = tokenizer.decode(tokens, skip_special_tokens=False, clean_up_tokenization_spaces=False)
        return text

    text = text_of(ids[same:])
    ends = range(same, len(written) + 1)
    last = bisect_left(ends, len(text), key=lambda end: len(text_of(written[same:end])))
    for end in reversed(ends[max(0, last - _UNFINISHED) : last + 1]):
        own = text_of(written[same:end])
        if own and text.startswith(own):
            rest = tokenizer(text[len(own) :], add_special_tokens=False)["input_ids"] if own != text else []
            found = (*written[:end], *rest)
            is_plain = tokenizer.added_tokens_decoder.keys().isdisjoint(rest)  # a text may name control tokens
            return found if is_plain and text_of(found[same:]) == text else tuple(ids)
    return tuple(ids)
