"""Workings before a row of numbers: what the user told, then the row's end by steps that are a copy or a small sum."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from assets.recipe.words import pairs, read_wording

_WORDING = read_wording("numbers/counting")
# How the bounds are told back of rows that must not pass a number, and of those whose ends are near what was told.
_BOUNDED, _ENDED = (dict(pairs(_WORDING, name)) for name in ("bounded", "ended"))
# Rows of so many numbers, each behind its place; of even steps, what they begin with and the step.
_PLACED = ("fibonacci", "first_primes", "cubes", "doubling", "parity_next", "multiples_after", "down_k", "steps_of")


def differences(values: Sequence[int]) -> str:
    """The distance of each of the numbers from the next, the larger less the smaller."""
    return ", ".join(f"{max(two)} - {min(two)} = {max(two) - min(two)}" for two in pairwise(values))


def worked_row(way: str, values: list[int], said: Mapping[str, object]) -> str:
    """The working of a row of this sort, of which the user tells what is said; nothing where the row needs none."""
    first, last, count = values[0], values[-1], len(values)
    step = values[1] - first if count > 1 else int(str(said.get("s", 1)))
    if way in _BOUNDED:
        opening = f"{_BOUNDED[way].format(**said)}{'' if way == 'primes' else f', {step:+}'}: "
        seen = said.get("seen")
        return (f"{differences(seen)}. " if isinstance(seen, list) else "") + opening + _until(way, values, step, said)
    if way in _ENDED:
        sort = str(said.get("kind", said.get("d", "")))
        sort = f", ending in {sort}" if way == "ending" else f", {sort}" if sort else ""
        return f"{_ENDED[way].format(**said)}{sort}: {first} to {last}"
    if way.startswith("squares"):
        more = [count + 1] * (way == "squares_to")
        roots = [round(value**0.5) for value in values] + more
        return ", ".join(f"{n} × {n} = {n * n}" for n in roots) + (f" > {said['b']}" if more else "")
    if way in _PLACED:
        opening = f"From {first}, {step:+}: " if way == "steps_of" else ""
        return opening + ", ".join(f"{at}. {value}" for at, value in enumerate(values, 1))
    return _last_by_count(way, first, last, count, step)


def _until(way: str, values: list[int], step: int, said: Mapping[str, object]) -> str:
    """The numbers before the row, if it is looked for from a round number, the row, and what ends it."""
    end, after = int(str(said["b"])), values[-1] + step
    start = int(str(said["a"])) if way.startswith("divisible") else 0
    told = [f"{one} < {start}" for one in range(max(step, start // (10 * step) * 10 * step), start, step)]
    told += [f"{start} = {start}"] * (way == "divisible_inside" and start % step == 0)
    told += map(str, values)
    if values[-1] == end:
        return f"{', '.join(told)} = {end}"
    after = int(str(said.get("after", after)))
    return f"{', '.join(told)}, {after} {'=' if after == end else '<' if after < end else '>'} {end}"


def _last_by_count(way: str, first: int, last: int, count: int, step: int) -> str:
    """The sum that tells the last of so many numbers."""
    if way in ("next", "more"):
        before, more = first - step, count * step
        return f"{before} + {more} = {last}" if step == 1 else f"{count} × {step} = {more}. {before} + {more} = {last}"
    sums = {
        **dict.fromkeys(("multiples", "results"), f"{count} × {step} = {last}"),
        "first_odd": f"{count} × 2{' - 1' if first == 1 else ''} = {last}",
        "starting_at": f"{first} + {count - 1} = {last}", "those_before": f"{last + 1} - {count} = {first}",
    }  # fmt: skip
    return sums.get(way, "")
