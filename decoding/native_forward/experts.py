"""Mixtures of experts as the C kernels take them: a router, and the MLPs among which it chooses for each token."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from decoding.native.kernels import linear
from decoding.native.structures import Linear, Mixture
from decoding.quantization.file_experts import FileExperts

EXPERTS = ("gate_up_proj", "down_proj")
"""The weights of all experts, as transformers' modules name them."""


def has_experts(mlp: Any) -> bool:
    """Return True if a layer's MLP is a mixture of experts."""
    return hasattr(mlp, "experts")


def mixture_of(block: Any, linear_of: Callable[[Any], Linear], dtype: torch.dtype, held: list[Any]) -> Mixture:
    """Return a mixture of experts without the expert that all tokens pass.

    Args:
        block: transformers' module.
        linear_of: returns a linear layer as C takes it.
        dtype: of the activations.
        held: to which all is added whose memory has to stay alive.
    """
    router, experts = block.gate, block.experts
    if isinstance(experts, FileExperts):
        each = experts.structures(dtype)
    else:
        gate_up, down = (getattr(experts, name).detach() for name in EXPERTS)
        inner = down.shape[2]
        each = [
            linear(weight, None, None, dtype)
            for of_both, of_down in zip(gate_up, down, strict=True)
            for weight in (of_both[:inner], of_both[inner:], of_down)
        ]
    bias = block.expert_bias.detach().float() if getattr(block, "use_expert_bias", False) else None
    shared = getattr(block, "shared_expert_gate", None)
    all_of_them = (Linear * len(each))(*each)
    held += [*experts.parameters(), experts, router.weight, bias, all_of_them]
    return Mixture(
        router=linear(router.weight.detach(), None, None, dtype),
        experts=all_of_them,
        shared_gate=Linear() if shared is None else linear_of(shared),
        bias=None if bias is None else bias.data_ptr(),
        chosen=router.top_k,
        sigmoid=hasattr(router, "routed_scaling_factor"),
        normalised=getattr(router, "norm_topk_prob", True),
        scale=getattr(router, "routed_scaling_factor", 1.0),
    )


def inner_size(mixture: Mixture) -> int:
    """Return the number of inner values of each expert; 0 without experts."""
    return int(mixture.experts[0].N) if mixture.chosen else 0


def are_odd(block: Any, width: int) -> bool:
    """Return True if a router and experts do not fit together, after pruning perhaps."""
    router, experts = block.gate, block.experts
    if isinstance(experts, FileExperts):
        count = experts.count
    else:
        count, outputs, inner = experts.down_proj.shape
        if experts.gate_up_proj.shape != (count, 2 * inner, width) or outputs != width:
            return True
    return tuple(router.weight.shape) != (count, width) or router.top_k > count
