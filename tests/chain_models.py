"""Small models with a recurrent state that know few tokens, and what decodes them."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import torch
import transformers

from decoding import (
    Decoder,
    JacobiDecoder,
    LookaheadConfig,
    LookaheadDecoder,
)
from tests.costs import DEAR, NEARLY_FREE, budgeted
from tests.families import FLOAT32
from tests.models import checked_once, tokens_of
from tests.pairs import LONG
from tests.small_configs import small_config

SEVERAL = ("lfm2", "qwen3_5_text", "zamba2", "mamba2")
"""Convolutions, a gated delta rule, layers of both kinds, and no attention at all."""
SOME, REST = (SEVERAL, SEVERAL) if LONG else (SEVERAL[::2], SEVERAL[1::2])
"""What is no identity of decoders meets half of them, in turn."""
FEW = 12
"""Tokens of the models here: so few that what was said before is often drawn again, and candidates are accepted."""
LENGTH, MANY = 24, 36
DECODERS: dict[str, Callable[[Any], Decoder]] = {
    "budgeted": lambda model: budgeted(model, NEARLY_FREE),
    "dear": lambda model: budgeted(model, DEAR),
    "fixed": lambda model: LookaheadDecoder(model, LookaheadConfig(4, 4, 4)),
    "jacobi": lambda model: JacobiDecoder(model, 5),
}
BACKWARDS = ("budgeted", "fixed", "jacobi")
"""Decoders that go back to an earlier state."""


def model_of(model_type: str, seed: int = 1) -> Any:
    """A model of random weights that knows few tokens."""
    config = small_config(model_type)
    config.get_text_config(decoder=True).vocab_size = FEW
    torch.manual_seed(seed)
    model = transformers.AutoModelForCausalLM.from_config(config).eval()
    model.generation_config.eos_token_id = None
    return checked_once(model if model_type in FLOAT32 else model.double(), model_type, seed)


def prompt(length: int = 19, seed: int = 0) -> list[int]:
    draw = Random(seed)
    return [draw.randrange(3, FEW) for _ in range(length)]


def said(decoder: Decoder, ids: list[int], count: int = LENGTH, **options: Any) -> list[int]:
    return tokens_of(decoder.generate(ids, max_new_tokens=count, **options))
