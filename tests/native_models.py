"""Models whose steps run in C, in each precision, and the decoders that are held to their plain steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import transformers as hf

from decoding import Decoder, JacobiDecoder, LookaheadConfig, LookaheadDecoder, Session, quantize
from decoding.native.kernels import native_kernels
from decoding.runner import runner_of
from tests.costs import NEARLY_FREE, budgeted
from tests.models import tokens_of

in_c = pytest.mark.skipif(native_kernels() is None, reason="no C compiler here")
DECODERS: dict[str, Callable[[Any], Decoder]] = {
    "fixed": lambda model: LookaheadDecoder(model, LookaheadConfig(5, 4, 5)),
    "automatic": lambda model: budgeted(model, NEARLY_FREE),
    "jacobi": lambda model: JacobiDecoder(model, 7),
}
SIZES: dict[str, Any] = {
    "vocab_size": 97,
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 16,
    "max_position_embeddings": 2048,
    "eos_token_id": None,
}
CONFIGS: dict[str, Callable[[], hf.PretrainedConfig]] = {
    "llama": lambda: hf.LlamaConfig(**SIZES, attention_bias=True, mlp_bias=True),
    "llama3-rope": lambda: hf.LlamaConfig(
        **SIZES | {"head_dim": 48, "tie_word_embeddings": True},
        rope_parameters={
            "rope_type": "llama3",
            "rope_theta": 5e5,
            "factor": 8.0,
            "low_freq_factor": 1.0,
            "high_freq_factor": 4.0,
            "original_max_position_embeddings": 512,
        },
    ),
    "mistral": lambda: hf.MistralConfig(**SIZES, sliding_window=None),
    "qwen2": lambda: hf.Qwen2Config(**SIZES | {"head_dim": 32}),
    "qwen3": lambda: hf.Qwen3Config(**SIZES | {"num_key_value_heads": 4}),
}
PROMPT = [5, 6, 7, 5, 6, 7, 8, 5, 6]


def native_model(config: hf.PretrainedConfig, precision: str = "float32") -> Any:
    """A random model with norms and biases that all differ, and so few likely tokens that candidates are accepted.

    Args:
        precision: of its weights; ``float32 of bfloat16`` if they are exact in both.
    """
    torch.manual_seed(1)
    model = hf.AutoModelForCausalLM.from_config(config, dtype=torch.float32).eval()
    for parameter in model.parameters():
        if parameter.dim() == 1:
            parameter.data += 0.3 * torch.randn_like(parameter)
    model.lm_head.weight.data[12:] *= 0.01
    model.generation_config.eos_token_id = None
    if "bfloat16" in precision:
        model.to(torch.bfloat16)
    if precision.startswith("float32"):
        model.to(torch.float32)
    if precision == "int8":
        quantize(model)
    return model


def said(
    decoder: Decoder, prompt: list[int], session: Session | None = None, *, length: int = 32, sampling: Any = None
) -> list[int]:
    return tokens_of(decoder.generate(prompt, max_new_tokens=length, sampling=sampling, session=session))


def read_in_chunks(model: Any, text: list[int], chunk: int) -> torch.Tensor:
    prefix = runner_of(model).new_prefix()
    return [prefix.next_logits(text[first : first + chunk]) for first in range(0, len(text), chunk)][-1]


def model_of(family: str, precision: str = "float32") -> Any:
    return native_model(CONFIGS[family](), precision)
