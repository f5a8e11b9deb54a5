"""A KV cache whose buffers keep their shape from step to step, so that a compiled forward pass can be used again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from transformers.cache_utils import Cache

from decoding.model.cache import BufferedLayer, KVCache
from decoding.model.torch_private import mark_static_address, mark_varying

MIN_CAPACITY = 512
"""Tokens that the buffers have room for at first. They double when a text outgrows them: attention looks at the whole
of them, so that more room than need be costs time in every step."""


class StaticLayer(BufferedLayer):
    """A layer that can also write at slots told by a tensor, and then gives back its whole buffers.

    Neither the length of the text nor a view of that length enters such a forward pass: the mask hides what is not
    of the text. Without slots it is a :class:`BufferedLayer`.

    Attributes:
        slots: where the next update writes, shape (tokens,), behind the ``length`` tokens held; None to append.
    """

    def __init__(self) -> None:
        self.slots: torch.Tensor | None = None
        super().__init__()

    @property
    def capacity(self) -> int:
        """How many tokens the buffers have room for; 0 before the first update."""
        return 0 if self._key_buffer is None else self._key_buffer.shape[-2]

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *args: object, **kwargs: object
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Write the new states, shape (1, heads, tokens, head size).

        Without slots, as the base class does. With slots, nothing but the buffers is changed: how many of the tokens
        are held afterwards is for :meth:`resize` to say.
        """
        if self.slots is None:
            self.make_room(self.length + key_states.shape[-2], key_states, value_states)
            return super().update(key_states, value_states)
        assert self._key_buffer is not None
        assert self._value_buffer is not None
        slots = self.slots.to(key_states.device)
        self._key_buffer.index_copy_(-2, slots, key_states)
        self._value_buffer.index_copy_(-2, slots, value_states)
        return self._key_buffer, self._value_buffer

    def update_indexer(self, indexer_key_states: torch.Tensor) -> torch.Tensor:
        """As the base class, without slots. Raises NotImplementedError with them: such models are not compiled."""
        if self.slots is not None:
            raise NotImplementedError("the index of a sparse attention is not written at slots")
        return super().update_indexer(indexer_key_states)

    def get_seq_length(self) -> int:
        if self.slots is None:
            return self.length
        # As transformers' own static layers: a number would be part of what is compiled.
        length: int = self.slots[0]  # type: ignore[assignment]
        return length

    def make_room(
        self, tokens: int, key_states: torch.Tensor | None = None, value_states: torch.Tensor | None = None
    ) -> None:
        """Have room for so many tokens; states of the right kind are needed where there are no buffers yet."""
        self._key_buffer = self._roomy(self._key_buffer, key_states, tokens)
        self._value_buffer = self._roomy(self._value_buffer, value_states, tokens)

    def _roomy(self, buffer: torch.Tensor | None, states: torch.Tensor | None, tokens: int) -> torch.Tensor:
        if buffer is not None and buffer.shape[-2] >= tokens:
            return buffer
        like = states if buffer is None else buffer
        assert like is not None, "nothing has been written yet"
        capacity = MIN_CAPACITY
        while capacity < tokens:
            capacity *= 2
        # What is hidden by the mask is still multiplied, by zero: it has to be finite.
        roomy = like.new_zeros((*like.shape[:-2], capacity, like.shape[-1]))
        if buffer is not None:
            roomy[..., : self.length, :] = buffer[..., : self.length, :]
        mark_static_address(roomy)
        return mark_varying(roomy, -2)

    def copy(self) -> StaticLayer:
        """A layer of its own with the same states."""
        other = StaticLayer()
        if self._key_buffer is not None and self._value_buffer is not None:
            other.make_room(self.capacity, self._key_buffer, self._value_buffer)
            other.lazy_initialization(self._key_buffer, self._value_buffer)
            for mine, its in ((self._key_buffer, other._key_buffer), (self._value_buffer, other._value_buffer)):
                assert its is not None
                its.copy_(mine)
            other._index_buffer = None if self._index_buffer is None else self._index_buffer.clone()
            other.resize(self.length)
        return other


class StaticKVCache(KVCache):
    """As :class:`KVCache`, and able to write at slots. Nothing that can be observed between two steps differs."""

    layers: list[StaticLayer]  # type: ignore[assignment]  # as in the base class

    def __init__(self) -> None:
        Cache.__init__(self, layer_class_to_replicate=StaticLayer)

    @property
    def capacity(self) -> int:
        """How many tokens all layers have room for; 0 before the first forward pass."""
        return min((layer.capacity for layer in self.layers if layer.is_initialized), default=0)

    @torch.inference_mode()
    def make_room(self, tokens: int) -> None:
        """Have room for so many tokens, once there are layers."""
        for layer in self.layers:
            if layer.is_initialized:
                layer.make_room(tokens)

    @contextmanager
    def writing_at(self, slots: torch.Tensor) -> Iterator[None]:
        """While this lasts, every layer writes at these slots, shape (tokens,), and its length stays."""
        for layer in self.layers:
            layer.slots = slots
        try:
            yield
        finally:
            for layer in self.layers:
                layer.slots = None

    def hold(self, length: int) -> None:
        """The first ``length`` slots are the text."""
        for layer in self.layers:
            layer.resize(length)

    @torch.inference_mode()
    def copy(self) -> StaticKVCache:
        other = StaticKVCache()
        other.layers = [layer.copy() for layer in self.layers]
        return other
