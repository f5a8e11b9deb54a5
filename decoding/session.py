"""Session: a conversation's tokens, KV cache and draft tables, kept between generations and shared by all decoders."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING

import torch

from decoding.arguments import InputIds, as_text, check_kind, shown
from decoding.drafting.draft_tables import DraftTables
from decoding.drafting.similar_tokens import signs_reader
from decoding.drafting.source import check_tokens
from decoding.drafting.successors import Successors, check_successors
from decoding.model.capabilities import vocabulary_size
from decoding.model.prefix import KVPrefix
from decoding.model.step_inputs import StepInputs
from decoding.recurrent.recurrent_prefix import RecurrentPrefix
from decoding.runner import runner_of
from decoding.step import Origin
from decoding.torch_compile.compiled_forward import check_backend

if TYPE_CHECKING:
    from transformers import PreTrainedModel

IN_A_STEP = "the session is in the middle of a step already: each thread needs one of its own"


class Session:
    """One conversation with a model: its text, the model's prefix of it, and the draft tables.

    Between steps the model has read the whole text but its last token, which the next step reads. If anything about
    the model has changed by the next text (weights, adapters, hooks, dtype, device), that text is prefilled again.

    A session serves one thread at a time: generations hold it during their steps, as :meth:`remember` and :meth:`copy`
    do, and raise RuntimeError while another holds it. :meth:`sync`, :meth:`read`, :meth:`forward_branches` and
    :meth:`commit` are what steps are made of, called while it is held: a program that calls them itself holds the
    session with :meth:`held`, or keeps it to one thread. Two sessions may share tables if one thread uses both.

    Attributes:
        model: the model of transformers that the session belongs to.
        ids: the text, prompt and accepted tokens.
        tables: the draft tables, learnt from earlier texts too.
        emitted: the number of tokens emitted since the text was last changed from outside.
        turn: counts the generations that have used this session.
        stepping: held during each step, so that two threads do not step at once.
        compiled: as passed to the constructor.
    """

    def __init__(
        self, model: PreTrainedModel, *, tables: DraftTables | None = None, compiled: bool | str = False
    ) -> None:
        """
        Args:
            model: any causal language model of transformers; one wrapped by PEFT or `torch.compile` is unwrapped.
            tables: draft tables to begin with and to go on learning, those of an earlier session or loaded from a file;
                None for empty ones. They affect the speed and never the text.
            compiled: True to run steps through `torch.compile` (on CUDA with graphs), or the name of a backend for it.
                Compiling takes seconds to minutes, in the first steps and after a change of the model's modules. If the
                model cannot be compiled, a warning says why, and steps run uncompiled.

        Raises:
            TypeError: the model is not a loaded transformers model.
            NotImplementedError: a wrapper of the model changes texts in a way that the model within does not know.
            ValueError: the tables were learnt with a model of another number of ids, or torch has no such backend.
        """
        check_backend(compiled)
        check_kind(tables, DraftTables, "tables")
        self._runner = runner_of(model)
        self.model = model = self._runner.model
        self.compiled = compiled
        self.capabilities = self._runner.capabilities
        self.ids: list[int] = []
        self._vocabulary = vocabulary_size(model)
        self.tables = DraftTables() if tables is None else tables
        self.tables.bind(self._vocabulary, signs_reader(model))
        self.emitted = 0
        self.turn = 0
        self.stepping = Lock()
        self.prefix: KVPrefix | RecurrentPrefix = self._runner.new_prefix(self.capabilities, compiled=compiled)
        # The state of the model that the prefix belongs to; None before the first text, for which it is made again: the
        # model's dtype, say, may be another by then.
        self._edition: int | None = None
        self._structure: object = None

    def __repr__(self) -> str:
        held = f"{len(self.ids)} tokens, {self.cached} cached, {len(self.tables[Origin.TRAJECTORY])} n-grams"
        return f"Session({type(self.model).__name__}, {held})"

    @contextmanager
    def held(self) -> Iterator[None]:
        """Hold the session, as each step does. After an error, what an unfinished step has read is forgotten.

        Raises RuntimeError if it is in the middle of a step.
        """
        if not self.stepping.acquire(blocking=False):
            raise RuntimeError(IN_A_STEP)
        try:
            yield
        except BaseException:
            self.drop_unfinished()
            raise
        finally:
            self.stepping.release()

    @property
    def cached(self) -> int:
        """The number of tokens of the text that the model has read."""
        return self.prefix.length

    @property
    def unread(self) -> int:
        """The number of tokens of the text that the next step reads, those that it reads again included."""
        return len(self.ids) - self.cached + self.prefix.rereads

    def reusable(self, input_ids: InputIds) -> int:
        """Return the number of these tokens that need no prefill."""
        ids = as_text(input_ids)
        return self._reusable(ids, shared_length(self.ids, ids))

    def _reusable(self, input_ids: Sequence[int], shared: int) -> int:
        good = self.cached if self.continues(input_ids) else self.prefix.matching_prefill(len(input_ids))
        # The last token is read by the next step; an empty text has no such token.
        return self.prefix.rewindable_to(max(0, min(shared, good, len(input_ids) - 1)))

    def continues(self, input_ids: InputIds) -> bool:
        """Return True if this is the text as it stands, partly emitted here; a prompt is prefilled otherwise."""
        return self.emitted > 0 and self.ids == as_text(input_ids)

    def sync(self, input_ids: InputIds) -> None:
        """Make this the text: keep its longest valid prefix, forget the rest; the tables stay.

        If the model has changed since the last text, nothing of the prefix is kept.
        """
        ids = as_text(input_ids)
        self.turn += 1
        self._refresh_model()
        shared = shared_length(self.ids, ids)
        self.prefix.rewind(self._reusable(ids, shared))
        if shared < len(self.ids) or shared < len(ids):
            self.emitted = 0
        if shared < len(self.ids) or not self.ids:
            # A first text does not follow the texts that the tables came with either.
            for table in self.tables:
                table.begin(ids[:shared])
        self.tables.extend(ids[shared:])
        self.ids = ids.copy()

    def _refresh_model(self) -> None:
        state = self._runner.refresh()
        structure = state.layout, state.structure
        if self._structure != structure:
            self.capabilities = self._runner.capabilities
            self.prefix = self._runner.new_prefix(self.capabilities, compiled=self.compiled)
        elif self._edition != state.edition:
            self.prefix.rewind(0)
        self._edition, self._structure = state.edition, structure
        vocabulary = vocabulary_size(self.model)
        if vocabulary < self._vocabulary:
            # The old ones may propose tokens that the model no longer has.
            self.tables = DraftTables()
            self.tables.bind(vocabulary, signs_reader(self.model))
        self._vocabulary = self.tables.vocabulary = vocabulary

    def remember(self, texts: Iterable[InputIds], successors: Iterable[Successors] = ()) -> None:
        """Let candidates come from these earlier texts and the session's own, and from no other text.

        To forget a text, call this again without it. The tables are bounded: of many texts, the latest are taken.

        Args:
            texts: token ids of earlier conversations or replies, unrelated to one another, the latest last.
            successors: what ``tables.successors.learnt_since`` gave after each of them.

        Raises:
            ValueError: a text is not a list of ids of the model's vocabulary, or successors come without their logits;
                the tables are as they were.
            RuntimeError: the session is in the middle of a step.
        """
        given, learnt = [as_text(text, "an earlier text") for text in texts], list(successors)
        for text in given:
            check_tokens(text, self._vocabulary)
        for each in learnt:
            if not isinstance(each, tuple) or len(each) != len(Successors._fields):
                raise ValueError(f"successors must be those that learnt_since gave, not {shown(each)}")
            check_successors(*each, self._vocabulary)
        with self.held():
            self.tables.remember(given, learnt)
            self.tables.extend(self.ids)

    def read(self, count: int) -> torch.Tensor:
        """Read the next tokens; returns the logits, shape (vocabulary,), which the next forward pass may overwrite."""
        return self.prefix.next_logits(self.ids[self.cached : self.cached + count])

    def forward_branches(self, inputs: StepInputs) -> torch.Tensor:
        """Run one forward pass over both branches after the last token.

        Returns the logits at ``inputs.logit_rows``, shape (rows, vocabulary), which the next one may overwrite.
        """
        assert isinstance(self.prefix, KVPrefix)
        return self.prefix.branch_logits(inputs)

    def commit(self, tokens: Sequence[int], accepted: Sequence[int] | None = None) -> None:
        """Append the tokens of a step.

        The states at the accepted candidates' places in its inputs are kept; ``accepted`` is None after a plain step.
        """
        if accepted is not None:
            assert isinstance(self.prefix, KVPrefix)
            self.prefix.keep(len(self.ids) - 1, [0, *accepted])
        self.ids.extend(tokens)
        self.tables.extend(tokens)
        self.emitted += len(tokens)
        limit = self.capabilities.reread_after
        if limit is not None and self.cached <= limit < len(self.ids):
            self.prefix.rewind(0)

    def drop_unfinished(self) -> None:
        """Forget what a step that failed has read behind the text, its last token included."""
        read = max(0, len(self.ids) - 1)
        if self.cached > read:
            self.prefix.rewind(read)

    def copy(self) -> Session:
        """Return an independent session in the same state, tables included; the model is shared.

        Raises RuntimeError if this one is in the middle of a step.
        """
        with self.held():
            other = Session(self.model, tables=self.tables.copy(), compiled=self.compiled)
            other.ids, other.emitted = self.ids.copy(), self.emitted
            other.prefix = self.prefix.copy()
            other._edition, other._structure = self._edition, self._structure
        return other

    def copy_as_of(self, ids: Sequence[int], tables: DraftTables, cached: int) -> Session:
        """Return an independent session as this one was earlier, with fewer ids, of which so many were cached."""
        other = self.copy()
        other.ids, other.tables, other.emitted = list(ids), tables.copy(), 0
        other.prefix.rewind(min(cached, self.prefix.matching_prefill(len(ids))))
        return other


def shared_length(left: list[int], right: list[int]) -> int:
    """Return how many tokens two texts have in common at their beginning."""
    limit = min(len(left), len(right))
    if left[:limit] == right[:limit]:  # the usual case, and much the quicker test
        return limit
    return next(index for index in range(limit) if left[index] != right[index])
