"""Session: everything that outlives a step, so that any decoder can go on where another left off."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from transformers import PreTrainedModel

from decoding.compiled.prefix import prefix_of
from decoding.drafting.registry import Origin
from decoding.drafting.tables import Tables
from decoding.model.capabilities import gate_of, vocabulary_size
from decoding.model.inputs import StepInputs
from decoding.model.prefix import KVPrefix, OpaquePrefix
from decoding.model.state import observe
from decoding.model.unwrapping import unwrapped


class Session:
    """One conversation with a model: the committed text, the model's hold of it, and what the sources have learnt.

    Between steps the model has read the whole text but its last token, which the next step reads. If anything about
    the model has changed by the next text (weights, adapters, hooks, dtype, device), that text is read anew.

    Attributes:
        model: the model of transformers; a session belongs to it.
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
            model: any causal language model of transformers; one wrapped by PEFT or `torch.compile` is unwrapped.
            compiled: whether steps go through `torch.compile` (and on CUDA its graphs), or the name of the backend to
                use for that. Compiling takes seconds to minutes, in the first steps, and again when the model's modules
                are changed. Where it cannot be compiled a warning says why, and the steps are as without.

        Raises:
            NotImplementedError: a wrapper does to a text what the model within does not know of.
        """
        self.model = model = unwrapped(model)
        self.compiled = compiled
        self.gate = gate_of(model)
        self.ids: list[int] = []
        self.tables = Tables()
        self._vocabulary = vocabulary_size(model)
        self.emitted = 0
        self.turn = 0
        self.prefix: KVPrefix | OpaquePrefix = prefix_of(model, self.gate, compiled)
        # Those of the model that the prefix was read with; None before the first text.
        self._edition: int | None = None
        self._structure: object = None

    def __repr__(self) -> str:
        held = f"{len(self.ids)} tokens, {self.cached} cached, {len(self.tables[Origin.TRAJECTORY])} n-grams"
        return f"Session({type(self.model).__name__}, {held})"

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
        """Make this the text: keep what the model has read of it, forget the rest; the tables stay.

        If the model has changed since the last text, all of it is forgotten.
        """
        self.turn += 1
        self._follow_model()
        shared = _common_prefix(self.ids, input_ids)
        self.prefix.rewind(self._reusable(input_ids, shared))
        if shared < len(self.ids) or shared < len(input_ids):
            self.emitted = 0
        if shared < len(self.ids):
            for table in self.tables:
                table.begin(input_ids[:shared])
        for table in self.tables:
            table.extend(input_ids[shared:])
        self.ids = list(input_ids)

    def _follow_model(self) -> None:
        state = observe(self.model)
        structure = state.layout, state.structure
        if self._structure not in (None, structure):
            self.gate = gate_of(self.model)
            self.prefix = prefix_of(self.model, self.gate, self.compiled)
        elif self._edition not in (None, state.edition):
            self.prefix.rewind(0)
        self._edition, self._structure = state.edition, structure
        vocabulary = vocabulary_size(self.model)
        if vocabulary < self._vocabulary:
            # They may propose tokens that the model no longer has.
            self.tables = Tables()
        self._vocabulary = vocabulary

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
        for table in self.tables:
            table.extend(tokens)
        self.emitted += len(tokens)
        if self.gate.read_anew(self.cached, len(self.ids)):
            self.prefix.rewind(0)

    def copy(self) -> Session:
        """A session of its own in the same state, tables included; the model is shared."""
        other = Session(self.model, compiled=self.compiled)
        other.ids, other.emitted = self.ids.copy(), self.emitted
        other.tables, other.prefix = self.tables.copy(), self.prefix.copy()
        other._edition, other._structure = self._edition, self._structure
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
