"""Session: everything that outlives a step, so that any decoder can go on where another left off."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from transformers import PreTrainedModel

from decoding.candidates.context import LONGEST_MATCH
from decoding.candidates.tables import Tables
from decoding.gate import gate_of
from decoding.inputs import StepInputs
from decoding.prefix import KVPrefix, OpaquePrefix
from decoding.products import look_again
from decoding.static_prefix import prefix_of


class Session:
    """One conversation with a model: the committed text, the model's hold of it, and what the sources have learnt.

    Between steps the model has read the whole text but its last token, which the next step reads.

    Attributes:
        model: the model; a session belongs to it.
        ids: the committed text.
        tables: what the sources of candidates have learnt, from earlier texts too.
        emitted: how many tokens have been emitted since the text was last changed from outside; going on from the
            text as it stands does not change it.
        turn: counts the generations that have taken this session up.
        compiled: whether steps were asked to be compiled.
    """

    def __init__(self, model: PreTrainedModel, *, compiled: bool | str = False) -> None:
        """
        Args:
            model: any causal language model of transformers.
            compiled: whether steps go through `torch.compile` (and on CUDA its graphs), or the name of the backend to
                use for that. Compiling takes seconds to minutes, in the first steps. The model must not be changed
                afterwards. Where it cannot be compiled a warning says why, and the steps are as without.
        """
        self.model = model
        self.compiled = compiled
        self.gate = gate_of(model)
        self.ids: list[int] = []
        self.tables = Tables()
        self.emitted = 0
        self.turn = 0
        self.prefix: KVPrefix | OpaquePrefix = prefix_of(model, self.gate, compiled)

    @property
    def cached(self) -> int:
        """How many tokens of the text the model has read."""
        return self.prefix.length

    def reusable(self, input_ids: Sequence[int]) -> int:
        """How many of these tokens would not have to be read again."""
        return self._reusable(input_ids, _common_prefix(self.ids, input_ids))

    def _reusable(self, input_ids: Sequence[int], shared: int) -> int:
        good = self.cached if self.goes_on(input_ids) else self.prefix.read_as(len(input_ids))
        return min(shared, good, len(input_ids) - 1)

    def goes_on(self, input_ids: Sequence[int]) -> bool:
        """Whether this is the text as it stands, some of it emitted here; else it is a prompt, read as prompts are."""
        return self.emitted > 0 and self.ids == list(input_ids)

    def adopt(self, input_ids: Sequence[int]) -> None:
        """Make this the text: keep what the model has read of it, forget the rest; the tables stay."""
        self.turn += 1
        look_again(self.model)
        shared = _common_prefix(self.ids, input_ids)
        self.prefix.rewind(self._reusable(input_ids, shared))
        if shared < len(self.ids) or shared < len(input_ids):
            self.emitted = 0
        if shared < len(self.ids):
            self.tables.context.begin(input_ids[max(0, shared - LONGEST_MATCH) : shared])
        self.tables.context.extend(input_ids[shared:])
        self.ids = list(input_ids)

    def read(self, count: int) -> torch.Tensor:
        """Have the model read the next ``count`` tokens of the text; returns the logits after them, (vocabulary,)."""
        return self.prefix.read_logits(self.ids[self.cached : self.cached + count])

    def look_ahead(self, inputs: StepInputs) -> torch.Tensor:
        """One forward pass over both branches after the last token.

        Returns:
            The logits at the rows of ``inputs.read``. Shape (rows, vocabulary).
        """
        assert isinstance(self.prefix, KVPrefix)
        return self.prefix.branch_logits(inputs)

    def commit(self, tokens: Sequence[int], accepted: Sequence[int] | None = None) -> None:
        """Append what a step settled.

        Args:
            tokens: the tokens emitted.
            accepted: where in the step's inputs the emitted candidates stand, after a look ahead; the model keeps
                those and the last token before them.
        """
        if accepted is not None:
            assert isinstance(self.prefix, KVPrefix)
            self.prefix.keep(len(self.ids) - 1, [0, *accepted])
        self.ids.extend(tokens)
        self.tables.context.extend(tokens)
        self.emitted += len(tokens)
        if self.gate.read_anew(self.cached, len(self.ids)):
            self.prefix.rewind(0)

    def copy(self) -> Session:
        """A session of its own in the same state, tables included; the model is shared."""
        other = Session(self.model, compiled=self.compiled)
        other.ids, other.emitted = self.ids.copy(), self.emitted
        other.tables, other.prefix = self.tables.copy(), self.prefix.copy()
        return other

    def copy_as_of(self, ids: Sequence[int], tables: Tables, cached: int) -> Session:
        """A session of its own as this one was earlier.

        Args:
            ids: what was all of the text then, a prefix of it now.
            tables: what the sources had learnt.
            cached: how many tokens the model had read.
        """
        other = self.copy()
        other.ids, other.tables, other.emitted = list(ids), tables.copy(), 0
        other.prefix.rewind(min(cached, self.prefix.read_as(len(ids))))
        return other


def _common_prefix(left: Sequence[int], right: Sequence[int]) -> int:
    for index, (a, b) in enumerate(zip(left, right, strict=False)):
        if a != b:
            return index
    return min(len(left), len(right))
