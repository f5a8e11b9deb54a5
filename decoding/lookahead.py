"""LookaheadDecoder: exact lookahead decoding (Fu et al. 2024, arXiv 2402.02057). This is the page to read.

A step is one forward pass over three things after the committed prefix: the last token, the *candidates* (the
verification branch: n-grams that may come next, as a prefix tree) and the *window* (the lookahead branch: N-1
iterations of Jacobi decoding over W positions ahead, whose columns yield new n-grams). Verification is this: the
model chooses a token first, as plain decoding would, and a candidate is accepted if it is that token. So the text
is the model's own, whatever was proposed.

What the two branches hold is a :class:`~decoding.planning.plan.Plan`'s affair. With W, N and G given it is the paper's
algorithm, but for two things: n-grams of the prompt, the reply and earlier turns are candidates too, before those of
the window where they match two tokens or more; and all candidates are merged into a tree, so that a shared prefix is
verified once. Left to itself, it takes as many candidates as raise the tokens expected for the time of the step, from
a third source too (likely next tokens seen in logits already computed), and as large a window as has paid; where
nothing pays, it decodes plainly. None of this touches the text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from time import perf_counter

import torch
from transformers import PreTrainedModel

from decoding.arguments import check_kind
from decoding.config import LookaheadConfig
from decoding.decoder import Decoder, plain_step, plainly
from decoding.drafting.tree import CandidateTree
from decoding.drafting.window import JacobiWindow
from decoding.model.inputs import StepInputs
from decoding.planning.cost_probe import step_cost
from decoding.planning.plan import BudgetedPlan, FixedPlan, Plan
from decoding.planning.step_cost import StepCost
from decoding.request import Request
from decoding.runner import Support, lookahead_support, runner_of
from decoding.sampling.sampler import Choices
from decoding.session import Session
from decoding.step import Origin, Step
from decoding.step_detail import Observe, ObservedPlan


class LookaheadDecoder(Decoder):
    """Lookahead decoding, budgeted from what a step costs here, or with the paper's fixed W, N and G.

    Where the model cannot take such a step, it decodes plainly; ``support.reason`` says why.
    """

    def __init__(
        self, model: PreTrainedModel, config: LookaheadConfig | None = None, *, cost: StepCost | None = None
    ) -> None:
        """
        Args:
            model: any causal language model of transformers.
            config: W, N and G; None for :meth:`LookaheadConfig.auto`.
            cost: what steps cost with this model here, for the budget; None to measure it, once a model. It is kept
                up to date as the decoder runs.

        Raises:
            ValueError: ``config`` or ``cost`` is something else.
            NotImplementedError: the model is no causal language model of transformers.
        """
        super().__init__(model)
        check_kind(config, LookaheadConfig, "config")
        check_kind(cost, StepCost, "cost")
        self.config = LookaheadConfig.auto() if config is None else config
        self._cost = cost
        lookahead_support(self.model)

    @property
    def support(self) -> Support:
        """Whether lookahead serves the model as it is now."""
        return lookahead_support(self.model)

    def _described(self) -> list[str]:
        return [repr(self.config), *plainly(self.support)]

    def _plan(self, session: Session, observe: Observe | None) -> Plan:
        plan: Plan
        if not self.config.automatic:
            plan = FixedPlan(session, self.config)
        else:
            plan = BudgetedPlan(session, self._cost or step_cost(self.model, compiled=session.compiled))
        return plan if observe is None else ObservedPlan(plan, session, observe)

    def _steps(self, session: Session, request: Request) -> Iterator[Step]:
        supported = runner_of(self.model).support.supported
        plan = self._plan(session, request.observe) if supported else None
        reason = None
        while reason is None:
            started = perf_counter()
            depth = None if plan is None else self._depth(session, plan.window, request)
            if plan is None or depth is None:
                step = self._plain_step(session, request)
                reason = step.finish_reason
                yield step
                continue
            window, candidates = plan.window, plan.candidates(depth)
            if not candidates and not window:
                step = self._plain_step(session, request, plan.learn_plain)
                reason = step.finish_reason
                plan.account(perf_counter() - started)
                yield step
                continue

            # Both branches, in one forward pass.
            before, forward_tokens = perf_counter(), 1 + len(candidates) + len(window)
            choices = self._look_ahead(session, request, candidates, window, plan.width)
            forward_seconds = perf_counter() - before

            # Verification: as far as the candidates are what the model chose, and one token more.
            chosen = choices.tokens
            accepted = candidates.walk(chosen)
            bonus = chosen[accepted[-1] if accepted else 0]
            tokens, reason = request.cut(session.ids, [*(candidates.tokens[node - 1] for node in accepted), bonus])
            origins = (*(candidates.origin(node) for node in accepted), Origin.PLAIN)[: len(tokens)]
            plan.learn(candidates, accepted, choices)
            self._commit(session, tokens, accepted[: len(tokens) - 1])

            # Lookahead: of the window only the last row is read, and every column of a full one closes an n-gram.
            new_row = chosen[1 + len(candidates) :]
            for ngram in window.ngrams(new_row):
                session.tables.trajectory.add(ngram, self.config.guess_set_size)
            window.advance(new_row)

            plan.account(perf_counter() - started)
            yield Step(
                tokens,
                origins,
                reason,
                forward_tokens=forward_tokens,
                candidates=len(candidates),
                window_size=window.columns,
                ngram_size=window.ngram_size,
                pool_size=len(session.tables.trajectory),
                context_size=len(session.tables.context),
                forward_seconds=forward_seconds,
            )

    def _look_ahead(
        self, session: Session, request: Request, candidates: CandidateTree, window: JacobiWindow, width: int
    ) -> Choices:
        """What the model chooses at the last token, at every candidate and in the window's last row."""
        logits = session.look_ahead(StepInputs.lay_out(session.ids[-1], candidates, window))
        return request.chooser.choose(logits, session.ids, candidates, width)

    def _commit(self, session: Session, tokens: Sequence[int], accepted: Sequence[int]) -> None:
        session.commit(tokens, accepted)

    def _plain_step(
        self, session: Session, request: Request, learn: Callable[[torch.Tensor, int], None] | None = None
    ) -> Step:
        return plain_step(session, request, learn)

    def _depth(self, session: Session, window: JacobiWindow, request: Request) -> int | None:
        """How deep candidates may go in this step; None where no branch may be laid out at all."""
        if request.remaining == 1:
            return None
        depth = request.remaining - 1
        limit = session.gate.position_limit
        if limit is None:
            return depth
        # Positions that the model does not have, or where it changes, are left to plain steps: the last few of a text
        # that fills the model's context.
        ahead = limit - len(session.ids)
        window_reach = window.columns + window.ngram_size - 2 if window.columns else 0
        return None if ahead < max(1, window_reach) else min(depth, ahead)
