"""StaticPrefix: a KV prefix whose steps have one of a few shapes, so that a compiled forward pass serves them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from transformers import PreTrainedModel

from decoding.compiled.cache import StaticKVCache
from decoding.compiled.forward import DEFAULT_BACKEND, CompiledForward, Mask, compiled_forward
from decoding.compiled.inputs import padded, padded_size, single, varying, write_mask
from decoding.model.capabilities import Gate, gate_of
from decoding.model.inputs import AttentionReach, StepInputs, position_ids
from decoding.model.prefix import KVPrefix, OpaquePrefix, own_prefix
from decoding.model.state import observe
from decoding.model.support import Support
from decoding.model.unwrapping import unwrapped


def prefix_of(model: PreTrainedModel, gate: Gate, compiled: bool | str = False) -> KVPrefix | OpaquePrefix:
    """An empty prefix of the kind that serves a model.

    Args:
        compiled: whether steps go through `torch.compile`, or the name of the backend to use for that. Where the model
            cannot be compiled they do not, and a warning says why.
    """
    if not gate.rewindable:
        return OpaquePrefix(model, gate)
    if (own := own_prefix(model, gate)) is not None:
        return own
    if compiled:
        forward = compiled_forward(model, DEFAULT_BACKEND if compiled is True else compiled)
        if forward.reason is None:
            return StaticPrefix(model, gate, forward)
    return KVPrefix(model, gate)


def compile_support(model: PreTrainedModel, backend: str = DEFAULT_BACKEND) -> Support:
    """Whether steps of this model can go through `torch.compile`: tried, which takes seconds to minutes at first.

    Args:
        backend: what `torch.compile` knows it by.
    """
    model = unwrapped(model)
    observe(model)
    forward, gate = compiled_forward(model, backend), gate_of(model)
    if forward.reason is None:
        prefix = StaticPrefix(model, gate, forward)
        prefix.read_logits([0])
        # One token has a graph of its own, and any other number of them another.
        for tokens in (1, 2):
            prefix.branch_logits(padded(single(0), tokens))
            prefix.rewind(1)
    return Support(forward.reason is None, forward.reason)


class StaticPrefix(KVPrefix):
    """The prefix in a static KV cache: steps are compiled, the prompt is read as it would be otherwise.

    Whatever cannot be compiled, or comes out differently, goes the uncompiled way over the same cache.
    """

    def __init__(
        self, model: PreTrainedModel, gate: Gate, forward: CompiledForward, cache: StaticKVCache | None = None
    ) -> None:
        self._static = StaticKVCache() if cache is None else cache
        super().__init__(model, gate, self._static)
        self._compiled = forward
        self._buffers: dict[tuple[AttentionReach, int], torch.Tensor] = {}

    @property
    def compiled(self) -> bool:
        """Whether steps are compiled: they are, until that fails."""
        return self._compiled.reason is None

    @property
    def warm_ups(self) -> int:
        """How many steps of a new shape take longer than those after them; 0 where steps are not compiled."""
        return self._compiled.runs_to_know if self.compiled else 0

    def copy(self) -> StaticPrefix:
        return StaticPrefix(self._model, self._gate, self._compiled, self._static.copy())

    def read_logits(self, token_ids: Sequence[int]) -> torch.Tensor:
        return self.branch_logits(single(token_ids[0]))[0] if len(token_ids) == 1 else super().read_logits(token_ids)

    def branch_logits(self, inputs: StepInputs) -> torch.Tensor:
        size = padded_size(len(inputs))
        # The first tokens of all make the layers.
        if size is None or not self.compiled or not self.length:
            return super().branch_logits(inputs)
        return self._static_logits(inputs, size)

    @torch.inference_mode()
    def _static_logits(self, inputs: StepInputs, size: int) -> torch.Tensor:
        length = self.length
        self._static.make_room(length + size)
        step = padded(inputs, size)
        mask, expected = self._static_masks(step), None
        if not self._compiled.knows(mask):
            expected = super().branch_logits(inputs)
            self.rewind(length)
        try:
            logits = self._static_forward(step, mask)
        except Exception as error:  # a model's own code, and a compiler
            # If the model itself raises, that is raised here, and nobody's fault but its own.
            logits = super().branch_logits(inputs)
            self._compiled.give_up(f"its forward pass cannot be compiled ({type(error).__name__})")
            return logits
        self._static.hold(length + len(inputs))
        if expected is not None and not self._compiled.confirm(mask, logits, expected):
            self.rewind(length)
            return super().branch_logits(inputs)
        return logits

    def _static_forward(self, step: StepInputs, mask: Mask) -> torch.Tensor:
        """The logits at the rows of ``step.read``, in memory of their own. Shape (rows, vocabulary)."""
        length = self.length
        slots = varying(torch.arange(length, length + len(step), device=self._device), 0)
        token_ids = varying(torch.tensor([step.token_ids], device=self._device), 1)
        positions = varying(position_ids(length, step.depths, self._device), 1)
        with self._static.writing_at(slots):
            logits = self._compiled(self._model, token_ids, positions, mask, self._static)
        return logits[torch.tensor(step.read, device=self._device)]

    def _static_masks(self, step: StepInputs) -> Mask:
        reaches = self._gate.reaches
        assert reaches is not None, "the gate lets no branches through"
        if isinstance(reaches, Mapping):
            return {layer_type: self._static_mask(step, reach) for layer_type, reach in reaches.items()}
        return self._static_mask(step, reaches)

    def _static_mask(self, step: StepInputs, reach: AttentionReach) -> torch.Tensor:
        """The mask, written over that of an earlier step. Shape (1, 1, T, capacity)."""
        buffer, capacity = self._buffers.get((reach, len(step))), self._static.capacity
        if buffer is None or buffer.shape[-1] != capacity:
            buffer = torch.empty((1, 1, len(step), capacity), dtype=self._model.dtype, device=self._device)
            self._buffers[reach, len(step)] = varying(buffer, 2, 3)
        write_mask(buffer, step, self.length, reach)
        return buffer
