"""Workings before a row of numbers: the row's end, found by steps that are each a copy or a small sum."""

from __future__ import annotations

from collections.abc import Sequence

# Rows that must not pass a number: told one after another until one is past it.
_BOUNDED = ("step", "either_step", "from_by", "down_by", "up_to", "by_steps", "seq", "till", "series", "named",
            "row of code", "primes", "squares_to", "multiples_below", "two_digit")  # fmt: skip
# Rows whose ends are near those told.
_ENDED = ("even", "even_inside", "even_down", "even_to", "below", "ending", "inside", "below_end", "row of code short")
# Rows of so many numbers, each behind its place.
_PLACED = ("fibonacci", "first_primes", "cubes", "doubling", "parity_next", "multiples_after", "down_k")


def beyond(values: Sequence[int]) -> int:
    """The number that would come after the row's last."""
    return 2 * values[-1] - values[-2] if len(values) > 1 else values[-1]


def worked_row(way: str, values: list[int], end: int = 0, after: int = 0, start: int = 0) -> str:
    """The working of a row of this sort; nothing where the row needs none.

    Args:
        way: the sort of row.
        values: the row's numbers.
        end: the number that the row must not pass.
        after: what would come after the row's last number.
        start: the number from which multiples are asked for.
    """
    first, last, count = values[0], values[-1], len(values)
    step = values[1] - first if count > 1 else 1
    if way in _BOUNDED:
        sign = "=" if after == end else "<" if after < end else ">"
        opening = "" if way in ("primes", "squares_to") else f"{step:+}: "
        return f"{opening}{', '.join(map(str, values))}, {after} {sign} {end}"
    if way in _ENDED:
        return f"{first} to {last}" + (f" by {abs(step)}" if abs(step) > 1 else "")
    if way in _PLACED:
        return ", ".join(f"{at}. {value}" for at, value in enumerate(values, 1))
    if way == "divisible":
        return _tried(step, start, end)
    return _last_by_count(way, first, last, count, step)


def _tried(step: int, start: int, end: int) -> str:
    """Multiples from a round one, or the first, to one beyond the end, each with yes or no."""
    tried = range(max(step, start // (10 * step) * 10 * step), end + step + 1 - end % step, step)
    return ", ".join(f"{one} {'yes' if start <= one <= end else 'no'}" for one in tried)


def _last_by_count(way: str, first: int, last: int, count: int, step: int) -> str:
    """The sum that tells the last of so many numbers."""
    if way in ("next", "more"):
        before, more = first - step, count * step
        return f"{before} + {more} = {last}" if step == 1 else f"{count} × {step} = {more}. {before} + {more} = {last}"
    sums = {
        "multiples": f"{count} × {step} = {last}", "squares": f"{count} × {count} = {last}",
        "first_odd": f"{count} × 2{' - 1' if first == 1 else ''} = {last}",
        "steps_of": f"{count - 1} × {step} = {last - first}. {first} + {last - first} = {last}",
        "starting_at": f"{first} + {count - 1} = {last}", "those_before": f"{last + 1} - {count} = {first}",
    }  # fmt: skip
    return sums.get(way, "")
