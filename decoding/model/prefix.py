"""KVPrefix: the prefix as the model holds it in a KV cache, which can be rewound."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Self

import torch
from torch import nn

from decoding.model.capabilities import ModelCapabilities, accepted_arguments, cache_argument, vocabulary_size
from decoding.model.kv_cache import KVCache
from decoding.model.linear_kernels import FEW_ROWS, ModuleView, is_changed_globally, linear
from decoding.model.rotary import ReadLengths, RotaryState
from decoding.model.step_inputs import AttentionPattern, StepInputs, additive_mask, position_ids

if TYPE_CHECKING:
    from transformers import Cache, PreTrainedModel


def input_device(model: PreTrainedModel) -> torch.device:
    """Return the device of the model's token ids; with a device map its layers may lie elsewhere."""
    weight = getattr(model.get_input_embeddings(), "weight", None)  # a packed one has no such tensor, and is on the CPU
    return weight.device if isinstance(weight, torch.Tensor) else torch.device("cpu")


class KVPrefix:
    """The prefix in a KV cache, which is unchanged if a forward pass raises.

    Attributes:
        cache: the keys and values of the tokens read.
        one_chain: True if a step verifies one chain of candidates, and neither a tree nor a window.
        rereads: the number of accepted tokens that the next forward pass reads again.
        cuts_back: True if none are read again, whatever a step rejects.
        is_batch_invariant: True if a prefill's states are the same, bit for bit, whatever its chunks.
    """

    one_chain, rereads, cuts_back, is_batch_invariant = False, 0, True, False

    def __init__(self, model: PreTrainedModel, capabilities: ModelCapabilities, cache: KVCache | None = None) -> None:
        self._model, self._capabilities = model, capabilities
        self._view = ModuleView(linear)
        self.cache = KVCache() if cache is None else cache
        self._read_lengths = ReadLengths(capabilities.lengths)
        self._rotary = None if capabilities.lengths is None else RotaryState(model)
        self._device = input_device(model)
        # Looked up once: the model searches its parameters for it.
        self._dtype = model.dtype
        arguments = accepted_arguments(model)
        self._cache_argument = cache_argument(model) or "past_key_values"
        self._takes_positions = "position_ids" in arguments
        self._selects_logits = "logits_to_keep" in arguments

    @property
    def vocabulary(self) -> int:
        """The number of token ids that the model knows."""
        return vocabulary_size(self._model)

    @property
    def length(self) -> int:
        """The number of tokens read."""
        return self.cache.length

    def rewindable_to(self, length: int) -> int:
        """Return how many of the first ``length`` tokens :meth:`rewind` leaves."""
        return length

    def rewind(self, length: int) -> None:
        """Forget all but the first ``length`` tokens; a recurrent state may have to forget more."""
        self.cache.rewind(length)

    def keep(self, base: int, offsets: Sequence[int]) -> None:
        """Keep the tokens at these offsets of those that the last step wrote from ``base`` on."""
        self.cache.keep(base, offsets)

    def matching_prefill(self, length: int) -> int:
        """Return how many tokens of the prefix have the states that a prefill of a text of this length would give."""
        return 0 if self._capabilities.reads_ahead else self._read_lengths.matching_prefill(length, self.length)

    def copy(self) -> Self:
        """Return an independent prefix that has read the same."""
        other = copy.copy(self)
        other.cache, other._read_lengths = self.cache.copy(), self._read_lengths.copy()
        return other

    def fill(self, empty: Cache) -> bool:
        """Write copies of keys and values into an empty cache of transformers; False if it cannot hold all of them."""
        return self.cache.fill(empty)

    def next_logits(self, token_ids: Sequence[int]) -> torch.Tensor:
        """Read the next tokens; returns the logits after the last of them, shape (vocabulary,).

        They, and those of :meth:`branch_logits`, may lie where the next forward pass writes its own.
        """
        # No mask: the fastest attention kernels are causal.
        module = self._with_kernels(len(token_ids)) if self._dtype is torch.bfloat16 else None
        return self._forward(token_ids, range(len(token_ids)), None, [len(token_ids) - 1], module)[0]

    def branch_logits(self, inputs: StepInputs) -> torch.Tensor:
        """Run one forward pass over both branches; returns logits, one row for each of ``inputs.logit_rows``."""
        if len(inputs) == 1:
            return KVPrefix.next_logits(self, inputs.token_ids)[None]
        masks, module = self._masks(inputs, self._mask), self._with_kernels(len(inputs))
        return self._forward(inputs.token_ids, inputs.depths, masks, inputs.logit_rows, module)

    def _with_kernels(self, rows: int) -> nn.Module:
        """Return the module to call for so many tokens: the model, or a view of it whose linear layers have kernels."""
        few = self._device.type == "cpu" and rows in FEW_ROWS.get(self._dtype, ())
        return self._view.of(self._model) if few and not is_changed_globally() else self._model

    def _masks(
        self, inputs: StepInputs, mask: Callable[[StepInputs, AttentionPattern], torch.Tensor]
    ) -> torch.Tensor | dict[str, torch.Tensor]:
        attention_patterns = self._capabilities.attention_patterns
        assert attention_patterns is not None, "the model takes no steps over several branches"
        if isinstance(attention_patterns, Mapping):
            return {layer_type: mask(inputs, pattern) for layer_type, pattern in attention_patterns.items()}
        return mask(inputs, attention_patterns)

    def _mask(self, inputs: StepInputs, pattern: AttentionPattern) -> torch.Tensor:
        return additive_mask(inputs, self.length, pattern, self._dtype, self._device)

    @torch.inference_mode()
    def _forward(
        self, token_ids: Sequence[int], depths: Any, mask: Any, read: Sequence[int], module: nn.Module | None = None
    ) -> torch.Tensor:
        length = self.length
        arguments: dict[str, Any] = {"attention_mask": mask, self._cache_argument: self.cache}
        if self._takes_positions:
            arguments["position_ids"] = position_ids(length, depths, self._device)
        if self._selects_logits:
            arguments["logits_to_keep"] = torch.tensor(read, device=self._device)
        try:
            with nullcontext() if self._rotary is None else self._rotary.original():
                output = (module or self._model)(
                    input_ids=torch.tensor([list(token_ids)], device=self._device),
                    use_cache=True,
                    return_dict=True,
                    **arguments,
                )
        except BaseException:
            self.rewind(length)
            raise
        # The first depth is negative where tokens are read again.
        self._read_lengths.note(length + depths[0], length + 1 + max(depths))
        logits: torch.Tensor = output.logits[0]
        return logits if self._selects_logits else logits[list(read)]
