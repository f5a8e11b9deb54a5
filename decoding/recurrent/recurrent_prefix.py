"""RecurrentPrefix: the prefix of a model whose recurrent state cannot be rewound, and which is decoded plainly."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import torch

from decoding.model.capabilities import ModelCapabilities
from decoding.model.prefix import input_device
from decoding.model.private_interfaces import arguments_after
from decoding.model.rotary import ReadLengths, RotaryState

if TYPE_CHECKING:
    from transformers import PreTrainedModel


class RecurrentPrefix:
    """The prefix in a recurrent state, with the methods of :class:`KVPrefix`; rewinding forgets all of it."""

    is_batch_invariant = one_chain = cuts_back = False
    rereads = 0

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

    def rewindable_to(self, length: int) -> int:
        return length if length >= len(self._read) else 0

    def rewind(self, length: int) -> None:
        if length < len(self._read):
            self._state, self._read = {}, []

    def matching_prefill(self, length: int) -> int:
        """Return the whole prefix or 0: later tokens are read one by one, which must give a single prefill's states."""
        held, lengths = len(self._read), self._capabilities.lengths
        if self._capabilities.reads_ahead or self._read_lengths.matching_prefill(length, held) < held:
            return 0
        one_at_a_time = lengths is None or lengths.frequencies(held + 1) == lengths.frequencies(length)
        return held if one_at_a_time else 0

    def copy(self) -> RecurrentPrefix:
        other = copy.copy(self)  # texts read are replaced, never changed
        other._state, other._read_lengths = copy.deepcopy(self._state), self._read_lengths.copy()
        return other

    @torch.inference_mode()
    def next_logits(self, token_ids: Sequence[int]) -> torch.Tensor:
        try:
            if not self._read:
                return self._forward(token_ids, list(token_ids))
            # Singly: recurrent models take several tokens only at the start.
            for token in token_ids:
                logits = self._forward([token], [*self._read, token])
            return logits
        except BaseException:
            self.rewind(0)
            raise

    def _forward(self, new: Sequence[int], whole: list[int]) -> torch.Tensor:
        # As in `generate`: some of these models take tokens beside the text, and without a state the whole text.
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
