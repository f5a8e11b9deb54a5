"""The KV cache: buffers that grow now and then, keep the accepted tokens of a step, and rewind."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Self

import torch
from transformers.cache_utils import Cache, DynamicLayer

GROWTH = 1024
"""Buffers grow by this many tokens, or by half of their size if that is more. Copying a real model's takes as long as
several steps; on a CPU, room that is not written to takes no memory."""


class BufferedLayer(DynamicLayer):
    """One layer's keys and values in buffers that grow now and then, so that a step writes only its own tokens.

    transformers' own layer concatenates the whole cache every step. Every layer keeps all tokens, sliding ones too:
    the mask hides those out of the window, and the cache can be rewound to any length.
    """

    def __init__(self) -> None:
        self.length = 0
        self._key_buffer: torch.Tensor | None = None
        self._value_buffer: torch.Tensor | None = None
        # Sparse attention selects tokens by index keys, kept beside the others.
        self._index_buffer: torch.Tensor | None = None
        self._indexed = 0
        super().__init__()  # type: ignore[no-untyped-call]

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *args: object, **kwargs: object
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Append the new states, shape (1, heads, tokens, head size); returns all, in the new ones' dtype."""
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        end = self.length + key_states.shape[-2]
        self._key_buffer = self._with_room(self._key_buffer, key_states, self.length, end)
        self._value_buffer = self._with_room(self._value_buffer, value_states, self.length, end)
        self._key_buffer[..., self.length : end, :] = key_states
        self._value_buffer[..., self.length : end, :] = value_states
        self.length = end
        keys, values = self._key_buffer[..., :end, :], self._value_buffer[..., :end, :]
        return keys.to(key_states.dtype), values.to(value_states.dtype)

    def reserve(self, tokens: int, dtype: torch.dtype | None = None) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the buffers, shape (1, heads, room, head size), with room for so many tokens in all, in this dtype.

        Raises ValueError before the first update: the shape is not known.
        """
        if self._key_buffer is None or self._value_buffer is None:
            raise ValueError("the layer is empty")
        dtype = dtype or self._key_buffer.dtype
        keys, values = self._key_buffer.to(dtype), self._value_buffer.to(dtype)
        self._key_buffer = self._with_room(keys, keys, self.length, tokens)
        self._value_buffer = self._with_room(values, values, self.length, tokens)
        return self._key_buffer, self._value_buffer

    def is_in(self, keys: torch.Tensor) -> bool:
        """Return True if this tensor is the layer's key buffer."""
        return self._key_buffer is keys

    def update_indexer(self, indexer_key_states: torch.Tensor) -> torch.Tensor:
        """Append the new index keys of a sparse attention, shape (1, tokens, size); returns a view of all."""
        end = self._indexed + indexer_key_states.shape[-2]
        self._index_buffer = self._with_room(self._index_buffer, indexer_key_states, self._indexed, end)
        self._index_buffer[..., self._indexed : end, :] = indexer_key_states
        self._indexed = end
        return self._index_buffer[..., :end, :]

    @property
    def keys(self) -> torch.Tensor | None:
        """The keys, shape (1, heads, length, head size); None before the first update."""
        return None if self._key_buffer is None else self._key_buffer[..., : self.length, :]

    @keys.setter
    def keys(self, value: object) -> None:
        """Ignore what the base class sets: only the buffers count."""

    @property
    def values(self) -> torch.Tensor | None:
        """The values, of the same shape as ``keys``."""
        return None if self._value_buffer is None else self._value_buffer[..., : self.length, :]

    @values.setter
    def values(self, value: object) -> None:
        """Ignore what the base class sets, as for ``keys``."""

    @property
    def indexed(self) -> bool:
        """True if index keys of a sparse attention are held too."""
        return self._index_buffer is not None

    def resize(self, length: int) -> None:
        """Keep the first ``length`` tokens written; no memory moves."""
        self.length = self._indexed = length

    def repeat(self, length: int) -> None:
        """Append copies of the tokens held, up to ``length`` in all: what is read there takes the time of a text."""
        held = self.length
        for buffer in self.reserve(length):
            for start in range(held, length, held):
                count = min(held, length - start)
                buffer[..., start : start + count, :] = buffer[..., :count, :]
        self.resize(length)

    def move(self, indices: torch.Tensor, to: int) -> None:
        """Copy the tokens at ``indices`` to consecutive places from ``to`` on."""
        for buffer in (self._key_buffer, self._value_buffer, self._index_buffer):
            if buffer is not None:
                buffer[..., to : to + len(indices), :] = buffer.index_select(-2, indices)

    def get_seq_length(self) -> int:
        return self.length

    def crop(self, tokens_to_remove: int) -> None:
        self.resize(self.length - abs(tokens_to_remove))

    def reset(self) -> None:
        self.resize(0)

    def copy(self) -> Self:
        """Return an independent layer with the same states."""
        other = type(self)()
        if self._key_buffer is not None and self._value_buffer is not None:
            other.lazy_initialization(self._key_buffer, self._value_buffer)
            other._key_buffer, other._value_buffer = self._clone(self._key_buffer), self._clone(self._value_buffer)
            other._index_buffer = None if self._index_buffer is None else self._index_buffer.clone()
            other.resize(self.length)
        return other

    def _with_room(self, buffer: torch.Tensor | None, states: torch.Tensor, used: int, wanted: int) -> torch.Tensor:
        if buffer is not None and buffer.shape[-2] >= wanted:
            return buffer
        if buffer is None:
            return self._new_buffer(states, wanted)
        # In its own dtype, not that of the new states: the kernels in C read the one that it began with.
        grown = self._new_buffer(buffer, wanted)
        grown[..., :used, :] = buffer[..., :used, :]
        return grown

    def _new_buffer(self, states: torch.Tensor, tokens: int) -> torch.Tensor:
        """Return a buffer with room for at least so many tokens, in the shape and dtype of ``states``."""
        return states.new_empty((*states.shape[:-2], tokens + max(GROWTH, tokens // 2), states.shape[-1]))

    @staticmethod
    def _clone(buffer: torch.Tensor) -> torch.Tensor:
        return buffer.clone()


class KVCache(Cache):
    """The keys and values of a prefix; between steps all layers have the same length."""

    layers: list[BufferedLayer]  # type: ignore[assignment]  # narrower than in the base class

    def __init__(self) -> None:
        super().__init__(layer_class_to_replicate=BufferedLayer)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.length} tokens, {len(self.layers)} layers)"

    @property
    def length(self) -> int:
        """The number of tokens held; after a failed forward pass, the least of any layer."""
        # Layers never written attend to an image, or to another layer's states.
        return min((layer.length for layer in self.layers if layer.is_initialized), default=0)

    def begin(self, states: Sequence[torch.Tensor]) -> None:
        """Create an empty cache's layers, each with the shape and dtype of its ``states``, which hold no tokens."""
        for index, each in enumerate(states):
            self.update(each, each, index)

    def hold(self, length: int) -> None:
        """Hold so many tokens in every layer, whose buffers have been written to already."""
        for layer in self.layers:
            layer.resize(length)

    def rewind(self, length: int) -> None:
        """Forget all but the first ``length`` tokens, in every layer."""
        for layer in self.layers:
            layer.resize(min(length, layer.length))

    @torch.inference_mode()
    def repeat(self, length: int) -> bool:
        """Append copies of the tokens held, up to ``length`` in all, to time steps behind them; False if it cannot."""
        if not self.length or any(layer.indexed or not layer.is_initialized for layer in self.layers):
            return False
        for layer in self.layers:
            layer.repeat(length)
        return True

    def keep(self, base: int, offsets: Sequence[int]) -> None:
        """Keep the tokens at these offsets, in this order, of those that the last step wrote from ``base`` on."""
        in_place = 0
        while in_place < len(offsets) and offsets[in_place] == in_place:
            in_place += 1
        if in_place == len(offsets):
            self.rewind(base + in_place)
        else:
            self._compact([base + offset for offset in offsets[in_place:]], base + in_place, base + len(offsets))

    @torch.inference_mode()
    def _compact(self, moved: Sequence[int], to: int, length: int) -> None:
        indices = torch.tensor(moved)
        for layer in self.layers:
            if layer.is_initialized:
                indices = indices.to(layer.device)
                layer.move(indices, to)
            layer.resize(length)

    @torch.inference_mode()
    def copy(self) -> Self:
        """Return an independent cache with the same contents."""
        other = type(self)()
        other.layers = [layer.copy() for layer in self.layers]
        return other

    def fill(self, empty: Cache) -> bool:
        """Write copies of keys and values into an empty cache of transformers; False if it cannot hold all of them."""
        if any(layer.indexed for layer in self.layers):
            return False
        for index, layer in enumerate(self.layers):
            if layer.keys is not None and layer.values is not None:
                empty.update(layer.keys.clone(), layer.values.clone(), index)
        return True
