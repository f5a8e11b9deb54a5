"""Models whose steps run in C, in each precision, and the decoders that are held to their plain steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import transformers as hf

from decoding import Decoder, JacobiDecoder, LookaheadConfig, LookaheadDecoder, quantize
from decoding.native.kernels import native_kernels
from tests.costs import NEARLY_FREE, budgeted

in_c = pytest.mark.skipif(native_kernels() is None, reason="no C compiler here")
DECODERS: dict[str, Callable[[Any], Decoder]] = {
    "fixed": lambda model: LookaheadDecoder(model, LookaheadConfig(5, 4, 5)),
    "automatic": lambda model: budgeted(model, NEARLY_FREE),
    "jacobi": lambda model: JacobiDecoder(model, 7),
}


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
