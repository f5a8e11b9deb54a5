"""Chain check: compares steps over several tokens behind a recurrent state with single ones.

It detects models that read several tokens behind a state as if there were none, or read one of them alone.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import TYPE_CHECKING

import numpy as np
import torch

from decoding.chains.chain_prefix import ChainPrefix
from decoding.model.capabilities import ModelCapabilities, vocabulary_size
from decoding.model.inputs import StepInputs
from decoding.model.mask_check import NOISE_FACTOR, ROUNDINGS, distance, is_out_of_memory
from decoding.model.prefix import RecurrentPrefix

if TYPE_CHECKING:
    from transformers import PreTrainedModel

FIRST_TOKENS, PREFIX_TOKENS = 7, 80
"""Tokens read at first, and in all before the steps: some models read a text in blocks of 64."""
STEP_TOKENS = 4
MIN_TOLERANCE = 2e-5
"""Less than in the mask check: states with random weights hardly matter, and give 1e-4 where they are read wrongly."""


def why_chains_fail(
    model: PreTrainedModel, capabilities: ModelCapabilities, new_prefix: Callable[[], ChainPrefix]
) -> str | None:
    """Return the reason why steps over one chain of candidates differ from plain decoding; None if they do not.

    Raises:
        MemoryError, torch.OutOfMemoryError, RuntimeError: there was not enough memory; the check is inconclusive.
    """
    try:
        alike = _chains_match_plain(model, capabilities, new_prefix())
    except Exception as error:  # a model's own code may raise anything where it expects one token
        if is_out_of_memory(error):
            raise
        return f"its forward fails on several tokens behind its recurrent state ({type(error).__name__})"
    return None if alike else "several tokens behind its recurrent state get other logits than in single steps"


@torch.inference_mode()
def _chains_match_plain(model: PreTrainedModel, capabilities: ModelCapabilities, prefix: ChainPrefix) -> bool:
    draw, limit = Random(4), capabilities.position_limit
    length = PREFIX_TOKENS if limit is None else max(2, min(PREFIX_TOKENS, limit - 2 * STEP_TOKENS))
    tokens = [draw.randrange(vocabulary_size(model)) for _ in range(length + STEP_TOKENS)]
    text, (one, two, three, four) = tokens[:length], tokens[length:]
    plain = RecurrentPrefix(model, capabilities)
    expected = [plain.next_logits(text), *[plain.next_logits([token]) for token in tokens[length:]]]
    noise = distance(expected[-1], RecurrentPrefix(model, capabilities).next_logits(tokens))

    prefix.next_logits(text[: min(FIRST_TOKENS, length - 1)])
    found = [prefix.next_logits(text[prefix.length :])]
    # Two candidates of which none is accepted, then two of which the first is, then a plain step.
    found += prefix.branch_logits(_chain(one, four, four))[:1]
    prefix.keep(length, [0])
    found += prefix.branch_logits(_chain(two, three, one))[:2]
    prefix.keep(length + 1, [0, 1])
    found.append(prefix.next_logits([four]))
    tolerance = max(NOISE_FACTOR * noise, ROUNDINGS * torch.finfo(model.dtype).eps, MIN_TOLERANCE)
    # One by one: NaN is within no limit.
    return all(distance(left, right) <= tolerance for left, right in zip(found, expected, strict=True))


def _chain(*tokens: int) -> StepInputs:
    """Return the inputs of a step over the last token and the candidates after it."""
    places = [*range(len(tokens))]
    return StepInputs([*tokens], places, np.tri(len(tokens), dtype=np.bool_).tobytes(), places)
