"""The committed prefix as the model holds it: read on, looked ahead from, and (with a KV cache) rewound."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import Any, Protocol

import torch
from transformers import Cache, PreTrainedModel

from decoding.model.cache import KVCache
from decoding.model.capabilities import ModelCapabilities, accepted_arguments
from decoding.model.inputs import AttentionPattern, StepInputs, additive_mask, position_ids
from decoding.model.linear_kernels import LinearKernels, ModelWithKernels
from decoding.model.rotary import ReadLengths, RotaryState
from decoding.model.transformers_private import arguments_after


def input_device(model: PreTrainedModel) -> torch.device:
    """Where the model wants its token ids; with a device map, its layers may lie elsewhere."""
    weight = model.get_input_embeddings().weight
    assert isinstance(weight, torch.Tensor)
    return weight.device


class Prefix(Protocol):
    """What the model has read."""

    @property
    def length(self) -> int:
        """How many tokens have been read."""

    def read_logits(self, token_ids: Sequence[int]) -> torch.Tensor:
        """Read tokens that follow; returns the logits after the last of them, shape (vocabulary,)."""

    def rewind(self, length: int) -> None:
        """Forget all but the first ``length`` tokens, or more than that where so few cannot be kept."""

    def read_as(self, length: int) -> int:
        """How many of the tokens read have the states that a prefill of a text of this length would give them."""

    def copy(self) -> Prefix:
        """A prefix of its own with the same contents."""


class KVPrefix:
    """The prefix in a KV cache. Whatever raises in the middle of a forward, the cache is as it was before."""

    def __init__(
        self,
        model: PreTrainedModel,
        capabilities: ModelCapabilities,
        kernels: Callable[[], LinearKernels],
        cache: KVCache | None = None,
        read_lengths: ReadLengths | None = None,
    ) -> None:
        """
        Args:
            kernels: returns the model's linear kernels, up to date; asked at every step over several tokens.
        """
        self._model, self._capabilities, self._kernels = model, capabilities, kernels
        self._with_kernels = ModelWithKernels(model, kernels)
        self._cache = KVCache() if cache is None else cache
        self._read_lengths = ReadLengths(capabilities.lengths) if read_lengths is None else read_lengths
        self._rotary = None if capabilities.lengths is None else RotaryState(model)
        self._device = input_device(model)
        # Asked for once: the model looks through its parameters for it.
        self._dtype = model.dtype
        arguments = accepted_arguments(model)
        self._takes_positions = "position_ids" in arguments
        self._selects_logits = "logits_to_keep" in arguments

    @property
    def length(self) -> int:
        return self._cache.length

    def rewind(self, length: int) -> None:
        self._cache.rewind(length)

    def keep(self, base: int, offsets: Sequence[int]) -> None:
        """Of what the last look ahead wrote from ``base`` on, keep the tokens at these offsets."""
        self._cache.keep(base, offsets)

    def read_as(self, length: int) -> int:
        return 0 if self._capabilities.reads_ahead else self._read_lengths.read_as(length, self.length)

    def copy(self) -> KVPrefix:
        return KVPrefix(self._model, self._capabilities, self._kernels, self._cache.copy(), self._read_lengths.copy())

    def fill(self, empty: Cache) -> bool:
        """Write copies of what is held into an empty cache of transformers.

        Returns:
            False if nothing was written, since such a cache would not hold all of it.
        """
        if self._cache.indexed:
            return False
        self._cache.fill(empty)
        return True

    def read_logits(self, token_ids: Sequence[int]) -> torch.Tensor:
        # No mask: causal attention over a whole chunk is what the fastest kernels serve.
        return self._forward(token_ids, range(len(token_ids)), None, [len(token_ids) - 1])[0]

    def branch_logits(self, inputs: StepInputs) -> torch.Tensor:
        """One forward pass over both branches; the logits at the rows of ``inputs.read``. Shape (rows, vocabulary)."""
        if len(inputs) == 1:
            return self._forward(inputs.token_ids, inputs.depths, None, inputs.read)
        return self._forward(
            inputs.token_ids, inputs.depths, self._masks(inputs), inputs.read, self._with_kernels.module()
        )

    def _masks(self, inputs: StepInputs) -> torch.Tensor | dict[str, torch.Tensor] | None:
        attention_patterns = self._capabilities.attention_patterns
        assert attention_patterns is not None, "the capabilities lets no branches through"
        if isinstance(attention_patterns, Mapping):
            return {layer_type: self._mask(inputs, pattern) for layer_type, pattern in attention_patterns.items()}
        return self._mask(inputs, attention_patterns)

    def _mask(self, inputs: StepInputs, pattern: AttentionPattern) -> torch.Tensor:
        return additive_mask(inputs, self.length, pattern, self._dtype, self._device)

    @torch.inference_mode()
    def _forward(
        self,
        token_ids: Sequence[int],
        depths: Any,
        mask: Any,
        read: Sequence[int],
        module: torch.nn.Module | None = None,
    ) -> torch.Tensor:
        length = self.length
        arguments: dict[str, Any] = {"attention_mask": mask}
        if self._takes_positions:
            arguments["position_ids"] = position_ids(length, depths, self._device)
        if self._selects_logits:
            arguments["logits_to_keep"] = torch.tensor(read, device=self._device)
        try:
            with nullcontext() if self._rotary is None else self._rotary.original():
                output = (module or self._model)(
                    input_ids=torch.tensor([list(token_ids)], device=self._device),
                    past_key_values=self._cache,
                    use_cache=True,
                    return_dict=True,
                    **arguments,
                )
        except BaseException:
            self.rewind(length)
            raise
        self._read_lengths.note(length, length + 1 + max(depths))
        logits: torch.Tensor = output.logits[0]
        return logits if self._selects_logits else logits[list(read)]


class RecurrentPrefix:
    """The prefix in a state that can only read on, as a recurrent model's; for anything else it is read anew."""

    def __init__(self, model: PreTrainedModel, capabilities: ModelCapabilities) -> None:
        self._model, self._capabilities = model, capabilities
        self._device = input_device(model)
        self._rotary = None if capabilities.lengths is None else RotaryState(model)
        self._state: dict[str, Any] = {}
        self._read: list[int] = []
        self._read_lengths = ReadLengths(capabilities.lengths)

    @property
    def length(self) -> int:
        return len(self._read)

    def rewind(self, length: int) -> None:
        if length < len(self._read):
            self._state, self._read = {}, []

    def read_as(self, length: int) -> int:
        """All of them or none: what follows is read one at a time, and has to come out as in one prefill too."""
        held, lengths = len(self._read), self._capabilities.lengths
        if self._capabilities.reads_ahead or self._read_lengths.read_as(length, held) < held:
            return 0
        one_at_a_time = lengths is None or lengths.frequencies(held + 1) == lengths.frequencies(length)
        return held if one_at_a_time else 0

    def copy(self) -> RecurrentPrefix:
        other = RecurrentPrefix(self._model, self._capabilities)
        other._state, other._read = copy.deepcopy(self._state), self._read.copy()
        other._read_lengths = self._read_lengths.copy()
        return other

    @torch.inference_mode()
    def read_logits(self, token_ids: Sequence[int]) -> torch.Tensor:
        try:
            if not self._read:
                return self._forward(token_ids, list(token_ids))
            # One at a time: recurrent models read several tokens at once only from the start.
            for token in token_ids:
                logits = self._forward([token], [*self._read, token])
            return logits
        except BaseException:
            self.rewind(0)
            raise

    def _forward(self, new: Sequence[int], whole: list[int]) -> torch.Tensor:
        # As `generate` feeds it: some of these models get tokens beside the text, and without a state to read on from
        # the whole text is read again.
        model: Any = self._model
        inputs = model.prepare_inputs_for_generation(
            torch.tensor([whole], device=self._device),
            next_sequence_length=len(new) if self._state else None,
            is_first_iteration=not self._read,
            use_cache=True,
            **self._state,
        )
        with nullcontext() if self._rotary is None else self._rotary.original():
            output = model(**inputs, return_dict=True)
        self._read_lengths.note(len(self._read), len(whole))
        self._state = arguments_after(model, output)
        self._read = whole
        logits: torch.Tensor = output.logits[0, -1]
        return logits
