"""ParallelLookaheadDecoder: lookahead decoding with each step split over several ranks (lookahead parallelism).

Section 3.4 of Fu et al. 2024: every rank has a replica of the model and computes some of the candidates and some of
the window's columns. Rank 0 decides. It sends the others the text and their parts, computes its own part, and gathers
the tokens chosen, so that ranks exchange only a few token ids a step.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from decoding.config import LookaheadConfig
from decoding.costs.step_cost import CostCurve, StepCost, figures_of
from decoding.decoder import OnPrefill
from decoding.lookahead import LookaheadDecoder
from decoding.model.capabilities import capabilities_of
from decoding.model.prefix import KVPrefix
from decoding.parallel.ranks import MAX_TOKENS_BEHIND, PeerRanks
from decoding.parallel.replica import Replica
from decoding.planning.cost_probe import step_cost_of
from decoding.planning.planner import StepPlan
from decoding.request import Request
from decoding.runner import runner_of
from decoding.sampling.sampler import Choices
from decoding.session import Session
from decoding.step import Step

if TYPE_CHECKING:
    from transformers import PreTrainedModel


class ParallelLookaheadDecoder(LookaheadDecoder):
    """A :class:`LookaheadDecoder` on rank 0 of several; the text is the same.

    After a step rank 0 may not have read the last accepted tokens yet: any decoder that goes on from the session reads
    them. When a rank is lost, the step raises RankLostError, the session is as it was before the step, and this
    decoder or another can go on from it with the remaining ranks, or alone. A model whose prompt has to be read in one
    forward pass is decoded by rank 0 alone, since ranks read in pieces of their own, and so is one with a recurrent
    state, whose steps have one chain of candidates and no window to split.
    """

    def __init__(
        self,
        model: PreTrainedModel,
        workers: PeerRanks,
        config: LookaheadConfig | None = None,
        *,
        cost: StepCost | None = None,
    ) -> None:
        """
        Args:
            model: any causal language model of transformers; the other ranks have the same one.
            workers: the other ranks.
            config: W, N and G; None for :meth:`LookaheadConfig.auto`.
            cost: the cost of steps split like this, a :class:`SharedStepCost`; None to measure that of one rank's.
        """
        super().__init__(model, config, cost=cost)
        self.workers = workers
        capabilities = capabilities_of(self.model)
        self._shared = capabilities.rewindable and not capabilities.one_prefill

    def _generate(
        self, session: Session, ids: list[int], request: Request, on_prefill: OnPrefill
    ) -> Iterator[Step | None]:
        if self.support.supported and self._shared:
            self.workers.follow(ids)
        yield from super()._generate(session, ids, request, on_prefill)

    def _forward_branches(self, session: Session, request: Request, plan: StepPlan, width: int) -> Choices:
        if self._shared and not plan.is_plain:
            assert isinstance(session.prefix, KVPrefix)
            own = Replica(session.prefix)
            return self.workers.forward_branches(own, session.ids, plan, request.sampler, width)
        if self._shared:  # nothing to split
            self.workers.follow(session.ids, MAX_TOKENS_BEHIND)
            plan.forward_tokens = session.unread
        return super()._forward_branches(session, request, plan, width)

    def _commit(self, session: Session, plan: StepPlan, tokens: Sequence[int], accepted: Sequence[int]) -> None:
        if not self._shared or plan.is_plain:
            super()._commit(session, plan, tokens, accepted)
            return
        self.workers.settle(accepted)
        session.commit(tokens)

    def _plain_step(self, session: Session, request: Request) -> Step:
        if self._shared:
            self.workers.follow(session.ids, MAX_TOKENS_BEHIND)
        return super()._plain_step(session, request)


class SharedStepCost(StepCost):
    """Seconds of a split step by the number of all its tokens: a share of them, and the last token on every rank.

    It starts from the cost of steps on one rank. The time of the exchange is learnt from live steps over several
    tokens, like everything else that the measurement did not see; rank 0's steps stand for all.

    Attributes:
        workers: the ranks, whose number is read at every step.
    """

    def __init__(self, alone: StepCost, workers: PeerRanks) -> None:
        """Begin with the cost of steps on one rank, which is not changed."""
        super().__init__(**figures_of(alone.as_dict()), live=alone.live)
        self.workers, self._ranks = workers, workers.ranks

    def seconds(self, tokens: int) -> float:
        return super().seconds(self._share(tokens))

    def relative(self, most: int) -> npt.NDArray[np.float64]:
        shares = [self._share(tokens) for tokens in range(most + 1)]
        return super().relative(max(shares))[shares]

    def curve(self, fixed: int) -> CostCurve:
        if self._ranks != self.workers.ranks:
            self._ranks, self._curves = self.workers.ranks, {}
        return super().curve(fixed)

    def aftermath(self, tokens: int) -> float:
        return super().aftermath(self._share(tokens))

    def observe(self, tokens: int, seconds: float, steps: int = 1) -> None:
        super().observe(self._share(tokens), seconds, steps)

    def _share(self, tokens: int) -> int:
        return 1 - (1 - tokens) // self.workers.ranks if tokens > 1 else tokens


def shared_step_cost_of(model: PreTrainedModel, workers: PeerRanks, *, compiled: bool | str = False) -> StepCost:
    """Return the cost of steps that these ranks share, begun from that of one rank and kept by the model's runner.

    Raises:
        NotImplementedError: the model supports no steps over several branches.
    """
    alone = step_cost_of(model, compiled=compiled)
    costs = runner_of(model).step_costs
    shared = costs.get((compiled, True))
    if not isinstance(shared, SharedStepCost):
        shared = costs[compiled, True] = SharedStepCost(alone, workers)
    shared.workers = workers  # those who served the model before may be gone
    return shared
