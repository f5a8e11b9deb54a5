"""Small models that read a text otherwise once it is longer, or by what stands behind a token."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import transformers as hf

from tests.models import COMMON
from tests.small_configs import small_config

SWITCH = 32
FACTORS: dict[str, Any] = {
    "rope_type": "longrope",
    "rope_theta": 10000.0,
    "short_factor": [1.0] * 4,
    "long_factor": [4.0, 3.0, 2.0, 6.0],
    "original_max_position_embeddings": SWITCH,
}
DYNAMIC: dict[str, Any] = {"rope_type": "dynamic", "rope_theta": 10000.0, "factor": 64.0}
DEFAULT: dict[str, Any] = {"rope_type": "default", "rope_theta": 10000.0}
SIZES: dict[str, Any] = {**COMMON, "num_hidden_layers": 3}
"""As many layers as the fuzzer's seeds were chosen with."""
SHORT: dict[str, Any] = {**SIZES, "max_position_embeddings": SWITCH}


def _phimoe() -> hf.PretrainedConfig:
    # transformers' grouped matrix product for experts knows no float64.
    sizes = {**SIZES, "original_max_position_embeddings": SWITCH, "num_local_experts": 4}
    factors = {**FACTORS, "short_mscale": 1.0, "long_mscale": 1.2}
    return hf.PhimoeConfig(**sizes, experts_implementation="eager", rope_parameters=factors)


REREADING: dict[str, Callable[[], hf.PretrainedConfig]] = {
    "phi3": lambda: hf.Phi3Config(**SIZES, rope_parameters=FACTORS, original_max_position_embeddings=SWITCH),
    "phimoe": _phimoe,
}
"""`generate` has them read the whole text anew when it outgrows their original positions."""

LENGTHS: dict[str, Callable[[], hf.PretrainedConfig]] = {
    **REREADING,
    "llama-dynamic": lambda: hf.LlamaConfig(**SHORT, rope_parameters=DYNAMIC),
    "llama-longrope": lambda: hf.LlamaConfig(**SIZES, rope_parameters=FACTORS),
    "gemma3-dynamic": lambda: hf.Gemma3TextConfig(
        **SHORT,
        head_dim=8,
        sliding_window=9,
        layer_types=["full_attention", "sliding_attention", "full_attention"],
        rope_parameters={"full_attention": DYNAMIC, "sliding_attention": DEFAULT},
    ),
}
"""Their frequencies depend on the length of the text."""


def doge(**settings: Any) -> Any:
    """A model with attention that picks its tokens by different scores."""
    config = small_config("doge")
    for name, value in {"keep_window_size": 16, "sliding_window": None, **settings}.items():
        setattr(config, name, value)
    model = built(config)
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith(".A"):
                parameter.copy_(torch.randn(parameter.shape, generator=generator))
    return model


def built(config: Any) -> Any:
    """A float64 model of random weights that are large enough for its logits to depend on every token seen."""
    torch.manual_seed(0)
    model: Any = hf.AutoModelForCausalLM.from_config(config).eval().double()
    model.generation_config.eos_token_id = None
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.mul_(3)
    return model


def bert() -> Any:
    """An encoder that was not told to be a decoder: it reads a prompt in both directions."""
    config = small_config("bert")
    config.is_decoder = False
    return built(config)


OTHERS: dict[str, Callable[[], Any]] = {
    "doge": doge,
    "doge-sliding": lambda: doge(keep_window_size=8, sliding_window=9),
    "doge-experts": lambda: doge(is_moe=True),
    "bert": bert,
}
"""Attention that picks tokens by scores that may be equal, and states that depend on what follows."""
