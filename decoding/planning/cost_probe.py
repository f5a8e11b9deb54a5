"""Cost probe: time a few forward passes over different numbers of tokens when a model is first used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from time import perf_counter
from typing import TYPE_CHECKING

from decoding.arguments import as_count, check_kind, shown
from decoding.costs.step_cost import PROBE_CONTEXT, StepCost
from decoding.drafting.registry import ROW_WIDTH
from decoding.model.prefix import KVPrefix
from decoding.model.step_inputs import StepInputs
from decoding.runner import runner_of
from decoding.sampling.sampler import likeliest
from decoding.torch_compile.static_prefix import StaticPrefix, fewest_padded_to, padded_size

if TYPE_CHECKING:
    from transformers import PreTrainedModel

SIZES = (1, 16, 4, 32, 8, 2, 6, 64, 12, 24, 128)
"""Tokens of the steps measured, the most informative first; close together where steps are small: a matrix product over
2 tokens can take longer than one over 6."""
MIN_SIZES = 3
"""Number of sizes that are always measured, and measured twice unless that takes twice the time allowed."""
PROBE_SECONDS = 0.5
CHECKED_SIZES = (1, 8, 16)
CHECK_SECONDS = 0.1
AGREEMENT = 0.2
"""Relative difference allowed between a remembered cost and a fresh measurement."""
FURTHER_CONTEXT = 600
"""Tokens of context beyond :data:`PROBE_CONTEXT` behind which a plain step and a longer one are measured, too."""
MAX_REPEATS = 9
SETTLING_STEPS = 6
"""Plain steps after which most of a longer step's effect on them is over."""
TOKENS_APART = 7919
"""Between the ids of a measured step's tokens, a prime."""
AFTERMATH_TOKENS, AFTERMATH_REPEATS = 8, 3
LARGE = 48
"""Steps over more tokens than this are timed in one round alone: they are slow, and budgets seldom reach them."""
BOOKKEEPING_SECONDS = 3e-4
"""Initial estimate of the time to select candidates and learn from them, which the probe does not run (0.27 to 0.41 ms
were measured). Live steps correct it."""
QUICK_SECONDS = 0.02
"""Steps that take less than this are run twice, and the second run counts."""


def step_cost_of(model: PreTrainedModel, *, compiled: bool | str = False) -> StepCost:
    """Return the cost of steps with this model, measured once.

    It is measured anew once a text has been begun with tensors of another shape or dtype. ``compiled`` is that of the
    session. Raises NotImplementedError if the model supports no steps over branches.
    """
    runner = runner_of(model)
    if (cost := runner.step_costs.get((compiled, False))) is None:
        cost = runner.step_costs[compiled, False] = measure_step_cost(model, compiled=compiled)
    return cost


def measure_step_cost(
    model: PreTrainedModel,
    seconds: float = PROBE_SECONDS,
    *,
    compiled: bool | str = False,
    sizes: Sequence[int] = SIZES,
) -> StepCost:
    """Time steps of a few sizes in turn; with a slow model only three sizes, once each.

    Args:
        model: one that supports steps over several branches: see :func:`decoding.lookahead_support`.
        seconds: the time to spend on timing, compilation not included.
        compiled: as for the session that takes the steps.
        sizes: tokens of the steps, the most informative first; 1 among them. Sizes beyond its positions are left out.

    Raises:
        ValueError: ``sizes`` are other than whole numbers of at least 1, or 1 is not among them.
        NotImplementedError: the model supports no such steps.
    """
    if 1 not in [as_count(size, "a step's size", least=1) for size in sizes]:
        raise ValueError(f"sizes must have 1, a plain step, among them: {shown(sizes)}")
    runner = runner_of(model)
    runner.refresh()
    capabilities = runner.capabilities
    reason = runner.support.reason if capabilities.one_chain else capabilities.reason
    if reason is not None:
        raise NotImplementedError(f"the steps of {type(runner.model).__name__} cannot be timed: {reason}")
    room = capabilities.position_limit or PROBE_CONTEXT + FURTHER_CONTEXT + LARGE
    prefix = runner.new_prefix(compiled=compiled)
    assert isinstance(prefix, KVPrefix)
    prefix.next_logits([0] * max(1, min(PROBE_CONTEXT, room // 4)))
    length = prefix.length
    sizes = [size for size in sizes if length + size <= room] or [1]
    # Warm-up: the first steps, plain and wide, take longer.
    _timed(prefix, 1)
    _timed(prefix, sizes[min(1, len(sizes) - 1)])
    padded = isinstance(prefix, StaticPrefix) and _warmed_up(prefix, sizes)
    if padded:
        sizes = [size for size in sizes if padded_size(size) == size]

    times = _measured(prefix, sizes, seconds)
    # The minimum: whatever else the machine does can only make a step longer.
    least = {size: min(taken) for size, taken in times.items()}
    repeated = [sorted(taken) for taken in times.values() if len(taken) > 1]
    if padded:
        # Cost is constant within a padding bucket.
        least |= {fewest_padded_to(size): value for size, value in least.items()}
    attention = (0.0, 0.0)
    grows = not prefix.one_chain and not isinstance(prefix, StaticPrefix)
    if grows and tuple(sizes[:2]) == SIZES[:2] and length + FURTHER_CONTEXT + sizes[1] <= room:
        attention = _attention(prefix, {size: least[size] for size in sizes[:2]}, seconds / 4)
    aftermath = 0.0
    if least[1] < QUICK_SECONDS and max(sizes) >= AFTERMATH_TOKENS and not prefix.one_chain:
        plain, aftermath = _aftermath(prefix)
        least[1] = min(plain, least[1])
        least = {size: value + aftermath * (size - 1) for size, value in least.items()}
    costs = {size: value + (BOOKKEEPING_SECONDS if size > 1 else 0) for size, value in least.items()}
    spread = max((taken[1] / taken[0] for taken in repeated), default=1.0)
    return StepCost(costs, attention=attention, aftermath=aftermath, spread=spread)


def still_holds(model: PreTrainedModel, cost: StepCost, *, compiled: bool | str = False) -> bool:
    """Return True if a few steps timed now agree with a remembered cost.

    A cost measured on a busy machine may say that candidates never pay, and then no live step would ever correct it.

    Raises:
        ValueError: ``cost`` is not a StepCost.
        NotImplementedError: the model supports no steps over several branches.
    """
    check_kind(cost, StepCost, "cost", required=True)
    cost = StepCost.from_dict(cost.as_dict())  # not behind the context of a text
    now = measure_step_cost(model, CHECK_SECONDS, compiled=compiled, sizes=CHECKED_SIZES)
    return all(
        abs(now.seconds(size) / now.seconds(1) * cost.seconds(1) / cost.seconds(size) - 1) <= AGREEMENT
        for size in CHECKED_SIZES
    )


def _measured(prefix: KVPrefix, sizes: Sequence[int], seconds: float) -> dict[int, list[float]]:
    """Return the measured times by size; sizes for which no time was left are missing."""
    times: dict[int, list[float]] = {}
    started = perf_counter()
    for repeat in range(MAX_REPEATS):
        for index, size in enumerate(sizes):
            # The first few once in any case, and twice where that takes little longer.
            allowed = (inf, 2 * seconds)[repeat] if index < MIN_SIZES and repeat < 2 else seconds
            if perf_counter() - started > allowed:
                break
            if repeat > 0 and size > LARGE:
                continue
            times.setdefault(size, []).append(_timed_warm(prefix, size))
    return times


def _attention(prefix: KVPrefix, near: Mapping[int, float], seconds: float) -> tuple[float, float]:
    """Return the seconds that a token of context adds to a plain step, and to each further token of a longer one.

    The times of both without further context are ``near``. Steps with it and without take turns: the machine may slow
    down.
    """
    length, least = prefix.length, {(0, size): taken for size, taken in near.items()}
    started = perf_counter()
    for repeat in range(MAX_REPEATS):
        for further in (FURTHER_CONTEXT, 0):
            if (repeat or not further) and perf_counter() - started > seconds:
                break
            if further and not prefix.cache.repeat(length + further):
                return 0.0, 0.0
            for size in near:
                least[further, size] = min(_timed_warm(prefix, size), least.get((further, size), inf))
            prefix.rewind(length)
    one, more = ((least[FURTHER_CONTEXT, size] - least[0, size]) / FURTHER_CONTEXT for size in near)
    each = max(0.0, more - one) / (max(near) - 1)
    return max(one, each), each  # the first token's attention also reads the context from memory


def _aftermath(prefix: KVPrefix) -> tuple[float, float]:
    """Return the seconds of a plain step after many, and those by which each token of a longer one makes more late.

    A model that stays in a large cache of the processor takes several steps to be there again after a longer one.
    """
    settled = sorted([_timed(prefix, 1) for _ in range(3 * SETTLING_STEPS)][2 * SETTLING_STEPS :])
    plain, late = settled[len(settled) // 2], inf
    for _ in range(AFTERMATH_REPEATS):
        _timed(prefix, AFTERMATH_TOKENS)
        after = sum([_timed(prefix, 1) for _ in range(SETTLING_STEPS)])
        late = min(late, after - SETTLING_STEPS * plain)
    return settled[0], max(0.0, late) / (AFTERMATH_TOKENS - 1)


def _warmed_up(prefix: StaticPrefix, sizes: Sequence[int]) -> bool:
    """Compile steps of all sizes; return True if that succeeded."""
    for size in sizes:
        for _ in range(prefix.warm_ups if padded_size(size) == size else 0):
            _timed(prefix, size)
    return prefix.compiled


def _timed_warm(prefix: KVPrefix, size: int) -> float:
    """Return :func:`_timed` with warm processor caches, as in decoding, where consecutive steps are of similar size."""
    taken = _timed(prefix, size)
    return _timed(prefix, size) if taken < QUICK_SECONDS else taken


def _timed(prefix: KVPrefix, size: int) -> float:
    """Return the seconds of a step over so many tokens, which the prefix does not keep."""
    # Unlike tokens: equal ones would choose the same of a model's experts.
    inputs = StepInputs.chain([TOKENS_APART * index % prefix.vocabulary for index in range(size)])
    length, started = prefix.length, perf_counter()
    likeliest(prefix.branch_logits(inputs), ROW_WIDTH)
    seconds = perf_counter() - started
    prefix.rewind(length)
    return seconds
