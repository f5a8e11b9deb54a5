"""BudgetedPlanner: chooses the number of candidates and the window's size by the measured cost of a step."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from decoding.drafting.expander import CandidateExpander
from decoding.drafting.registry import ORIGINS, ROW_WIDTH, SOURCES
from decoding.drafting.tree import ROOT
from decoding.drafting.window import JacobiWindow
from decoding.native.largest import largest
from decoding.planning.budget import select, select_chain
from decoding.planning.ledger import Stake
from decoding.planning.plain_timing import PLAIN_BATCH, PlainTiming
from decoding.planning.planner import Planner, positions_ahead
from decoding.planning.step_cost import StepCost
from decoding.planning.step_plan import PlainSteps, StepPlan
from decoding.sampling.sampler import Choices
from decoding.session import Session
from decoding.step import Step
from decoding.step_detail import Observe

MAX_DEPTH = 20
"""Maximum depth of the candidate tree; probabilities are negligible long before."""
MAX_TAILS = 15
"""G: n-grams of the window that are kept for each first token."""
MIN_STEP_GAIN = 0.03
"""Expected gain over a plain step, as a fraction, up to which a step without accepted candidates counts as idle."""
USUAL_CANDIDATES = 4
"""Initial estimate of the candidates per step."""
BATCH_STEPS = 8
"""Steps between reviews of the window's size while there is no window; a review in every step would cost time."""
NARROW_WIDTH = 4
WIDE_TOKENS, WIDE_COST = 16, 1.25
"""If a step over WIDE_TOKENS tokens costs at most WIDE_COST plain steps, the successor table learns all ROW_WIDTH
tokens of a row; otherwise the NARROW_WIDTH likeliest, since the budget would hardly ever verify the others."""
QUICK_MODEL_SECONDS = 1.5e-3
"""With plain steps shorter than this, learning from logits costs more time than it saves: candidates then come from
n-grams of texts alone (prompt lookup)."""
_NEED_WINDOW = frozenset(origin for origin, source in zip(ORIGINS, SOURCES, strict=True) if source.needs_window)


class BudgetedPlanner(Planner):
    """Plans the candidates and the window that the measured step cost justifies; plain steps if none are."""

    def __init__(self, session: Session, cost: StepCost, observe: Observe | None = None) -> None:
        if not session.one_chain:
            # The window's size is inherited from the previous text and may exceed the positions left for this one.
            choice, ahead = session.tables.window_choice, positions_ahead(session)
            choice.begin(cost.in_plain_steps, USUAL_CANDIDATES, ahead)
            choice.keep_within(ahead)
        super().__init__(session, _new_window(session), observe)
        self._tables, self._ledger, self.guess_set_size = session.tables, cost.ledger, MAX_TAILS
        self._has_branch = self._window.columns > 0 or any(len(self._tables[origin]) for origin in _NEED_WINDOW)
        self._cost = cost
        self._is_quick = cost.live and cost.seconds(1) < QUICK_MODEL_SECONDS
        wide = cost.in_plain_steps(WIDE_TOKENS) <= WIDE_COST
        width = 0 if self._is_quick else ROW_WIDTH if wide else min(NARROW_WIDTH, ROW_WIDTH)
        self.row_width = width if session.tables.vocabulary is None else min(width, session.tables.vocabulary)
        self._stake = Stake(cost.ledger, quick=self._is_quick)
        self._usual_candidates = float(USUAL_CANDIDATES)
        # Steps without a window since the last review of its size: their number, tokens and cost.
        self._steps, self._tokens_of_steps, self._spent = 0, 0, 0.0
        self._timing = PlainTiming(cost, self._stake)

    def _plain_steps_due(self) -> PlainSteps | None:
        if steps := self._stake.rest_steps(has_window=self._window.columns > 0, most=PLAIN_BATCH):
            return PlainSteps(steps)
        if self._is_quick and not self._has_branch:
            expects_more = self._tables.context.expects_more
            if not expects_more():
                return PlainSteps(PLAIN_BATCH, expects_more)
        if self._timing.is_due:
            return PlainSteps(2)
        return None

    def _plan_step(self, max_depth: int) -> StepPlan:
        ids, window = self._session.ids, self._window
        expander = CandidateExpander(self._tables, ids, texts_alone=self._is_quick)
        curve, depth, stake = self._cost.curve(self._rereads + 1 + len(window)), min(max_depth, MAX_DEPTH), self._stake
        if self._cost.is_doubtful:
            curve = curve.for_trial()
        if self._session.one_chain:
            rereading = None if self._session.prefix.cuts_back else self._rereads + 1
            candidates = select_chain(expander, curve, depth, stake.margin, stake.calibration, rereading)
        else:
            candidates = select(expander, curve, depth, stake.margin, stake.calibration)
        rows = tuple(window.rows)
        return StepPlan(len(ids) - 1, ids[-1], window, rows, candidates, expander, self._cost, self._rereads)

    def _update(self, plan: StepPlan, choices: Choices, accepted: Sequence[int]) -> None:
        assert plan.expander is not None
        expander, true_rows = plan.expander, [ROOT, *accepted]
        if self.row_width:
            self._learn_rows(expander, choices, true_rows)
        expander.learn([choices.tokens[row] for row in true_rows])
        expected = sum(plan.probabilities, 0.0)
        if len(plan.candidates):
            self._stake.count_verified(expected, len(accepted))
        if not accepted and not _is_promising(plan, expected):
            self._stake.count_idle()
        self._judge_window(plan, accepted)

    def _learn_rows(self, expander: CandidateExpander, choices: Choices, true_rows: Sequence[int]) -> None:
        pairs = [expander.pair, *[node.pair for node in expander.taken]]
        read = len(pairs)
        likeliest, logits = choices.likeliest[:read], choices.logits[:read]
        if len({token for _, token in pairs}) < read:
            # Of a token in several rows, remember the accepted text's row.
            pairs += [pairs[row] for row in true_rows]
            likeliest += [likeliest[row] for row in true_rows]
            logits += [logits[row] for row in true_rows]
        # All children of the last accepted node were rejected; the likeliest has the lowest number.
        last = true_rows[-1]
        node = expander.taken[last - 1] if last else expander.root
        rejected = min([child.number for child in node.children if child.number], default=ROOT)
        for table in self._tables.row_tables:
            table.learn_rows(pairs, likeliest, logits)
            if rejected:
                table.learn_rejected((node.token, choices.tokens[last]), choices.likeliest[rejected])

    def _update_plain(self, plan: StepPlan, logits: torch.Tensor, chosen: int) -> None:
        assert plan.expander is not None
        pair = plan.expander.pair
        if self.row_width and logits.is_cpu:
            # Learn immediately, while the logits are in the processor's caches.
            values, tokens = largest(logits, self.row_width)
            for table in self._tables.row_tables:
                table.learn_rows([pair], tokens, values)
        elif self.row_width:
            for table in self._tables.row_tables:
                table.learn_logits(pair, logits)
        if plan.expander.root.followers:
            plan.expander.learn([chosen])
            # Candidates existed but did not pay. A step without any is not counted as idle: the tables still fill.
            self._stake.count_idle()
        self._judge_window(plan, ())

    def record(self, plan: StepPlan | PlainSteps, step: Step) -> None:
        cost, ledger = self._cost, self._ledger
        if isinstance(plan, PlainSteps):
            self._record_plain_steps(plan, step, len(self._session.ids) - self._planned_at)
        elif plan.is_plain:
            # The forward pass costs as much as in any plain step; only the search for candidates is extra.
            self._stake.book(ledger.book(1, cost.in_plain_steps(step.forward_tokens) + self._timing.extra_cost(step)))
            self._timing.note(step)
        else:
            expected = cost.in_plain_steps(step.forward_tokens)
            taken = step.seconds / cost.seconds(1) if cost.live else expected
            self._stake.book(ledger.book(len(step.tokens), taken, expected))
            cost.observe(step.forward_tokens, step.seconds)
            self._timing.interrupt()

    def _record_plain_steps(self, plain: PlainSteps, step: Step, steps: int) -> None:
        again = self._cost.in_plain_steps(1 + self._rereads) - 1.0
        if steps > 1:
            # The last of several steps has the usual overhead; that of planning is spread over all of them.
            self._ledger.note_overhead(step.seconds - step.forward_seconds)
            self._ledger.book(steps, steps + again)
        else:
            self._ledger.book(1, 1.0 + again + self._timing.extra_cost(step))
        self._timing.note_several(step, plain.forward_seconds, steps)

    def _judge_window(self, plan: StepPlan, accepted: Sequence[int]) -> None:
        """Replace the window if another size is likely to pay."""
        if self._session.one_chain:
            return
        count, total, settled = len(plan.candidates), plan.forward_tokens, 1 + len(accepted)
        self._usual_candidates += 0.05 * (count - self._usual_candidates)
        choice, cost = self._tables.window_choice, self._cost.in_plain_steps
        if not self._has_branch:
            self._steps, self._tokens_of_steps = self._steps + 1, self._tokens_of_steps + settled
            self._spent += cost(total)
            if self._steps < BATCH_STEPS:
                return
            choice.note_without_branch(self._steps, self._tokens_of_steps, self._spent)
            self._steps, self._tokens_of_steps, self._spent = 0, 0, 0.0
        else:
            assert plan.expander is not None
            # The same step without the branch, and without the candidates that only the branch gave.
            from_branch = plan.expander.taken_only_from(_NEED_WINDOW)
            lost = next((len(accepted) - at for at, node in enumerate(accepted) if node in from_branch), 0)
            choice.note(settled, cost(total), settled - lost, cost(1 + count - len(from_branch)))
        choice.consider(cost, round(self._usual_candidates), positions_ahead(self._session))
        if choice.sizes != (self._window.columns, self._window.ngram_size):
            self._window = _new_window(self._session)
            self._has_branch = True  # also after the window is gone: its n-grams stay in the table


def _new_window(session: Session) -> JacobiWindow:
    if session.one_chain:
        return JacobiWindow.none()
    return JacobiWindow.drawn_from(session.ids, *session.tables.window_choice.sizes)


def _is_promising(plan: StepPlan, expected: float) -> bool:
    """Return True if the expected accepted candidates would save more than a negligible share of the step's time."""
    curve = plan.curve
    assert curve is not None
    return (1 + expected) * curve.costs[0] > (1 + MIN_STEP_GAIN) * curve.costs[len(plan.candidates)]
