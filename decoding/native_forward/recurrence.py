"""A layer's recurrent part as the C kernels take it: a short convolution, with its weights in float32."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch

from decoding.native.structures import Recurrence

SHORT_CONVOLUTION = 1
"""How layers mix tokens, as C numbers it; 0 is attention."""
CHANNELS_MULTIPLE = 16


class RecurrentSizes(NamedTuple):
    """The sizes of a model's recurrent layers, which are all alike.

    Attributes:
        layers: their number.
        taps: the tokens that a convolution reads.
        channels: the channels of a convolution.
    """

    layers: int
    taps: int
    channels: int

    def of_a_layer(self) -> dict[str, int]:
        """Return the fields of the C structure ``Transformer``."""
        sizes = self._asdict()
        del sizes["layers"]
        return sizes

    @property
    def is_known(self) -> bool:
        """True if the kernels take such sizes."""
        return self.channels % CHANNELS_MULTIPLE == 0


def recurrent_sizes(modules: list[Any]) -> RecurrentSizes:
    """Return the sizes of these recurrent modules of transformers, one or more."""
    convolution = modules[0].conv
    return RecurrentSizes(len(modules), convolution.kernel_size[0], convolution.in_channels)


def recurrence_of(module: Any, held: list[torch.Tensor]) -> Recurrence:
    """Return a recurrent module's own weights, without a state; ``held`` keeps their memory alive."""
    convolution = module.conv
    taps = convolution.weight.detach().float()[:, 0].t().contiguous()
    bias = None if convolution.bias is None else convolution.bias.detach().float()
    held += [taps] if bias is None else [taps, bias]
    return Recurrence(SHORT_CONVOLUTION, taps.data_ptr(), None if bias is None else bias.data_ptr())
