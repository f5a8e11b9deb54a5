"""Interfaces of PyTorch and transformers that they do not document and decoding needs.

Tested with torch 2.11 and 2.13 and transformers 5.23, as pyproject.toml has them;
tests/test_private_interfaces.py names what is gone.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import torch
from torch.nn.modules import module as torch_modules

if TYPE_CHECKING:
    from transformers import PreTrainedModel
    from transformers.cache_utils import Cache

SAMPLE_METHOD = "_sample"
"""The method of GenerationMixin that decodes one text, sampled or greedy."""
OTHER_METHODS = {"_beam_search": "beam search", "_assisted_decoding": "assistant or prompt lookup"}
"""Its other methods that decode, and what they are for."""


def pack_int8(weight: torch.Tensor, scales: torch.Tensor) -> object:
    """Return an int8 weight, shape (out, in), and the scales of its channels, shape (out,), in FBGEMM's layout."""
    zeros = torch.zeros(len(scales), dtype=torch.int64)
    with warnings.catch_warnings():
        # Deprecated, but nothing else makes the tensor that FBGEMM packs.
        warnings.simplefilter("ignore", UserWarning)
        whole = torch._make_per_channel_quantized_tensor(weight, scales.double(), zeros, 0)
    engines = torch.backends.quantized
    before = engines.engine
    try:
        # The one engine whose product takes the scale of the rows from outside.
        engines.engine = "fbgemm"
        packed: object = torch.ops.quantized.linear_prepack(whole, None)
    finally:
        engines.engine = before
    return packed


def int8_product(rows: torch.Tensor, packed: object, scale: float) -> torch.Tensor:
    """Return rows Wᵀ, shape (…, out), float32, with the rows, float32, rounded to whole multiples of ``scale``."""
    product: torch.Tensor = torch.ops.quantized.linear_with_input_q_dq_qweight_dq_output_fp32(rows, scale, 128, packed)
    return product


def version_of(tensor: torch.Tensor) -> int:
    """Return PyTorch's count of changes in place; 0 for tensors made in inference mode, which have none."""
    return 0 if tensor.is_inference() else tensor._version


def inner_tensors(tensor: torch.Tensor) -> list[torch.Tensor] | None:
    """Return the tensors that a tensor subclass wraps, such as a quantised one's integers and scales; else None."""
    if not hasattr(tensor, "__tensor_flatten__"):
        return None
    names, _ = tensor.__tensor_flatten__()
    inner = [getattr(tensor, name) for name in names]
    return [each for each in inner if isinstance(each, torch.Tensor)]


def global_hooks() -> tuple[object, ...]:
    """Return the hooks that run at the forward pass of every module."""
    return (*torch_modules._global_forward_pre_hooks.values(), *torch_modules._global_forward_hooks.values())


def mark_static_address(tensor: torch.Tensor) -> None:
    """Tell the compiler that a tensor's address lasts, or CUDA graphs would copy it at every replay."""
    torch._dynamo.mark_static_address(tensor)


def mark_varying(tensor: torch.Tensor, *dimensions: int) -> torch.Tensor:
    """Return the tensor, having told the compiler that these dimensions vary: one graph serves steps of all sizes.

    A dimension of 1 is left out: one token has a graph of its own.
    """
    for dimension in dimensions:
        if tensor.shape[dimension] > 1:
            torch._dynamo.maybe_mark_dynamic(tensor, dimension % tensor.dim())
    return tensor


def attention_implementation(model: PreTrainedModel) -> str:
    """Return the name of the attention that the model's text part runs with."""
    return str(model.config.get_text_config(decoder=True)._attn_implementation)


def is_users_cache(cache: Cache) -> bool:
    """Return True if the caller of `generate` passed this cache, False if `generate` has made it."""
    return bool(getattr(cache, "_is_user_defined", False))


def arguments_after(model: PreTrainedModel, output: Any) -> dict[str, Any]:
    """Return what a forward pass hands to the next one: the model's state and whatever goes with it."""
    caller: Any = model
    arguments: dict[str, Any] = caller._update_model_kwargs_for_generation(output, {})
    return arguments
