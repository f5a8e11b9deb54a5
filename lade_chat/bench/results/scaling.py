"""Scaling of shared steps over several processes, against one process with the same sizes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lade_chat.bench.results.summary import Row, Spread, rates_of
from lade_chat.bench.results.values import Run, TablesKept, shared_name

if TYPE_CHECKING:
    from decoding import StepCost

PROBE_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Scaling:
    """One method on several processes against the same on one, over a suite.

    Attributes:
        ranks: the number of processes.
        tokens_per_second: on all of them.
        scaling: tokens per second over those of one process in the same repeat.
        whole_tokens: mean tokens of a step.
        share_tokens: mean tokens of the largest share of a step.
        ideal: one process's time for a whole step over its time for the largest share, from the measured cost curve:
            the scaling without communication and without interference between processes.
        bytes_per_step: bytes that rank 0 sends and receives.
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


def scaling(runs: Sequence[Run], rows: Sequence[Row], ranks: int, cost: StepCost) -> list[Scaling]:
    """Return the scaling of every method that was measured on one process and on several.

    Args:
        ranks: the number of processes.
        cost: the cost of steps on one.
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
    """The time of a step over a possibly fractional number of tokens."""
    low = int(tokens)
    return cost.seconds(low) + (tokens - low) * (cost.seconds(low + 1) - cost.seconds(low))
