"""A layer's recurrent part as the C kernels take it: a short convolution, or a gated delta rule."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import torch

from decoding.native.structures import Linear, Norm, Recurrence

SHORT_CONVOLUTION, DELTA_RULE = 1, 2
"""How layers mix tokens, as C numbers it; 0 is attention."""
MULTIPLE, MAX_KEY_SIZE = 16, 256


class RecurrentSizes(NamedTuple):
    """The sizes of a model's recurrent layers, which are all alike.

    Attributes:
        layers: their number.
        taps: the tokens that a convolution reads.
        channels: the channels of a convolution.
        key_heads: of a delta rule, as the others, or 0.
        value_heads: those of the state.
        key_size: the rows of a head's state.
        value_size: its columns.
    """

    layers: int
    taps: int
    channels: int
    key_heads: int = 0
    value_heads: int = 0
    key_size: int = 0
    value_size: int = 0

    def of_a_layer(self) -> dict[str, int]:
        """Return the fields of the C structure ``Transformer``."""
        sizes = self._asdict()
        del sizes["layers"]
        return sizes

    @property
    def state(self) -> int:
        """The numbers of a layer's state."""
        return self.value_heads * self.key_size * self.value_size

    @property
    def update(self) -> int:
        """The numbers of what a token adds to a layer's state."""
        return self.key_heads * self.key_size + self.value_heads * (self.value_size + 1)

    @property
    def is_known(self) -> bool:
        """True if the kernels take such sizes."""
        multiples = self.channels, self.key_size, self.value_size
        return not any(size % MULTIPLE for size in multiples) and self.key_size <= MAX_KEY_SIZE


def recurrent_sizes(modules: list[Any]) -> RecurrentSizes:
    """Return the sizes of these recurrent modules of transformers, one or more."""
    module = modules[0]
    convolution = _convolution(module)
    sizes = RecurrentSizes(len(modules), convolution.kernel_size[0], convolution.in_channels)
    if convolution is getattr(module, "conv", None):
        return sizes
    return RecurrentSizes(*sizes[:3], module.num_k_heads, module.num_v_heads, module.head_k_dim, module.head_v_dim)


def recurrence_of(
    module: Any, linear: Callable[[Any], Linear], norm: Callable[[Any], Norm], held: list[torch.Tensor]
) -> Recurrence:
    """Return a recurrent module's own weights, without a state.

    Args:
        linear: returns a linear layer as C takes it.
        norm: likewise a norm.
        held: to which tensors are added whose memory has to stay alive.
    """

    def address(tensor: torch.Tensor) -> int:
        held.append(tensor)
        return tensor.data_ptr()

    convolution = _convolution(module)
    taps = address(convolution.weight.detach().float()[:, 0].t().contiguous())
    found = Recurrence(mixing=SHORT_CONVOLUTION, taps=taps)
    if convolution.bias is not None:
        found.taps_bias = address(convolution.bias.detach().float())
    if hasattr(module, "A_log"):
        found.mixing, found.gated_norm = DELTA_RULE, norm(module.norm)
        found.tiled = getattr(module.out_proj, "order", None) is not None
        found.decay, found.beta = linear(module.in_proj_a), linear(module.in_proj_b)
        found.log_decay = address(-module.A_log.detach().float().exp())
        found.decay_bias = address(module.dt_bias.detach().float())
    return found


def _convolution(module: Any) -> Any:
    """Return the convolution of a recurrent module, by the name that its type has for it."""
    return module.conv1d if hasattr(module, "conv1d") else module.conv
