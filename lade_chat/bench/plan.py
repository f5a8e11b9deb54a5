"""The plan of a benchmark and its step costs, checked before anything heavy is imported."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from lade_chat.bench.methods.all_methods import ENGINES, PAPER_SIZES, SizesTuple, check_names
from lade_chat.errors import UsageError
from lade_chat.loading.checkpoint import local_model
from lade_chat.protocol.values import DecodingOptions, ModelOptions
from lade_chat.suites.prompts import Suite

STEP_COSTS: Mapping[str, Mapping[int, float]] = {
    "cpu": {1: 1.0, 2: 1.1, 4: 1.15, 8: 1.3, 16: 1.6, 32: 2.1, 64: 2.9},
    "int8": {1: 1.0, 8: 1.0, 16: 1.08, 32: 1.4, 64: 2.2},
    "flat": {1: 1.0, 64: 1.05, 128: 1.15},
}
"""Plain steps by the tokens of a step: a CPU's, one of int8 weights on a CPU, and an accelerator's."""
_MOST_TOKENS, _HIGHEST_COST = 2**14, 1e6


def step_cost_named(text: str) -> Mapping[int, float]:
    """Return plain steps by tokens, from a name or figures as ``1:1,8:1.3``. Raises UsageError if it is neither."""
    if text in STEP_COSTS:
        return STEP_COSTS[text]
    try:
        pairs = [part.split(":") for part in text.split(",")]
        costs = {int(tokens): float(cost) for tokens, cost in pairs}
    except ValueError:
        names = ", ".join(STEP_COSTS)
        raise UsageError(
            f"'{text}' is neither one of {names} nor figures such as 1:1,8:1.3,64:2.9 (tokens and plain steps)."
        ) from None
    if costs.get(1) != 1.0:
        raise UsageError(f"'{text}' does not begin with 1:1, the cost of a plain step.")
    for tokens, cost in costs.items():
        if not (1 <= tokens <= _MOST_TOKENS and 1 <= cost < _HIGHEST_COST):
            raise UsageError(
                f"{tokens}:{cost:g} is no step's cost: 1 to {_MOST_TOKENS:,} tokens cost 1 plain step or more."
            )
    return costs


@dataclass(frozen=True)
class Plan:
    """A benchmark; plain decoding is always measured.

    Attributes:
        fixed_sizes: W, N and G of lookahead with fixed sizes, one or several.
        seeds: when sampling, every prompt is answered with each of these, by default with a random one.
        random_weights: the seed of random weights in place of the model's; None for its own.
        step_cost: plain steps by the tokens of a step, at which steps are counted in place of being timed.
        decoding_only: True to leave the prefill and the first token out of every rate.

    Raises UsageError: a method is not known, or another engine is wanted for a model that is not a GGUF file.
    """

    suites: tuple[Suite, ...]
    methods: tuple[str, ...]
    options: DecodingOptions
    model: ModelOptions = field(default_factory=ModelOptions)
    assistant_model: str | None = None
    fixed_sizes: tuple[SizesTuple, ...] = (PAPER_SIZES,)
    repeats: int = 3
    system: str | None = None
    seeds: tuple[int, ...] = ()
    random_weights: int | None = None
    step_cost: Mapping[int, float] | None = None
    decoding_only: bool = False

    def __post_init__(self) -> None:
        check_names(self.methods, assistant=self.assistant_model is not None, timed=self.step_cost is None)
        if self.decoding_only and self.options.max_new_tokens < 2:
            raise UsageError("--decoding-only leaves out the first token: give --max-new-tokens 2 or more.")
        if self.step_cost is not None and self.model.processes > 1:
            raise UsageError("--step-cost counts the steps of a single process.")
        engine = next((name for name in self.methods if name in ENGINES), None)
        path = self.model.path
        place = None if path is None else local_model(path)
        # On the Hub a colon stands before the name of a file.
        is_gguf = place.is_file() if place is not None else path is not None and ":" in path
        if engine is not None and (self.random_weights is not None or not is_gguf):
            raise UsageError(f"{engine} reads .gguf files only: give one with --model-path.")
