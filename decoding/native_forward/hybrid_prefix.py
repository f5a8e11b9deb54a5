"""HybridPrefix: the prefix of a model with recurrent states beside keys and values, whose forward passes run in C."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import torch

from decoding.model.capabilities import ModelCapabilities
from decoding.model.linear_kernels import is_changed_globally
from decoding.model.prefix import KVPrefix
from decoding.model.step_inputs import StepInputs
from decoding.native.kernels import integers
from decoding.native.ranked_rows import RankedRows
from decoding.native_forward.model_structures import NativeForward
from decoding.native_forward.native_prefix import MAX_TOKENS, NativePrefix, causal_inputs
from decoding.native_forward.recurrent_states import RecurrentStates

if TYPE_CHECKING:
    from transformers import Cache, PreTrainedModel


class HybridPrefix(NativePrefix):
    """Keys and values, and recurrent states beside them. All forward passes run in C, long ones in parts.

    If the model changes in the middle of a text, so that its steps no longer run in C, transformers reads the text
    again and takes over.
    """

    one_chain = True

    def __init__(
        self,
        model: PreTrainedModel,
        capabilities: ModelCapabilities,
        forward: Callable[[], NativeForward | None],
        new_fallback: Callable[[], KVPrefix],
    ) -> None:
        """
        Args:
            forward: as for :class:`NativePrefix`.
            new_fallback: returns an empty prefix of the model in transformers.
        """
        super().__init__(model, capabilities, forward)
        self._new_fallback = new_fallback
        self._fallback: KVPrefix | None = None
        self._states: RecurrentStates | None = None
        self._tokens: list[int] = []

    @property
    def length(self) -> int:
        return len(self._tokens)

    @property
    def rereads(self) -> int:  # type: ignore[override]  # a constant in the base class
        return 0 if self._fallback is None else self._fallback.rereads

    @property
    def cuts_back(self) -> bool:  # type: ignore[override]
        return self._fallback is None or self._fallback.cuts_back

    def rewindable_to(self, length: int) -> int:
        if self._fallback is not None:
            return self._fallback.rewindable_to(length)
        return self._states.rewindable_to(length) if self._states else 0

    def rewind(self, length: int) -> None:
        reached = self.rewindable_to(length)
        if self._fallback is not None:
            self._fallback.rewind(length)
        self._forget(reached)

    def keep(self, base: int, offsets: Sequence[int]) -> None:
        if self._fallback is not None:
            self._fallback.keep(base, offsets)
        self._forget(base + len(offsets))

    def copy(self) -> HybridPrefix:
        other = HybridPrefix(self._model, self._capabilities, self._forward_in_c, self._new_fallback)
        other.cache, other._tokens = self.cache.copy(), self._tokens.copy()
        other._states = self._states and self._states.copy()
        other._fallback = self._fallback and self._fallback.copy()
        return other

    def fill(self, empty: Cache) -> bool:
        return False

    def next_logits(self, token_ids: Sequence[int]) -> torch.Tensor:
        forward, start = self._up_to_date(), self.length
        if forward is None:
            logits = self._in_transformers().next_logits(token_ids)
        else:
            logits = self._read(forward, token_ids, [len(token_ids) - 1])[0]
            if len(token_ids) > 1 and self._states:
                self._states.keep(start)
        self._tokens += token_ids
        return logits

    def branch_logits(self, inputs: StepInputs) -> torch.Tensor:
        assert inputs.depths == [*range(len(inputs))], "a recurrent state takes one chain of candidates and no window"
        forward = self._up_to_date()
        if forward is None:
            logits = self._in_transformers().branch_logits(inputs)
        else:
            logits = self._read(forward, inputs.token_ids, inputs.logit_rows, undone=True)
        self._tokens += inputs.token_ids
        return logits

    def _up_to_date(self) -> NativeForward | None:
        forward = None if is_changed_globally() else self._forward_in_c()
        if forward is not None:
            self._fallback = None
        return forward

    def _in_transformers(self) -> KVPrefix:
        """Return the prefix in transformers, which has read all of the text."""
        if self._fallback is None:
            self._fallback = self._new_fallback()
        if missing := self._tokens[self._fallback.length :]:
            self._fallback.next_logits(missing)
        return self._fallback

    def _read(
        self, forward: NativeForward, token_ids: Sequence[int], rows: Sequence[int], *, undone: bool = False
    ) -> torch.Tensor:
        """Read tokens in C; return the logits at these rows.

        Args:
            rows: the last one, unless ``undone``.
            undone: all of the tokens may be taken back, so they are read at once.
        """
        if self._states is None:
            self._states = forward.new_states()
            self.cache.begin(forward.empty_states())
        # Does nothing unless the last step was interrupted, or transformers read some of the text.
        self._states.rewind(self.length)
        missing = self._tokens[self._states.length :]
        parts = [*_parts(missing), *([token_ids] if undone else _parts(token_ids))]
        logits = self._logits(forward, len(rows))
        for part in parts[:-1]:
            self._run_part(forward, self._states, part, [], logits)
        first = len(token_ids) - len(parts[-1])
        if undone:
            self._states.reserve(len(parts[-1]))
        self._run_part(forward, self._states, parts[-1], [row - first for row in rows], logits)
        return logits.first(len(rows))

    def _run_part(
        self,
        forward: NativeForward,
        states: RecurrentStates,
        token_ids: Sequence[int],
        rows: Sequence[int],
        logits: RankedRows,
    ) -> None:
        cached, count = states.length, len(token_ids)
        transformer, embedded = self._bind(forward, cached + count), forward.embedded(token_ids)
        forward.prepare(transformer, cached + count)
        visible, depths, _ = causal_inputs(count)
        with states.reading(transformer, count):
            forward.kernels.step(transformer, token_ids, embedded, cached, visible, depths, integers(rows), logits)
        self.cache.hold(cached + count)

    def _forget(self, length: int) -> None:
        """Forget all but the first ``length`` tokens."""
        del self._tokens[length:]
        if self._states is not None:
            self._states.rewind(length)
            self.cache.rewind(self._states.length)


def _parts(text: Sequence[int]) -> list[Sequence[int]]:
    return [text[at : at + MAX_TOKENS] for at in range(0, len(text), MAX_TOKENS)]
