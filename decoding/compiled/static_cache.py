"""A KV cache whose buffers keep their shape from step to step, as compiled forward passes need it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from transformers.cache_utils import Cache

from decoding.model.kv_cache import BufferedLayer, KVCache
from decoding.model.private_interfaces import mark_static_address, mark_varying

MIN_CAPACITY = 512
"""Tokens that the buffers first have room for; they double when a text outgrows them. Attention computes over all of
the buffer, so that spare room costs time in every step."""


class StaticLayer(BufferedLayer):
    """A layer that can also write at slots given by a tensor, and then returns its whole buffers.

    Such a forward pass does not depend on the length of the text: the mask hides the rest of the buffers. Without
    slots it is a :class:`BufferedLayer`.

    Attributes:
        slots: the places of the next update, shape (tokens,), after the ``length`` tokens held; None to append.
    """

    def __init__(self) -> None:
        self.slots: torch.Tensor | None = None
        super().__init__()

    @property
    def capacity(self) -> int:
        """The number of tokens that the buffers have room for; 0 before the first update."""
        return 0 if self._key_buffer is None else self._key_buffer.shape[-2]

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *args: object, **kwargs: object
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Write the new states, shape (1, heads, tokens, head size).

        Without slots, as the base class does. With slots only the buffers change; :meth:`resize` then sets the length.
        """
        if self.slots is None:
            return super().update(key_states, value_states)
        assert self._key_buffer is not None
        assert self._value_buffer is not None
        slots = self.slots.to(key_states.device)
        self._key_buffer.index_copy_(-2, slots, key_states)
        self._value_buffer.index_copy_(-2, slots, value_states)
        return self._key_buffer, self._value_buffer

    def update_indexer(self, indexer_key_states: torch.Tensor) -> torch.Tensor:
        """Append index keys. Raises NotImplementedError with slots: such models are not compiled."""
        if self.slots is not None:
            raise NotImplementedError("the index of a sparse attention is not written at slots")
        return super().update_indexer(indexer_key_states)

    def get_seq_length(self) -> int:
        if self.slots is None:
            return self.length
        # A tensor, as in transformers' own static layers: a number would be compiled in.
        length: int = self.slots[0]  # type: ignore[assignment]
        return length

    def _new_buffer(self, states: torch.Tensor, tokens: int) -> torch.Tensor:
        capacity = MIN_CAPACITY
        while capacity < tokens:
            capacity *= 2
        # Masked states are still multiplied by zero, so they have to be finite.
        return _announced(states.new_zeros((*states.shape[:-2], capacity, states.shape[-1])))

    @staticmethod
    def _clone(buffer: torch.Tensor) -> torch.Tensor:
        return _announced(buffer.clone())


class StaticKVCache(KVCache):
    """A :class:`KVCache` that can write at slots; between steps the two are alike."""

    layers: list[StaticLayer]  # type: ignore[assignment]  # as in the base class

    def __init__(self) -> None:
        Cache.__init__(self, layer_class_to_replicate=StaticLayer)

    @property
    def capacity(self) -> int:
        """The number of tokens that all layers have room for; 0 before the first forward pass."""
        return min((layer.capacity for layer in self.layers if layer.is_initialized), default=0)

    @torch.inference_mode()
    def make_room(self, tokens: int) -> None:
        """Grow all layers to so many tokens, once there are layers."""
        for layer in self.layers:
            if layer.is_initialized:
                layer.reserve(tokens)

    @contextmanager
    def writing_at(self, slots: torch.Tensor) -> Iterator[None]:
        """Have every layer write at these slots, shape (tokens,), without a change of its length."""
        for layer in self.layers:
            layer.slots = slots
        try:
            yield
        finally:
            for layer in self.layers:
                layer.slots = None


def _announced(buffer: torch.Tensor) -> torch.Tensor:
    """Return a buffer, having told the compiler that its address lasts and its capacity varies."""
    mark_static_address(buffer)
    return mark_varying(buffer, -2)
