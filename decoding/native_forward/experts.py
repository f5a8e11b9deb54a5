"""Mixtures of experts as the C kernels take them: a router, and the MLPs among which it chooses for each token."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from decoding.native.kernels import linear
from decoding.native.structures import Linear, Mixture, Norm
from decoding.native.weight_memory import shape_of
from decoding.quantization.file_experts import FileExperts

EXPERTS = ("gate_up_proj", "down_proj")
"""The weights of all experts, as transformers' modules name them."""


def has_experts(module: Any) -> bool:
    """Return True if a module, an MLP or a whole layer, holds experts."""
    return hasattr(module, "experts")


def mixture_of(
    block: Any, linear_of: Callable[[Any], Linear], norm_of: Callable[..., Norm], dtype: torch.dtype, held: list[Any]
) -> Mixture:
    """Return a mixture of experts without the expert that all tokens pass.

    Args:
        block: transformers' module that holds the experts.
        linear_of: returns a linear layer as C takes it.
        norm_of: returns a norm of a weight, shape (width,), or of a module, as C takes it.
        dtype: of the activations.
        held: to which all is added whose memory has to stay alive.
    """

    def address(tensor: torch.Tensor) -> int:
        held.append(tensor)
        return tensor.data_ptr()

    experts = block.experts
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
    all_of_them = (Linear * len(each))(*each)
    held += [experts, *experts.parameters(), all_of_them]
    if stands_beside(block):
        router = block.router
        return Mixture(
            router=linear_of(router.proj),
            experts=all_of_them,
            scales=address(router.per_expert_scale.detach().float()),
            router_norm=norm_of(router.scale.detach().float() * router.scalar_root_size),
            input_norm=norm_of(block.pre_feedforward_layernorm_2),
            output_norm=norm_of(block.post_feedforward_layernorm_2),
            mlp_norm=norm_of(block.post_feedforward_layernorm_1),
            chosen=router.config.top_k_experts,
            normalised=True,
            scale=1.0,
        )
    router, shared = block.gate, getattr(block, "shared_expert_gate", None)
    held.append(router.weight)
    return Mixture(
        router=linear(router.weight.detach(), None, None, dtype),
        experts=all_of_them,
        shared_gate=Linear() if shared is None else linear_of(shared),
        bias=address(block.expert_bias.detach().float()) if getattr(block, "use_expert_bias", False) else None,
        chosen=router.top_k,
        sigmoid=hasattr(router, "routed_scaling_factor"),
        normalised=getattr(router, "norm_topk_prob", True),
        scale=getattr(router, "routed_scaling_factor", 1.0),
    )


def stands_beside(block: Any) -> bool:
    """Return True if experts stand beside a layer's MLP, not in its place."""
    return hasattr(block, "router")


def inner_size(mixture: Mixture) -> int:
    """Return the number of inner values of each expert; 0 without experts."""
    return int(mixture.experts[0].N) if mixture.chosen else 0


def are_odd(block: Any, width: int) -> bool:
    """Return True if a router and experts do not fit together, after pruning perhaps."""
    experts = block.experts
    if isinstance(experts, FileExperts):
        count = experts.count
    else:
        count, outputs, inner = experts.down_proj.shape
        if experts.gate_up_proj.shape != (count, 2 * inner, width) or outputs != width:
            return True
    if stands_beside(block):
        scores, chosen = block.router.proj, block.router.config.top_k_experts
    else:
        scores, chosen = block.gate, block.gate.top_k
    return shape_of(scores.weight) != (count, width) or chosen > count
