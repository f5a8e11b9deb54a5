"""StaticPrefix: a KV prefix whose steps have one of a few shapes, as a compiled forward pass needs them.

Steps are padded, and the buffers of its cache keep their shape from step to step.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Self

import numpy as np
import torch
from transformers.cache_utils import Cache

from decoding.model.capabilities import ModelCapabilities
from decoding.model.kv_cache import BufferedLayer, KVCache
from decoding.model.prefix import KVPrefix
from decoding.model.private_interfaces import mark_static_address, mark_varying
from decoding.model.step_inputs import AttentionPattern, StepInputs, position_ids, write_mask
from decoding.torch_compile.compiled_forward import AttentionMask, CompiledForward

if TYPE_CHECKING:
    from transformers import PreTrainedModel

SIZES = (1, 4, 8, 16, 32, 64, 128, 256)
"""Token counts that steps are padded to. Few, since CUDA records a graph for each; to a GPU 100 tokens cost little more
than 10."""
MIN_CAPACITY = 512
"""Tokens that the buffers first have room for; they double when a text outgrows them. Attention computes over all of
the buffer, so that spare room costs time in every step."""


def padded_size(tokens: int) -> int | None:
    """Return the size that a step over so many tokens is padded to; None if it is too large."""
    return next((size for size in SIZES if size >= tokens), None)


def fewest_padded_to(size: int) -> int:
    """Return the least number of tokens that is padded to this size."""
    return next((smaller + 1 for smaller in reversed(SIZES) if smaller < size), 1)


def padded(inputs: StepInputs, size: int) -> StepInputs:
    """Return the same step with hidden rows after its own, ``size`` in all.

    Each repeats the first row, the last token of the text, so that its states are as finite as the real one's.
    """
    total = len(inputs)
    if total == size:
        return inputs
    visible = np.zeros((size, size), dtype=np.bool_)
    visible[:total, :total] = inputs.visible
    visible[total:, 0] = True
    return StepInputs(
        token_ids=[*inputs.token_ids, *[inputs.token_ids[0]] * (size - total)],
        depths=[*inputs.depths, *[0] * (size - total)],
        mask=visible.tobytes(),
        logit_rows=inputs.logit_rows,
    )


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


class StaticPrefix(KVPrefix):
    """The prefix in a static KV cache: steps are compiled, prefills are not.

    A step that cannot be compiled, or whose logits differ, runs uncompiled over the same cache.
    """

    cache: StaticKVCache

    def __init__(self, model: PreTrainedModel, capabilities: ModelCapabilities, forward: CompiledForward) -> None:
        super().__init__(model, capabilities, StaticKVCache())
        self._compiled = forward
        self._buffers: dict[tuple[AttentionPattern, int], torch.Tensor] = {}

    @property
    def compiled(self) -> bool:
        """True until compiling a step has failed."""
        return self._compiled.reason is None

    @property
    def warm_ups(self) -> int:
        """The number of slow first steps at a new shape; 0 if steps are not compiled."""
        return self._compiled.runs_to_know if self.compiled else 0

    def compile(self) -> None:
        """Compile the steps of an empty prefix, by running them."""
        self.next_logits([0])
        # One token has a graph of its own, and any other number of them another.
        for tokens in (1, 2):
            self.branch_logits(padded(StepInputs.chain([0]), tokens))
            self.rewind(1)

    def copy(self) -> Self:
        other = super().copy()
        other._buffers = {}
        return other

    def next_logits(self, token_ids: Sequence[int]) -> torch.Tensor:
        if len(token_ids) != 1:
            return super().next_logits(token_ids)
        return self.branch_logits(StepInputs.chain([*token_ids]))[0]

    def branch_logits(self, inputs: StepInputs) -> torch.Tensor:
        size = padded_size(len(inputs))
        # The first tokens of a text create the layers.
        if size is None or not self.compiled or not self.length:
            return super().branch_logits(inputs)
        return self._static_logits(inputs, size)

    @torch.inference_mode()
    def _static_logits(self, inputs: StepInputs, size: int) -> torch.Tensor:
        length = self.length
        self.cache.make_room(length + size)
        step = padded(inputs, size)
        mask, expected = self._masks(step, self._static_mask), None
        if not self._compiled.knows(mask):
            expected = super().branch_logits(inputs)
            self.rewind(length)
        try:
            logits = self._static_forward(step, mask)
        except Exception as error:  # a model's own code, and a compiler
            # If the model itself raises, this raises too.
            logits = super().branch_logits(inputs)
            self._compiled.give_up(f"its forward pass cannot be compiled ({type(error).__name__})")
            return logits
        self.cache.hold(length + len(inputs))
        if expected is not None and not self._compiled.confirm(mask, logits, expected):
            self.rewind(length)
            return super().branch_logits(inputs)
        return logits

    def _static_forward(self, step: StepInputs, mask: AttentionMask) -> torch.Tensor:
        """Return a copy of the logits at the rows of ``step.logit_rows``, shape (rows, vocabulary)."""
        length = self.length
        slots = mark_varying(torch.arange(length, length + len(step), device=self._device), 0)
        token_ids = mark_varying(torch.tensor([step.token_ids], device=self._device), 1)
        positions = mark_varying(position_ids(length, step.depths, self._device), 1)
        with self.cache.writing_at(slots):
            logits = self._compiled(self._model, token_ids, positions, mask, self.cache)
        return logits[torch.tensor(step.logit_rows, device=self._device)]

    def _static_mask(self, step: StepInputs, pattern: AttentionPattern) -> torch.Tensor:
        """Return the mask, written over that of an earlier step. Shape (1, 1, T, capacity)."""
        buffer, capacity = self._buffers.get((pattern, len(step))), self.cache.capacity
        if buffer is None or buffer.shape[-1] != capacity:
            buffer = torch.empty((1, 1, len(step), capacity), dtype=self._model.dtype, device=self._device)
            self._buffers[pattern, len(step)] = mark_varying(buffer, 2, 3)
        write_mask(buffer, step, self.length, pattern)
        return buffer
