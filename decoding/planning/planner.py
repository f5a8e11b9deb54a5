"""Planner: decides the branches of each step; and the planner of fixed sizes, as in the paper."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

import torch

from decoding.config import Sizes
from decoding.drafting.guess_set import guess_set
from decoding.drafting.window import JacobiWindow
from decoding.planning.step_plan import Rest, StepPlan
from decoding.sampling.sampler import Choices
from decoding.session import Session
from decoding.step import Step
from decoding.step_detail import Observe, StepDetail


class Planner(ABC):
    """Plans the branches of each step, and learns from what the step showed and took.

    :meth:`plan` begins a step, or a rest of several. After the forward pass, once its tokens are committed, the same
    plan goes to :meth:`update` (:meth:`update_plain` where the step was plain), and then with the step, the last one of
    a rest, to :meth:`record`.

    Attributes:
        row_width: the number of each row's likeliest next tokens that the planner learns from; 0 for none.
        guess_set_size: G, the n-grams of the window that are kept for each first token.
    """

    row_width = 0
    guess_set_size = 0

    def __init__(self, session: Session, window: JacobiWindow, observe: Observe | None) -> None:
        self._session, self._window, self._observe = session, window, observe
        # The text's length when the step or rest under way was planned.
        self._planned_at = len(session.ids)

    def plan(self, remaining: int) -> StepPlan | Rest:
        """Return what the next step verifies, or a rest.

        Args:
            remaining: the tokens that may still be emitted.
        """
        self._planned_at = len(self._session.ids)
        if remaining == 1:
            return Rest(1)
        if (rest := self._rest()) is not None:
            return rest
        depth, ahead, window = remaining - 1, positions_ahead(self._session), self._window
        if ahead is not None:
            # The last positions of a text that fills the model's context are left to plain steps.
            reach = window.columns + window.ngram_size - 2 if window.columns else 0
            if ahead < max(1, reach):
                return Rest(1)
            depth = min(depth, ahead)
        return self._plan_step(depth)

    def update(self, plan: StepPlan, choices: Choices, accepted: Sequence[int]) -> None:
        """Learn from a step whose tokens are committed.

        Args:
            plan: what the step verified.
            choices: what the model chose at the last token, each candidate, and the window's last row.
            accepted: the numbers of the candidates accepted.
        """
        detail = None if self._observe is None else StepDetail.of(plan, choices.tokens, accepted)
        self._update(plan, choices, accepted)
        if self._observe is not None and detail is not None:
            self._observe(detail)

    def update_plain(self, plan: StepPlan, logits: torch.Tensor, chosen: int) -> None:
        """Learn from a step over the last token alone, once its token is committed.

        Args:
            plan: one without candidates and window.
            logits: shape (vocabulary,).
            chosen: the token emitted.
        """
        detail = None if self._observe is None else StepDetail.of(plan, (chosen,), ())
        self._update_plain(plan, logits, chosen)
        if self._observe is not None and detail is not None:
            self._observe(detail)

    def record(self, plan: StepPlan | Rest, step: Step) -> None:
        """Learn from the time that a step has taken, unless that makes no difference to the planner.

        Args:
            plan: what :meth:`plan` gave for it.
            step: the step; the last one of a rest.
        """
        return

    def _rest(self) -> Rest | None:
        """Return the rest that is due; None if something is to be looked for in the next step."""
        return None

    @abstractmethod
    def _plan_step(self, max_depth: int) -> StepPlan: ...

    @abstractmethod
    def _update(self, plan: StepPlan, choices: Choices, accepted: Sequence[int]) -> None: ...

    @abstractmethod
    def _update_plain(self, plan: StepPlan, logits: torch.Tensor, chosen: int) -> None: ...


class FixedPlanner(Planner):
    """W, N and G as they are: the paper's algorithm, which learns nothing from what a step won or cost."""

    def __init__(self, session: Session, sizes: Sizes, observe: Observe | None = None) -> None:
        super().__init__(session, JacobiWindow.drawn_from(session.ids, sizes.window_size, sizes.ngram_size), observe)
        self._sizes, self.guess_set_size = sizes, sizes.guess_set_size

    def _plan_step(self, max_depth: int) -> StepPlan:
        ids, window = self._session.ids, self._window
        longest = min(max_depth, self._sizes.ngram_size - 1)
        candidates = guess_set(self._session.tables, ids, longest, self._sizes.guess_set_size)
        return StepPlan(len(ids) - 1, ids[-1], window, tuple(window.rows), candidates)

    def _update(self, plan: StepPlan, choices: Choices, accepted: Sequence[int]) -> None:
        pass

    def _update_plain(self, plan: StepPlan, logits: torch.Tensor, chosen: int) -> None:
        pass


def positions_ahead(session: Session) -> int | None:
    """The positions that the model has beyond the text; None for any number."""
    limit = session.capabilities.position_limit
    return None if limit is None else limit - len(session.ids)
