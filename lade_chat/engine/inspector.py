"""A reply's steps as text, the acceptance of each source so far, and the tokens that may come next."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from decoding import Detokenizer, Session, Step, StepDetail, prefill
from decoding.costs.step_cost import CostCurve
from lade_chat.loading.model_loader import LoadedModel
from lade_chat.presentation.thought_splitter import CLOSING
from lade_chat.protocol.inspection import Candidate, Inspection, RankedToken, TokenSource, Trials

LIKELIEST = 5
MAX_COSTS = 49
"""Candidate counts for which the cost of a step is reported."""


class Inspector:
    """Collects the details of steps, and decodes their tokens to text only on request."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._texts: dict[int, str] = {}
        self._next_detail: StepDetail | None = None
        self._detail: StepDetail | None = None
        self._step: Step | None = None
        self._number = -1
        # What is known of a step without details: the token before it, and what steps were last known to cost.
        self._before: int | None = None
        self._curve: CostCurve | None = None
        self._speculative: tuple[int, Step, StepDetail] | None = None
        """The last step over more than one token, with its number."""
        self._trials: dict[TokenSource, tuple[list[int], list[int]]] = {}

    def observe(self, detail: StepDetail) -> None:
        """Take the details of the step that the decoder is about to yield."""
        self._next_detail = detail

    def take(self, step: Step) -> None:
        """Take the step itself."""
        self._number += 1
        self._before = None if self._step is None else self._step.tokens[-1]
        self._step, self._detail, self._next_detail = step, self._next_detail, None
        if self._detail is not None:
            self._count(self._detail)
            self._curve = self._detail.curve
            if self._detail.candidates or self._detail.rows:
                self._speculative = (self._number, step, self._detail)

    def inspection(self) -> Inspection | None:
        """The inspection of the last step; None before the first."""
        return None if self._step is None else self.inspect(self._number, self._step, self._detail)

    def last_speculative(self) -> Inspection | None:
        """The last step with candidates or a window, if any; a reply's final step is often plain or cut short."""
        return self.inspection() if self._speculative is None else self.inspect(*self._speculative)

    def inspect(self, number: int, step: Step, detail: StepDetail | None) -> Inspection:
        """The inspection of any step, of the last one where it has no details; ``number`` is that of those before."""
        inspection = Inspection(
            number,
            settled=self.words(step.tokens),
            trials=tuple(Trials(origin, tuple(tried), tuple(right)) for origin, (tried, right) in self._trials.items()),
            table_sizes=tuple((origin.value, size) for origin, size in step.table_sizes.items()),
            prompt=step.prefill,
        )
        if detail is None:
            last = "" if self._before is None else self._text(self._before)
            return msgspec.structs.replace(inspection, last=last, costs=_costs(self._curve))
        return msgspec.structs.replace(
            inspection,
            last=self._text(detail.last_token),
            candidates=self._candidates(detail, len(step.tokens)),
            window=tuple(self.words(row) for row in detail.rows),
            new_row=self.words(detail.new_row),
            ngram_size=detail.ngram_size,
            costs=_costs(detail.curve),
        )

    def _candidates(self, detail: StepDetail, written: int) -> tuple[Candidate, ...]:
        # A step that ends the reply may have had more accepted than it wrote.
        accepted = set(detail.accepted[:written])
        probabilities = detail.probabilities or (None,) * len(detail.candidates)
        return tuple(
            Candidate(self._text(token), parent, origin.value, number in accepted, probability)
            for number, (token, parent, origin, probability) in enumerate(
                zip(detail.candidates, detail.parents, detail.origins, probabilities, strict=True), start=1
            )
        )

    def _count(self, detail: StepDetail) -> None:
        """Count trials per source: only candidates whose parents were accepted have been judged."""
        path = {0, *detail.accepted}
        for number, (parent, origin, depth) in enumerate(
            zip(detail.parents, detail.origins, detail.tree.depths, strict=True), start=1
        ):
            if parent in path:
                tried, accepted = self._trials.setdefault(origin.value, ([], []))
                missing = [0] * (depth - len(tried))
                tried += missing
                accepted += missing
                tried[depth - 1] += 1
                accepted[depth - 1] += number in path

    def words(self, tokens: Iterable[int]) -> tuple[str, ...]:
        """Each token as text."""
        return tuple(self._text(token) for token in tokens)

    def _text(self, token: int) -> str:
        text = self._texts.get(token)
        if text is None:
            text = self._texts[token] = self._tokenizer.decode([token])
        return text


def _costs(curve: CostCurve | None) -> tuple[float, ...]:
    return () if curve is None else tuple(round(cost, 3) for cost in curve.costs[:MAX_COSTS])


def rank_tokens(loaded: LoadedModel, session: Session, ids: Sequence[int], own: int) -> tuple[RankedToken, ...]:
    """Return the likeliest tokens after a text, and the ``own`` one if it is not among them.

    Temperature, top-k and all other settings of sampling are left out of account: these are the model's own logits. The
    session is left at the text, as before a step.
    """
    for _ in prefill(session, ids):
        pass
    return rank_next(loaded, session, own)


def rank_next(loaded: LoadedModel, session: Session, own: int = -1) -> tuple[RankedToken, ...]:
    """Rank the tokens that may follow the session's text, as :func:`rank_tokens` does."""
    ids = session.ids
    with session.held():
        logits = session.read(len(ids) - session.cached).float().clone()  # the next step may write over them
        session.drop_unfinished()
    probabilities = logits.softmax(-1)
    tokens: list[int] = logits.topk(min(LIKELIEST, len(logits))).indices.tolist()
    if 0 <= own < len(logits) and own not in tokens:
        tokens.append(own)
    delimiters = loaded.thinking.shown_tokens(loaded.tokenizer)

    def ranked(token: int) -> RankedToken:
        is_closing = delimiters.get(token) == loaded.thinking.closing
        text = CLOSING if is_closing else Detokenizer(loaded.tokenizer, ids).push(token)
        name = str(loaded.tokenizer.convert_ids_to_tokens(token))
        rank = 1 + int((logits > logits[token]).sum())
        return RankedToken(token, name, text, rank, float(probabilities[token]), token in loaded.eos_token_ids)

    return tuple(map(ranked, tokens))
