"""Plans: what a step verifies and over which window it looks ahead, fixed as in the paper or budgeted step by step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import torch

from decoding.config import LookaheadConfig
from decoding.drafting.expander import Growth
from decoding.drafting.guess_set import propose
from decoding.drafting.successors import WIDTH
from decoding.drafting.tree import ROOT, CandidateTree
from decoding.drafting.window import JacobiWindow
from decoding.planning.budget import select
from decoding.planning.step_cost import StepCost
from decoding.sampling.sampler import Choices
from decoding.session import Session
from decoding.step import Origin
from decoding.step_detail import Outlook

DEEPEST = 12
"""How many tokens a budgeted continuation has at most: its probability falls off long before."""
IDLE_STEPS = 8
"""After so many steps in which nothing was worth verifying, the sources rest."""
LONGEST_REST = 64
LEAST_GAIN = 0.03
"""A step that promises no more than this over a plain one counts as idle if it keeps nothing: looking costs as much."""
PLAIN_STEPS = 8
"""Plain steps are told to the choice of the window so many at a time: each should take no longer than need be."""


class Plan(Protocol):
    """What the next step verifies, and over which window it looks ahead.

    Attributes:
        window: the lookahead branch of the next step.
        width: how many of each row's likeliest next tokens the plan learns from; 0 for none.
    """

    width: int

    @property
    def window(self) -> JacobiWindow: ...

    def candidates(self, depth: int) -> CandidateTree:
        """The verification branch of the next step, of at most so many tokens in a row; asked once a step."""

    def learn(self, candidates: CandidateTree, accepted: Sequence[int], choices: Choices) -> None:
        """Take in what a step showed, before its tokens are committed.

        Args:
            accepted: the numbers of the candidates accepted.
            choices: what the model chose at the last token, each candidate, and the window's last row.
        """

    def learn_plain(self, logits: torch.Tensor, chosen: int) -> None:
        """As :meth:`learn`, after a step over the last token alone.

        Args:
            logits: shape (vocabulary,).
        """

    def account(self, seconds: float) -> None:
        """Take in how long the whole step took, once it is committed; the window may be another one afterwards."""

    def outlook(self) -> Outlook | None:
        """What a budget expected of the candidates asked for last; None where there is no budget."""


class FixedPlan:
    """W, N and G as they are: the paper's algorithm, which learns nothing from what a step won or cost."""

    width = 0

    def __init__(self, session: Session, config: LookaheadConfig) -> None:
        self._session, self._guess_set_size = session, config.guess_set_size
        self.window = JacobiWindow.drawn_from(session.ids, config.window_size, config.ngram_size)

    def candidates(self, depth: int) -> CandidateTree:
        return propose(self._session, min(depth, self.window.ngram_size - 1), self._guess_set_size)

    def learn(self, candidates: CandidateTree, accepted: Sequence[int], choices: Choices) -> None:
        pass

    def learn_plain(self, logits: torch.Tensor, chosen: int) -> None:
        pass

    def account(self, seconds: float) -> None:
        pass

    def outlook(self) -> Outlook | None:
        return None


class BudgetedPlan:
    """As many candidates, and as large a window, as pay; nothing at all where nothing does."""

    width = WIDTH

    def __init__(self, session: Session, cost: StepCost) -> None:
        self._session, self._tables, self._cost = session, session.tables, cost
        # A window that the last text left behind may not fit before the end of the model's positions.
        session.tables.window_choice.keep_within(self._ahead())
        self.window = self._new_window()
        self._growth = Growth(session.tables, session.ids)
        self._resting, self._next_rest, self._idle = 0, IDLE_STEPS, 0
        self._usual_candidates = 4.0
        self._window_tokens, self._awake = 0, True
        self._plain_steps, self._promising = 0, False
        self._accepted: Sequence[int] = ()

    def candidates(self, depth: int) -> CandidateTree:
        # A window that is still filling has grown by the time the step is accounted for.
        self._window_tokens = len(self.window)
        self._awake = self._is_awake()
        if not self._awake:
            return CandidateTree()
        self._growth = Growth(self._tables, self._session.ids)
        curve = self._cost.curve(1 + self._window_tokens)
        tree = select(self._growth, curve, min(depth, DEEPEST))
        expected = 1 + sum([node.probability for node in self._growth.taken])
        self._promising = expected * curve.costs[0] > (1 + LEAST_GAIN) * curve.costs[len(tree)]
        self._usual_candidates += 0.05 * (len(tree) - self._usual_candidates)
        return tree

    def learn(self, candidates: CandidateTree, accepted: Sequence[int], choices: Choices) -> None:
        # The true text's rows last: where a token stands in several, they are to be remembered.
        true_rows = (ROOT, *accepted)
        rows = [*(row for row in range(1 + len(candidates)) if row not in true_rows), *true_rows]
        read = (self._session.ids[-1], *candidates.tokens)
        self._tables.successors.learn_rows(
            [read[row] for row in rows],
            [choices.likeliest[row] for row in rows],
            [choices.logits[row] for row in rows],
        )
        self._growth.learn([choices.tokens[row] for row in true_rows])
        self._accepted = accepted
        if accepted:
            self._idle, self._next_rest = 0, IDLE_STEPS
        elif not self._promising:
            self._idle += 1

    def learn_plain(self, logits: torch.Tensor, chosen: int) -> None:
        self._tables.successors.learn_later(self._session.ids[-1], logits)
        self._accepted = ()
        if self._awake and self._growth.root.children:
            self._growth.learn([chosen])
            # Something was proposed and not worth its cost; where nothing is known yet, there is much to learn.
            self._idle += 1

    def account(self, seconds: float) -> None:
        if not self._awake:
            self._cost.observe(1, seconds)
            return
        candidates, accepted = len(self._growth.taken), self._accepted
        total = 1 + candidates + self._window_tokens
        self._cost.observe(total, seconds)

        choice = self._tables.window_choice
        if total == 1:
            self._plain_steps += 1
            if self._plain_steps < PLAIN_STEPS:
                return
            choice.note_plain(self._plain_steps)
            self._plain_steps = 0
        else:
            # What the step would have been without the branch, and without the candidates that only the branch gave.
            cost, plain = self._cost.seconds, self._cost.seconds(1)
            traced = self._growth.taken_from(Origin.TRAJECTORY) if len(self._tables.trajectory) else frozenset()
            lost = next((len(accepted) - at for at, node in enumerate(accepted) if node in traced), 0)
            settled, without = 1 + len(accepted), total - self._window_tokens - len(traced)
            choice.note(settled, cost(total) / plain, settled - lost, cost(without) / plain)
        choice.consider(self._cost, round(self._usual_candidates), self._ahead())
        if choice.sizes != (self.window.columns, self.window.ngram_size):
            self.window = self._new_window()

    def outlook(self) -> Outlook | None:
        taken = self._growth.taken if self._awake else ()
        return Outlook(self._cost.curve(1 + self._window_tokens), tuple(node.probability for node in taken))

    def _ahead(self) -> int | None:
        """How many positions the model has beyond the text; None for any number."""
        limit = self._session.gate.position_limit
        return None if limit is None else limit - len(self._session.ids)

    def _is_awake(self) -> bool:
        """Whether to look for candidates in the next step; where nothing paid for long, the sources rest."""
        if self._idle >= IDLE_STEPS:
            # One step awake between two rests, unless it finds something.
            self._idle, self._resting = IDLE_STEPS - 1, self._next_rest
            self._next_rest = min(2 * self._next_rest, LONGEST_REST)
        if self._resting and not self.window.columns:
            self._resting -= 1
            return False
        return True

    def _new_window(self) -> JacobiWindow:
        return JacobiWindow.drawn_from(self._session.ids, *self._tables.window_choice.sizes)
