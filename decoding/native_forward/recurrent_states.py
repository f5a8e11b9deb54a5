"""Recurrent layers as the C kernels take them, and RecurrentStates, which go back to any token of the last step."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch

from decoding.native.structures import Linear, Norm, Recurrence, Transformer

SHORT_CONVOLUTION, DELTA_RULE = 1, 2
"""How layers mix tokens, as C numbers it; 0 is attention."""
MULTIPLE, MAX_KEY_SIZE = 16, 256
ROOM = 32
"""Number of last tokens that can be undone; more if a step verifies more."""
MAX_KEPT_BYTES = 1 << 28
"""Maximum memory of earlier states, kept for retries and edits; the last is kept in any case."""


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
    module: Any, linear: Callable[[Any], Linear], norm: Callable[[Any], Norm], held: list[Any]
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


class _Kept(NamedTuple):
    """Copies of the states after ``length`` tokens; those from ``base`` on can be undone."""

    base: int
    length: int
    buffers: tuple[torch.Tensor, ...]


class RecurrentStates:
    """The states after the first ``base`` tokens, and the inputs and updates of the others, which are still pending.

    Attributes:
        length: the number of tokens read.
    """

    def __init__(self, sizes: RecurrentSizes) -> None:
        self._sizes, self._room, self._base, self.length = sizes, ROOM, 0, 0
        self._columns = torch.zeros(sizes.layers, sizes.taps - 1 + ROOM, sizes.channels)
        self._updates = torch.zeros(sizes.layers, ROOM, sizes.update)
        self._state = torch.zeros(sizes.layers, 1, sizes.state)
        self._kept: list[_Kept] = []
        # False while states may be unequal: a step is under way, or was broken off.
        self._is_whole = True
        self._bound: Transformer | None = None

    @contextmanager
    def reading(self, transformer: Transformer, tokens: int) -> Iterator[None]:
        """Run a step over so many tokens in C; where it raises or is interrupted, :meth:`rewind` undoes it."""
        if self._bound is not transformer:
            self._bind(transformer)
        transformer.room, transformer.pending = self._room, self.length - self._base
        transformer.settled = settled = max(0, tokens - self._room)
        self._is_whole = False
        yield
        # What was pending is in the states now, and the last tokens are pending instead.
        self._base, self.length = self.length + settled, self.length + tokens
        self._is_whole = True

    def reserve(self, tokens: int) -> None:
        """Make room for a step over so many tokens, all of which can be undone."""
        if tokens > self._room:
            self._columns = _with_rows(self._columns, self._sizes.taps - 1 + tokens)
            self._updates = _with_rows(self._updates, tokens)
            self._room, self._bound = tokens, None

    def keep(self, start: int) -> None:
        """Keep a copy of the states as they are, to go back to, in place of one made after ``start`` tokens."""
        if self._kept and self._kept[-1].length == start:
            self._kept.pop()
        pending = self.length - self._base
        used = self._columns[:, : self._sizes.taps - 1 + pending], self._updates[:, :pending], self._state
        self._kept.append(_Kept(self._base, self.length, tuple(buffer.clone() for buffer in used)))
        while len(self._kept) > 1 and sum(each.nbytes for kept in self._kept for each in kept.buffers) > MAX_KEPT_BYTES:
            del self._kept[0]

    def rewindable_to(self, length: int) -> int:
        """Return the most tokens up to ``length`` that :meth:`rewind` can go back to."""
        if self._is_whole and self._base <= length:
            return min(length, self.length)
        return max((min(length, kept.length) for kept in self._kept if kept.base <= length), default=0)

    @torch.inference_mode()
    def rewind(self, length: int) -> None:
        """Go back to as many tokens as possible, up to ``length``."""
        reached = self.rewindable_to(length)
        if not (self._is_whole and self._base <= length):
            self._restore(reached)
        self.length = reached
        # Of another text, as far as they reach further.
        self._kept = [kept._replace(length=min(kept.length, reached)) for kept in self._kept if kept.base <= reached]

    def copy(self) -> RecurrentStates:
        """Return independent states with the same contents."""
        other = RecurrentStates(self._sizes)
        other._columns, other._updates = self._columns.clone(), self._updates.clone()
        other._state = self._state.clone()
        other._room, other._base, other.length = self._room, self._base, self.length
        other._kept, other._is_whole = self._kept.copy(), self._is_whole  # copies are never written to
        return other

    def _restore(self, length: int) -> None:
        self._is_whole = False
        kept = next((kept for kept in reversed(self._kept) if kept.base <= length <= kept.length), None)
        for index, buffer in enumerate((self._columns, self._updates, self._state)):
            if kept is None:
                buffer.zero_()
            else:
                buffer[:, : kept.buffers[index].shape[1]] = kept.buffers[index]
        self._base = 0 if kept is None else kept.base
        self._is_whole = True

    def _bind(self, transformer: Transformer) -> None:
        """Write the addresses of the states into a model's layers."""
        recurrent = (index for index in range(transformer.layers) if transformer.layer[index].recurrence.mixing)
        for index, *buffers in zip(recurrent, self._columns, self._updates, self._state, strict=True):
            recurrence = transformer.layer[index].recurrence
            recurrence.columns, recurrence.updates, recurrence.state = (buffer.data_ptr() for buffer in buffers)
        self._bound = transformer


def _with_rows(buffer: torch.Tensor, rows: int) -> torch.Tensor:
    """Return a buffer, shape (layers, rows, size), with more rows."""
    grown = buffer.new_zeros(len(buffer), rows, buffer.shape[2])
    grown[:, : buffer.shape[1]] = buffer
    return grown
