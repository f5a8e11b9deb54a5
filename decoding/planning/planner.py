"""Planner: decides the branches of each step, a StepPlan; and the planner of fixed sizes, as in the paper."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter

from decoding.branches.candidate_tree import CandidateTree
from decoding.branches.window import JacobiWindow
from decoding.config import FixedSizes
from decoding.costs.step_cost import CostCurve
from decoding.drafting.draft_tables import DraftTables
from decoding.drafting.expander import Followers
from decoding.drafting.registry import ORIGINS, WEIGHTS
from decoding.plain_step import MAX_REREADS
from decoding.sampling.sampler import Choices
from decoding.session import Session
from decoding.step import Step
from decoding.step_detail import Observe, StepDetail


@dataclass(slots=True)
class StepPlan:
    """Both branches of one step, made by a planner, which learns from the outcome afterwards.

    Attributes:
        position: the place of the last token in the text.
        last_token: the last token.
        window: the lookahead branch; it advances once the step is taken.
        rows: the window's rows as the step reads them.
        candidates: the verification branch.
        followers: what may follow the last token and each candidate, by number; empty with fixed sizes.
        curve: the cost of this step with 0, 1, 2 … candidates; None with fixed sizes.
        rereads: the tokens that the step reads again before the last one; see :attr:`KVPrefix.rereads`.
        forward_tokens: the tokens of the forward pass: those read again, the last one and both branches.
        is_plain: True if the step has neither candidates nor a window.
    """

    position: int
    last_token: int
    window: JacobiWindow
    rows: tuple[Sequence[int], ...]
    candidates: CandidateTree
    followers: Mapping[int, Followers] = field(default_factory=dict)
    curve: CostCurve | None = None
    rereads: int = 0
    forward_tokens: int = field(init=False)
    is_plain: bool = field(init=False)

    def __post_init__(self) -> None:
        branches = len(self.candidates) + self.window.columns * len(self.rows)
        self.forward_tokens = self.rereads + 1 + branches
        self.is_plain = not branches

    def detail(self, chosen: Sequence[int], accepted: Sequence[int]) -> StepDetail:
        """Return the detail of the step, from what the model chose in its rows and the candidates accepted."""
        read = 1 + len(self.candidates)
        return StepDetail(
            self.position,
            self.last_token,
            self.rows,
            chosen[read:],
            self.window.ngram_size,
            chosen[:read],
            tuple(accepted),
            self.curve,
            self.candidates,
        )


class Planner(ABC):
    """Plans the branches of each step, and learns from its outcome and its time.

    Learning counts in a step's time, so it comes before the step is booked: hence two methods.

    Attributes:
        row_width: the number of each row's likeliest next tokens that the planner learns from; 0 for none.
        guess_set_size: G, the n-grams of the window that are kept for each first token.
    """

    row_width = 0
    guess_set_size = 0

    def __init__(self, session: Session, window: JacobiWindow, observe: Observe | None) -> None:
        self._session, self._window, self._observe = session, window, observe

    def plan(self, remaining: int) -> StepPlan | None:
        """Return the plan of the next step, within the remaining tokens; None for a rest, a step without a search."""
        if self._rests():
            return None
        session, window = self._session, self._window
        depth, ahead = remaining - 1, positions_ahead(session)
        if ahead is not None:
            # The window must not reach beyond the model's last position: the text ends with plain steps.
            reach = window.columns + window.ngram_size - 2 if window.columns else 1
            depth = min(depth, ahead) if ahead >= max(1, reach) else 0
        if depth < 1 or session.prefix.rereads > MAX_REREADS:
            return None
        return self._plan_step(depth)

    def learn(self, plan: StepPlan, choices: Choices, accepted: Sequence[int]) -> None:
        """Learn from a step whose tokens are committed, and show it to the observer.

        Args:
            choices: what the model chose at the last token, each candidate, and the window's last row.
            accepted: the numbers of the candidates accepted.
        """
        if self._observe is not None:
            self._observe(plan.detail(choices.tokens, accepted))

    def book(self, plan: StepPlan | None, step: Step) -> None:
        """Account for the time of a step, that of a rest (without a plan) included; does nothing unless overridden."""
        return

    def _rests(self) -> bool:
        """Return True if the next step is a rest."""
        return False

    @abstractmethod
    def _plan_step(self, max_depth: int) -> StepPlan: ...


class FixedPlanner(Planner):
    """The paper's algorithm: fixed W, N and G, whatever a step gains or costs.

    With a recurrent state it takes the likeliest continuation alone, and no window.
    """

    def __init__(self, session: Session, sizes: FixedSizes, observe: Observe | None = None) -> None:
        window_size, ngram_size, guess_set_size = sizes
        super().__init__(session, new_window(session, window_size, ngram_size), observe)
        self._max_chains = min(guess_set_size, 1) if session.prefix.one_chain else guess_set_size
        self._longest, self.guess_set_size = ngram_size - 1, guess_set_size

    def _plan_step(self, max_depth: int) -> StepPlan:
        ids, window, rereads = self._session.ids, self._window, self._session.prefix.rereads
        candidates = _guess_set(self._session.tables, ids, min(max_depth, self._longest), self._max_chains)
        return StepPlan(len(ids) - 1, ids[-1], window, tuple(window.rows), candidates, rereads=rereads)


def _guess_set(tables: DraftTables, text: Sequence[int], longest: int, guess_set_size: int) -> CandidateTree:
    """Return what the sources propose after a text, merged into one tree, the likeliest beforehand first.

    At most ``guess_set_size`` continuations are merged, each of ``longest`` tokens at most.
    """
    tree = CandidateTree()
    if longest > 0 and guess_set_size > 0:
        found = [
            (WEIGHTS[evidence], origin, path)
            for origin, table in zip(ORIGINS, tables, strict=True)
            for evidence, path in table.continuations(text, longest)
        ]
        found.sort(key=itemgetter(0), reverse=True)
        for _, origin, path in found:
            guess_set_size -= tree.add(path, origin)
            if not guess_set_size:
                break
    return tree


def new_window(session: Session, window_size: int, ngram_size: int) -> JacobiWindow:
    """Return a window drawn from the session's text; none for a recurrent state, which takes one chain alone."""
    if session.prefix.one_chain:
        return JacobiWindow.none()
    return JacobiWindow.drawn_from(session.ids, window_size, ngram_size)


def positions_ahead(session: Session) -> int | None:
    """Return the number of positions that the model has after the text; None for no limit."""
    limit = session.capabilities.position_limit
    return None if limit is None else limit - len(session.ids)
