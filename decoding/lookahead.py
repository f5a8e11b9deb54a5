"""LookaheadDecoder: exact lookahead decoding (Fu et al. 2024, arXiv 2402.02057). This is the page to read.

A step is one forward pass over three things after the committed prefix: the last token, the *candidates* (the
verification branch: n-grams that may come next, as a prefix tree) and the *window* (the lookahead branch: N-1
iterations of Jacobi decoding over W positions ahead, whose columns yield new n-grams). Verification is this: the
model chooses a token first, as plain decoding would, and a candidate is accepted if it is that token. So the text
is the model's own, whatever was proposed.

A :class:`~decoding.planning.planner.Planner` plans both branches of each step and learns from the outcome. With fixed
W, N and G it is the paper's algorithm, with two additions: n-grams of the prompt, the reply and earlier turns are
candidates too, before those of the window where they match two tokens or more; and all candidates are merged into a
tree, so that a shared prefix is verified once. By default each step is budgeted: it takes as many candidates as raise
the tokens expected for its time, from a third source too (likely next tokens seen in logits already computed, unless
steps are so quick or further tokens so dear that this costs more than it saves), and the largest window that is nearly
free, while it pays; where nothing pays, it decodes plainly. None of this affects the text.

A model with a recurrent state verifies one chain of candidates a step, and has no window: see
:mod:`decoding.recurrent`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from time import perf_counter
from typing import TYPE_CHECKING

from decoding.arguments import check_kind
from decoding.branches.candidate_tree import ROOT
from decoding.branches.verification import accepted_path
from decoding.config import LookaheadConfig
from decoding.costs.step_cost import StepCost
from decoding.decoder import Decoder
from decoding.model.step_inputs import StepInputs
from decoding.plain_step import plain_step, plain_steps
from decoding.planning.budgeted_planner import BudgetedPlanner
from decoding.planning.cost_probe import step_cost_of
from decoding.planning.planner import FixedPlanner, Planner, StepPlan
from decoding.request import Request
from decoding.runner import Support, lookahead_support, runner_of
from decoding.sampling.sampler import Choices
from decoding.session import Session
from decoding.step import Origin, Step
from decoding.step_detail import Observe

if TYPE_CHECKING:
    from transformers import PreTrainedModel


class LookaheadDecoder(Decoder):
    """Lookahead decoding, budgeted from what a step costs here, or with the paper's fixed W, N and G.

    A model that does not support such steps is decoded plainly; ``support.reason`` says why.
    """

    def __init__(
        self, model: PreTrainedModel, config: LookaheadConfig | None = None, *, cost: StepCost | None = None
    ) -> None:
        """
        Args:
            model: any causal language model of transformers.
            config: W, N and G; None for :meth:`LookaheadConfig.auto`.
            cost: the cost of steps with this model on this machine, for the budget; None to measure it, once a model.
                The decoder updates it as it runs.

        Raises:
            ValueError: ``config`` or ``cost`` is something else.
            NotImplementedError: the model is not a causal language model of transformers.
        """
        super().__init__(model)
        check_kind(config, LookaheadConfig, "config")
        check_kind(cost, StepCost, "cost")
        self.config = LookaheadConfig.auto() if config is None else config
        self._cost = cost
        # Checked now, so that the first step does not pay for it.
        lookahead_support(self.model)

    @property
    def support(self) -> Support:
        """Support for lookahead in the model as it is now."""
        return lookahead_support(self.model)

    def _described(self) -> list[str]:
        return [repr(self.config), *self.support.objections]

    def _planner(self, session: Session, observe: Observe | None) -> Planner:
        if self.config.sizes is not None:
            return FixedPlanner(session, self.config.sizes, observe)
        return BudgetedPlanner(session, self._cost or step_cost_of(self.model, compiled=session.compiled), observe)

    def _steps(self, session: Session, request: Request) -> Iterator[Step]:
        if not runner_of(self.model).support.supported:
            yield from plain_steps(session, request)
            return
        planner, reason = self._planner(session, request.observe), None
        while reason is None:
            plan = planner.plan(request.max_length - len(session.ids))
            if plan is None:
                step = self._plain_step(session, request)
            else:
                step = self._lookahead_step(session, request, planner, plan)
            planner.book(plan, step)
            reason = step.finish_reason
            yield step

    def _lookahead_step(self, session: Session, request: Request, planner: Planner, plan: StepPlan) -> Step:
        # Verify: both branches in one forward pass, and the model's own choice in each of its rows.
        candidates, window, started = plan.candidates, plan.window, perf_counter()
        choices = self._forward_branches(session, request, plan, planner.row_width)
        forward_seconds = perf_counter() - started

        # Accept: the candidates as far as they are what the model chose, and one token more.
        accepted = accepted_path(candidates, choices.tokens)
        tokens, reason = request.cut(session.ids, [choices.tokens[row] for row in (ROOT, *accepted)])
        origins = (*[candidates.origin(node) for node in accepted], Origin.PLAIN)[: len(tokens)]

        # Rewind: the cache keeps the last token and the accepted path, and drops all else.
        self._commit(session, plan, tokens, accepted[: len(tokens) - 1])

        # Look ahead: the row just chosen closes an n-gram in each column of a full window, and the window rotates.
        new_row = choices.tokens[1 + len(candidates) :]
        session.tables.learn_ngrams(window.ngrams(new_row), planner.guess_set_size)
        window.advance(new_row)

        # Learn: the sources from what was seen, the budget from what it took.
        planner.learn(plan, choices, accepted)
        return Step(
            tokens,
            origins,
            reason,
            forward_tokens=plan.forward_tokens,
            candidates=len(candidates),
            window_size=window.columns,
            ngram_size=0 if plan.is_plain else window.ngram_size,
            table_sizes=session.tables.sizes(),
            forward_seconds=forward_seconds,
            seconds=request.clock.lap(),
        )

    def _forward_branches(self, session: Session, request: Request, plan: StepPlan, width: int) -> Choices:
        """Return the model's choices at the last token, at every candidate and in the window's last row.

        This and the two methods below are what several processes do differently.
        """
        if plan.is_plain and (session.prefix.one_chain or session.unread > 1):
            logits = session.read(len(session.ids) - session.cached)[None]
        else:
            logits = session.forward_branches(StepInputs.from_branches(plan.last_token, plan.candidates, plan.window))
        return request.sampler.sample_tree(logits, session.ids, plan.candidates, width)

    def _commit(self, session: Session, plan: StepPlan, tokens: Sequence[int], accepted: Sequence[int]) -> None:
        session.commit(tokens, None if plan.is_plain else accepted)

    def _plain_step(self, session: Session, request: Request) -> Step:
        return plain_step(session, request)
