"""BudgetedPlanner: plans each step by the measured cost of steps: as many candidates as pay, and the window's size."""

from __future__ import annotations

from collections.abc import Sequence

from decoding.branches.candidate_tree import ROOT
from decoding.costs.step_cost import StepCost
from decoding.drafting.expander import CandidateExpander
from decoding.drafting.registry import ORIGINS, ROW_WIDTH, SOURCES, origin_of
from decoding.planning.account import Account
from decoding.planning.candidate_budget import select, select_chain
from decoding.planning.planner import Planner, StepPlan, new_window, positions_ahead
from decoding.sampling.sampler import Choices
from decoding.session import Session
from decoding.step import Step
from decoding.step_detail import Observe

MAX_TAILS = 15
"""G: n-grams of the window that are kept for each first token."""
NARROW_WIDTH = 4
WIDE_TOKENS, WIDE_COST = 16, 1.25
"""If a step over WIDE_TOKENS tokens costs at most WIDE_COST plain steps, the successor table learns all ROW_WIDTH
tokens of a row; otherwise the NARROW_WIDTH likeliest, since the budget would hardly ever verify the others."""
QUICK_OVERHEAD, STEEP_TOKENS, STEEP_COST = 0.033, 8, 1.5
"""Where more than this share of a plain step is spent outside the model, or a step over STEEP_TOKENS tokens costs more
than STEEP_COST plain steps, candidates come from n-grams of texts alone (prompt lookup): learning from logits, and the
less likely candidates found in them, cost more time than they save."""
_NEED_WINDOW = frozenset(origin for origin, source in zip(ORIGINS, SOURCES, strict=True) if source.needs_window)


class BudgetedPlanner(Planner):
    """Plans the candidates and the window that the measured step cost justifies; plain steps if none are."""

    def __init__(self, session: Session, cost: StepCost, observe: Observe | None = None) -> None:
        self._account = Account(cost)
        cost.move_to(len(session.ids))
        if not session.prefix.one_chain:
            session.tables.window_choice.begin(cost.in_plain_steps, positions_ahead(session))
        super().__init__(session, new_window(session, *session.tables.window_choice.sizes), observe)
        self._tables, self._cost, self.guess_set_size = session.tables, cost, MAX_TAILS
        self._has_branch = self._window.columns > 0 or any(len(self._tables[origin]) for origin in _NEED_WINDOW)
        is_quick = cost.overhead > QUICK_OVERHEAD * cost.seconds(1)
        self._texts_alone = cost.live and (is_quick or cost.in_plain_steps(STEEP_TOKENS) > STEEP_COST)
        wide = cost.in_plain_steps(WIDE_TOKENS) <= WIDE_COST
        width = 0 if self._texts_alone else ROW_WIDTH if wide else min(NARROW_WIDTH, ROW_WIDTH)
        self.row_width = width if session.tables.vocabulary is None else min(width, session.tables.vocabulary)

    def book(self, plan: StepPlan | None, step: Step) -> None:
        self._account.book(plan, step)

    def _rests(self) -> bool:
        self._cost.move_to(len(self._session.ids))
        if self._texts_alone and not self._has_branch and not self._tables.context.expects_more():
            return True
        return self._account.rests()

    def _plan_step(self, max_depth: int) -> StepPlan:
        session, window = self._session, self._window
        ids, rereads = session.ids, session.prefix.rereads
        expander = CandidateExpander(self._tables, ids, texts_alone=self._texts_alone)
        curve = self._cost.curve(rereads + 1 + len(window))
        costs = curve.for_trial() if self._cost.is_doubtful else curve
        if session.prefix.one_chain:
            rereading = None if session.prefix.cuts_back else rereads + 1
            candidates, followers = select_chain(expander, costs, max_depth, rereading)
        else:
            candidates, followers = select(expander, costs, max_depth)
        return StepPlan(len(ids) - 1, ids[-1], window, tuple(window.rows), candidates, followers, curve, rereads)

    def learn(self, plan: StepPlan, choices: Choices, accepted: Sequence[int]) -> None:
        true_rows = [ROOT, *accepted]
        if self.row_width:
            self._learn_rows(plan, choices, true_rows)
        for row in true_rows:
            if row not in plan.followers:
                break
            plan.followers[row].learn(self._tables.evidence_weights, choices.tokens[row])
        if self._window.columns:
            self._judge_window(plan, accepted)
        super().learn(plan, choices, accepted)

    def _learn_rows(self, plan: StepPlan, choices: Choices, true_rows: Sequence[int]) -> None:
        candidates, ids, position = plan.candidates, self._session.ids, plan.position
        tokens = [ids[position], *candidates.tokens]
        pairs = [(ids[position - 1] if position else ids[0], ids[position])]
        pairs += [(tokens[parent], token) for parent, token in zip(candidates.parents, candidates.tokens, strict=True)]
        read = len(pairs)
        likeliest, logits = choices.likeliest[:read], choices.logits[:read]
        if len(set(tokens)) < read:
            # Of a token in several rows, remember the accepted text's row.
            pairs += [pairs[row] for row in true_rows]
            likeliest += [likeliest[row] for row in true_rows]
            logits += [logits[row] for row in true_rows]
        # All children of the last accepted node were rejected; the likeliest is the first.
        last = true_rows[-1]
        rejected = candidates.first_child(last)
        for table in self._tables.row_tables:
            table.learn_rows(pairs, likeliest, logits)
            if rejected:
                table.learn_rejected((tokens[last], choices.tokens[last]), choices.likeliest[rejected])

    def _judge_window(self, plan: StepPlan, accepted: Sequence[int]) -> None:
        """Drop the window if it does not pay, or no longer fits."""
        # The same step without the branch, and without the candidates that only the branch gave.
        found = enumerate(zip(plan.candidates.parents, plan.candidates.tokens, strict=True), start=1)
        from_branch = {
            node
            for node, (parent, token) in found
            if all(origin_of(evidence) in _NEED_WINDOW for evidence in plan.followers[parent].evidence[token])
        }
        lost = next((len(accepted) - at for at, node in enumerate(accepted) if node in from_branch), 0)
        tokens, without = 1 + len(accepted), 1 + len(plan.candidates) - len(from_branch)
        choice, cost = self._tables.window_choice, self._cost.in_plain_steps
        choice.note(tokens, cost(plan.forward_tokens), tokens - lost, cost(without))
        choice.keep_within(positions_ahead(self._session))
        if choice.sizes[0] != self._window.columns:
            self._window = new_window(self._session, *choice.sizes)
