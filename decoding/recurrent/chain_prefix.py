"""ChainPrefix: the prefix of a model with a recurrent state, whose steps verify one chain of candidates; and its cache.

If only part of a chain is accepted, the state from before the step is restored, and the next forward pass begins by
reading the accepted tokens again: going back takes no pass of its own. A model whose only recurrent layers are
convolutions is cut back instead, and reads nothing again.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import torch
from transformers import PreTrainedConfig
from transformers.cache_utils import Cache, DynamicCache, DynamicLayer, DynamicSlidingWindowLayer

from decoding.model.capabilities import ModelCapabilities, vocabulary_size
from decoding.model.kv_cache import BufferedLayer, KVCache
from decoding.model.mask_check import NOISE_FACTOR, ROUNDINGS, distance, reason_or_failure
from decoding.model.prefix import KVPrefix
from decoding.model.step_inputs import StepInputs
from decoding.recurrent.recurrent_prefix import RecurrentPrefix

if TYPE_CHECKING:
    from transformers import PreTrainedModel

BUFFERED = (DynamicLayer, DynamicSlidingWindowLayer)
"""Layers of transformers that buffers replace, which can be cut back without a copy."""
MAX_REREADS = 64
"""Maximum number of tokens that a rewound prefix leaves to be read again, rather than being cut shorter."""
FIRST_TOKENS, PREFIX_TOKENS = 7, 80
"""Tokens read first, and all tokens read before the steps: some models read a text in blocks of 64."""
STEP_TOKENS = 4
MIN_TOLERANCE = 2e-5
"""Smaller than in the mask check: with random weights states hardly matter, and a wrong one changes logits by 1e-4."""


class _KeptState(NamedTuple):
    """The states after ``length`` tokens: each layer's attributes, empty if it holds only keys and values."""

    length: int
    layers: list[dict[str, Any]]


class StateCache(KVCache):
    """Keys and values, and recurrent states beside them or in their place.

    A recurrent state cannot be cut back, but a copy of it can be kept and restored. Convolutions alone are cut back by
    transformers' own `crop`, which reaches as far as the last forward pass.

    Attributes:
        is_recording: True once transformers keeps the columns of convolutions by which `crop` cuts them back.
    """

    layers: list[Any]  # state layers are no buffers

    def __init__(self, config: PreTrainedConfig) -> None:
        self._config = config
        Cache.__init__(self, layers=[])
        self._clear()

    def _clear(self) -> None:
        own = DynamicCache(config=self._config).layers
        self.layers = [BufferedLayer() if type(layer) in BUFFERED else layer for layer in own]
        # The tokens read, and those from which `crop` could put back the last forward pass.
        self._length = self._before = 0
        self._kept: _KeptState | None = None
        # False while layers may differ in length: a forward pass is under way, or was interrupted.
        self._is_whole, self.is_recording = True, False

    @property
    def length(self) -> int:
        """The number of tokens read."""
        return self._length

    @contextmanager
    def reading(self, tokens: int) -> Iterator[None]:
        """Run a forward pass over so many tokens; where it raises or is interrupted, :meth:`rewind` undoes it."""
        if self.is_recording:
            # Drops the columns by which the last forward pass could have been cut back.
            self.crop(0)
        self._is_whole = False
        yield
        self._is_whole, self._before = True, self._length
        self._length += tokens
        if not self.is_recording and self.is_croppable:
            self.activate_past_recording()  # type: ignore[no-untyped-call]
            self.is_recording, self._before = True, self._length

    @torch.inference_mode()
    def keep_state(self) -> None:
        """Keep a copy of the states as they are now, in place of the one kept before."""
        if self._length and (self._kept is None or self._kept.length != self._length):
            self._kept = _KeptState(self._length, [_state_of(layer) for layer in self.layers])

    def rewindable_to(self, length: int) -> int:
        """Return the most tokens up to ``length`` that :meth:`rewind` can go back to."""
        if self._is_whole and length >= (self._before if self.is_recording else self._length):
            return min(length, self._length)
        return self._kept.length if self._kept is not None and self._kept.length <= length else 0

    @torch.inference_mode()
    def rewind(self, length: int) -> None:
        """Go back to as many tokens as possible, up to ``length``."""
        reached = self.rewindable_to(length)
        if self._is_whole and reached == self._length:
            return
        was_whole, self._is_whole = self._is_whole, False
        if was_whole and self.is_recording and reached >= self._before:
            self.crop(reached - self._length)
            self._length = self._before = reached
        elif self._kept is not None and self._kept.length == reached:
            self._restore(self._kept)
        else:
            self._clear()
        self._is_whole = True

    def copy(self) -> StateCache:
        """Return an independent cache with the same contents."""
        other = copy.copy(self)
        # Together, since the kept states share keys and values with the layers.
        other.layers, other._kept = copy.deepcopy((self.layers, self._kept))
        return other

    def fill(self, empty: Cache) -> bool:
        return False

    def _restore(self, kept: _KeptState) -> None:
        for layer, state in zip(self.layers, kept.layers, strict=True):
            if isinstance(layer, BufferedLayer):
                layer.resize(min(kept.length, layer.length))
            else:
                vars(layer).update(_copied(state))
        self._length = self._before = kept.length


def _state_of(layer: Any) -> dict[str, Any]:
    """Return the attributes of a layer, to be restored."""
    return {} if isinstance(layer, BufferedLayer) else _copied(vars(layer))


def _copied(attributes: dict[str, Any]) -> dict[str, Any]:
    """Copy a layer's attributes: models write into states, but replace keys and values by longer ones."""

    def cloned(state: Any) -> Any:
        return state.clone() if isinstance(state, torch.Tensor) else state

    return {
        name: {index: cloned(state) for index, state in value.items()} if isinstance(value, dict) else value
        for name, value in attributes.items()
    }


class ChainPrefix(KVPrefix):
    """The prefix in a cache with recurrent states."""

    one_chain = True
    cache: StateCache

    def __init__(self, model: PreTrainedModel, capabilities: ModelCapabilities) -> None:
        super().__init__(model, capabilities, StateCache(model.config))
        # The cache may have read fewer than these.
        self._tokens: list[int] = []

    @property
    def length(self) -> int:
        return len(self._tokens)

    @property
    def rereads(self) -> int:  # type: ignore[override]  # a constant in the base class
        return len(self._tokens) - self.cache.length

    @property
    def cuts_back(self) -> bool:  # type: ignore[override]
        return self.cache.is_recording

    def rewindable_to(self, length: int) -> int:
        read = self.cache.rewindable_to(length)
        return length if 0 < read >= length - MAX_REREADS else read

    def rewind(self, length: int) -> None:
        self._go_back(self.rewindable_to(length))

    def keep(self, base: int, offsets: Sequence[int]) -> None:
        self._go_back(base + len(offsets))

    def copy(self) -> Self:
        other = super().copy()
        other._tokens = self._tokens.copy()
        return other

    def next_logits(self, token_ids: Sequence[int]) -> torch.Tensor:
        return self._read(token_ids, [len(token_ids) - 1])[0]

    def branch_logits(self, inputs: StepInputs) -> torch.Tensor:
        assert inputs.depths == [*range(len(inputs))], "a recurrent state takes one chain of candidates and no window"
        self.cache.keep_state()
        return self._read(inputs.token_ids, inputs.logit_rows)

    def _read(self, token_ids: Sequence[int], rows: Sequence[int]) -> torch.Tensor:
        """Read the tokens left to be read again, then these; return the logits at ``rows`` of these."""
        # Does nothing unless the last forward pass was interrupted.
        self._go_back(len(self._tokens))
        again = self._tokens[self.cache.length :]
        ids, first = [*again, *token_ids], len(again)
        # As for keys and values alone: a prefill in float32 is left to PyTorch's own kernels.
        several = first or len(rows) > 1 or self._dtype is torch.bfloat16
        module = self._with_kernels(len(ids)) if several else None
        with self.cache.reading(len(ids)):
            depths = range(-first, len(token_ids))
            logits = self._forward(ids, depths, None, [first + row for row in rows], module)
        self._tokens += token_ids
        return logits

    def _go_back(self, length: int) -> None:
        """Forget all but the first ``length`` tokens; what the cache has to forget beyond that will be read again."""
        self.cache.rewind(length)
        del self._tokens[length:]


def why_chains_fail(model: PreTrainedModel, capabilities: ModelCapabilities) -> str | None:
    """Return the reason why steps over one chain of candidates differ from plain decoding; None if they do not.

    Raises as :func:`reason_or_failure`.
    """

    def check() -> str | None:
        if not _chains_match_plain(model, capabilities):
            return "several tokens behind its recurrent state get other logits than in single steps"
        return None

    return reason_or_failure(check, "several tokens behind its recurrent state")


@torch.inference_mode()
def _chains_match_plain(model: PreTrainedModel, capabilities: ModelCapabilities) -> bool:
    draw, limit = Random(4), capabilities.position_limit
    length = PREFIX_TOKENS if limit is None else max(2, min(PREFIX_TOKENS, limit - 2 * STEP_TOKENS))
    tokens = [draw.randrange(vocabulary_size(model)) for _ in range(length + STEP_TOKENS)]
    text, (one, two, three, four) = tokens[:length], tokens[length:]
    plain, prefix = RecurrentPrefix(model, capabilities), ChainPrefix(model, capabilities)
    expected = [plain.next_logits(text), *[plain.next_logits([token]) for token in tokens[length:]]]
    noise = distance(expected[-1], RecurrentPrefix(model, capabilities).next_logits(tokens))

    prefix.next_logits(text[: min(FIRST_TOKENS, length - 1)])
    found = [prefix.next_logits(text[prefix.length :])]
    # Two rejected candidates, then an accepted one before a rejected one, then a plain step.
    found += prefix.branch_logits(StepInputs.chain([one, four, four]))[:1]
    prefix.keep(length, [0])
    found += prefix.branch_logits(StepInputs.chain([two, three, one]))[:2]
    prefix.keep(length + 1, [0, 1])
    found.append(prefix.next_logits([four]))
    tolerance = max(NOISE_FACTOR * noise, ROUNDINGS * torch.finfo(model.dtype).eps, MIN_TOLERANCE)
    # One by one: no comparison with NaN is true.
    return all(distance(left, right) <= tolerance for left, right in zip(found, expected, strict=True))
