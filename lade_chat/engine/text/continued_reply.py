"""The tokens that a model wrote a reply with: one that is continued must not be tokenised anew from its text."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Any

from lade_chat.engine.prompt_builder import Prompt, prompt_for
from lade_chat.loading.model_loader import LoadedModel
from lade_chat.protocol.values import DecodingOptions, Message

_UNFINISHED = 8
"""The most tokens at whose end a character may be unfinished."""


def reply_prompt(
    loaded: LoadedModel, messages: Sequence[Message], options: DecodingOptions, written: Sequence[int]
) -> Prompt:
    """Build the prompt of a reply; one that has begun goes on from the tokens that it was ``written`` with."""

    def build(messages: Sequence[Message]) -> Prompt:
        return prompt_for(loaded, messages, options.max_new_tokens, raw=options.raw, think=options.think)

    prompt = build(messages)
    if not written or messages[-1].role != "assistant":
        return prompt
    ids = as_written(prompt.ids, (*build(messages[:-1]).ids, *written), loaded.tokenizer)
    left = min(options.max_new_tokens, loaded.info.context_window - len(ids))
    return replace(prompt, ids=ids, max_new_tokens=left) if left > 0 else prompt


def as_written(ids: Sequence[int], written: Sequence[int], tokenizer: Any) -> tuple[int, ...]:
    """Return a prompt's ids with the reply at its end in the model's own tokens, as far as ``written`` has them.

    A text has several encodings. The model need not have written the one that the tokenizer returns, and after another
    one it may continue differently.

    ``ids``: of a prompt that ends with a begun reply. ``written``: of the prompt without the reply, and of the reply as
    far as they are known.
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
            rest = tokenizer.encode(text[len(own) :], add_special_tokens=False) if own != text else []
            found = (*written[:end], *rest)
            is_plain = tokenizer.added_tokens_decoder.keys().isdisjoint(rest)  # a text may name control tokens
            return found if is_plain and text_of(found[same:]) == text else tuple(ids)
    return tuple(ids)
