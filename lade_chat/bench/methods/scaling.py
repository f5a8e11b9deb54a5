"""What several processes win that share each step, against one process with the same sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lade_chat.bench.methods.registry import Method, Setup
from lade_chat.bench.results.summary import Row, Spread, rates_of
from lade_chat.bench.results.values import Run, TablesKept

if TYPE_CHECKING:
    from decoding import LookaheadConfig, StepCost

PROBE_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Scaling:
    """One method on several processes against the same on one, over a suite.

    Attributes:
        ranks: how many processes.
        tokens_per_second: on all of them.
        scaling: over that of one process in the same repeat.
        whole_tokens: what a step holds on average.
        share_tokens: what the most loaded process's part of it holds.
        ideal: what one process takes for the whole step, over what it takes for such a part: as the curve of measured
            steps has it, so that nothing is lost to the exchange or to processes that disturb each other.
        bytes_per_step: what rank 0 sends and receives.
    """

    method: str
    tables: TablesKept | None
    suite: str
    ranks: int
    tokens_per_second: Spread
    scaling: Spread
    whole_tokens: float
    share_tokens: float
    ideal: float
    bytes_per_step: float


def shared_method(name: str, config: LookaheadConfig, setup: Setup) -> Method:
    """Lookahead whose steps are shared with the setup's workers."""
    from decoding import step_cost
    from decoding.parallel import ParallelLookaheadDecoder, SharedStepCost
    from lade_chat.bench.methods.decoders import decoder_method

    workers = setup.workers
    cost = None
    if config.sizes is None:
        cost = SharedStepCost(step_cost(setup.model, compiled=setup.compiled), lambda: workers.ranks)
    decoder = ParallelLookaheadDecoder(setup.model, workers, config, cost=cost)
    return decoder_method(shared_name(name, workers.ranks), decoder, setup)


def shared_name(name: str, ranks: int) -> str:
    """What a method is called on so many processes."""
    return f"{name} ×{ranks}"


def scaling(runs: Sequence[Run], rows: Sequence[Row], ranks: int, cost: StepCost) -> list[Scaling]:
    """Every method that was measured on one process and on several.

    Args:
        ranks: how many processes.
        cost: what steps cost on one.
    """
    rates, found = rates_of(runs), []
    for row in rows:
        name = shared_name(row.method, ranks)
        other = next((each for each in rows if _entry(each) == (name, row.tables, row.suite)), None)
        if other is None or other.steps is None:
            continue
        repeats = {repeat for suite, entry, repeat in rates if (suite, entry) == (row.suite, (name, row.tables))}
        ratios = [
            rates[row.suite, (name, row.tables), repeat] / rates[row.suite, (row.method, row.tables), repeat]
            for repeat in repeats
        ]
        whole, share = other.steps.tokens_per_forward, other.steps.tokens_per_share
        found.append(
            Scaling(
                row.method,
                row.tables,
                row.suite,
                ranks,
                other.tokens_per_second,
                Spread.of(ratios),
                whole,
                share,
                ideal=_seconds(cost, whole) / _seconds(cost, share),
                bytes_per_step=other.steps.bytes_per_step,
            )
        )
    return found


def _entry(row: Row) -> tuple[str, TablesKept | None, str]:
    return row.method, row.tables, row.suite


def _seconds(cost: StepCost, tokens: float) -> float:
    """The time of a step over a number of tokens that need not be whole."""
    low = int(tokens)
    return cost.seconds(low) + (tokens - low) * (cost.seconds(low + 1) - cost.seconds(low))
