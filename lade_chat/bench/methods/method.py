"""A decoding method as the benchmark sees it, and the setup that methods are made from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from lade_chat.bench.results.values import TablesKept, TimedReply, seed_of_draws
from lade_chat.presentation.methods import PAPER_SIZES as PAPER

if TYPE_CHECKING:
    from decoding import SamplingConfig, StepCost

SizesTuple: TypeAlias = tuple[int, int, int]
"""W, N and G."""
Replier: TypeAlias = Callable[[Sequence[int], int], TimedReply]
"""Function of a prompt's ids and the maximum number of new tokens; returns the timed reply."""

PAPER_SIZES: SizesTuple = (PAPER.window_size, PAPER.ngram_size, PAPER.guess_set_size)


@dataclass(frozen=True, slots=True)
class Method:
    """One decoding method.

    Attributes:
        name: its name in the results.
        learns: True if it has draft tables that learn from earlier texts; it is then measured warm and cold.
        open: takes a seed and returns a replier with fresh tables, which it keeps from reply to reply.
        may_refuse: True if it may raise an error for a model, which then leaves the method out.
        own_draws: True if it draws its own random numbers, so that the same seed gives another text.
    """

    name: str
    learns: bool
    open: Callable[[int | None], Replier]
    may_refuse: bool = False
    own_draws: bool = False

    @property
    def entries(self) -> tuple[TablesKept | None, ...]:
        """The states of the draft tables to measure it with; None for a method that does not learn."""
        return ("warm", "cold") if self.learns else (None,)


@dataclass(frozen=True, slots=True)
class Setup:
    """Everything that methods are made from."""

    model: Any
    eos_token_ids: tuple[int, ...] = ()
    fixed_sizes: tuple[SizesTuple, ...] = (PAPER_SIZES,)
    tokenizer: Any = None
    assistant: Any = None
    """The draft model, a LoadedModel; None for none."""
    compiled: bool = False
    """Compile the steps of this package's decoders."""
    sampling: SamplingConfig | None = None
    """None for greedy decoding."""
    workers: Any = None
    """The other processes that steps are shared with; None for none."""
    gguf: Path | None = None
    """The model's file, for other engines; None if it is no GGUF."""
    step_cost: Mapping[int, float] | None = None
    """Plain steps by the tokens of a step, at which steps are counted in place of being timed; None to time them."""

    def fixed_cost(self) -> StepCost | None:
        """Return the step cost given beforehand, in a state of its own; None if steps are timed."""
        from decoding import StepCost

        return None if self.step_cost is None else StepCost(self.step_cost, live=False)

    def sampling_of(self, ids: Sequence[int], seed: int | None) -> SamplingConfig | None:
        """Return the sampling of a prompt's reply under one of the benchmark's seeds."""
        draws = seed_of_draws(seed, ids)
        return self.sampling if self.sampling is None or draws is None else replace(self.sampling, seed=draws)
