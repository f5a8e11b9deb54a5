"""A start-up check that the forward pass in C gives the logits of this model in transformers."""

from __future__ import annotations

from random import Random

import numpy as np
import torch
from transformers import PreTrainedModel

from decoding.llama.forward import LlamaForward
from decoding.llama.prefix import LlamaPrefix
from decoding.model.capabilities import ModelCapabilities, vocabulary_size
from decoding.model.inputs import StepInputs

PREFIX_TOKENS, STEP_TOKENS = 3, 6
MAX_DISTANCE = {torch.float32: 1e-3, torch.bfloat16: 0.1}
"""Allowed root mean square difference of the logits, in units of their standard deviation. Rounding makes up to 1e-5 in
float32 and 0.03 in bfloat16; a model with another activation or norm differs by 0.5 or more."""
MAX_DISTANCE_OF_ROUNDED = 0.1
"""The same where activations are rounded to int8: a last bit of difference may round one to the neighbouring
value. Differences of up to 0.01 were seen."""


@torch.inference_mode()
def matches_transformers(model: PreTrainedModel, capabilities: ModelCapabilities, forward: LlamaForward) -> bool:
    """Return True if a text gets the same logits from two steps in C as from one forward pass of transformers."""
    draw = Random(3)
    text = [draw.randrange(vocabulary_size(model)) for _ in range(PREFIX_TOKENS + STEP_TOKENS)]
    wanted = model(input_ids=torch.tensor([text]), use_cache=False, return_dict=True).logits[0, PREFIX_TOKENS:].double()
    prefix = LlamaPrefix(model, capabilities, lambda: forward)
    prefix.next_logits(text[:PREFIX_TOKENS])
    places, causal = [*range(STEP_TOKENS)], np.tri(STEP_TOKENS, dtype=np.bool_).tobytes()
    step = StepInputs(text[PREFIX_TOKENS:], places, causal, places)
    distance = float((prefix.branch_logits(step).double() - wanted).square().mean().sqrt() / wanted.std())
    rounds = forward.is_int8 or forward.is_packed
    return distance <= (MAX_DISTANCE_OF_ROUNDED if rounds else MAX_DISTANCE[forward.dtype])
