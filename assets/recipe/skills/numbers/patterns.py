"""Numbers that go on by a pattern, or have a gap; numbers squared; rows added up or counted."""

from __future__ import annotations

from itertools import pairwise

from assets.recipe.conversation import Exchange, mentions, number_list
from assets.recipe.draw import Draw
from assets.recipe.skills.numbers.arithmetic import work, worked, worked_sum
from assets.recipe.skills.numbers.row_workings import differences, worked_row
from assets.recipe.user_words import calculated, enumerated
from assets.recipe.words import ORDINALS, entries, nth, read_wording, spelled, weighted

_WORDING = read_wording("numbers/counting")
_OPEN = ("", "Here you go: ", "Here they are: ")
# The direction is told before the second number settles it.
_DIRECTIONS = {1: "Counting up: ", -1: "Counting down: "}
_CONTINUED, _RULES, _TOTALS = (weighted(_WORDING, f"ways {name}") for name in ("continued", "of going on", "of totals"))
_GAPS = entries(_WORDING, "gaps")


def listing(
    draw: Draw, values: list[int], ask: str, follow_up: bool = False, apart: str = "", working: str = ""
) -> Exchange:
    """The exchange that lists the numbers, between them what the user wishes for (apart); the working stands before."""
    listed = (apart or ", ").join(map(str, values))
    steps = {after - before for before, after in pairwise(values)}
    direction = _DIRECTIONS.get(steps.pop()) if len(steps) == 1 else None
    opening = f"{working}. So " if working else "" if apart else direction or draw.any(_OPEN)
    opening = opening.replace(". So ", ". So\n") if apart == "\n" else opening
    return Exchange(ask, opening + listed + ("" if apart else "."), number_list(values), follow_up)


def _steps(draw: Draw) -> tuple[int, int]:
    """The start of a row of even steps, and its step: mostly small, or round."""
    start, step = draw.numbers((0, draw.any((10, 30, 60))), (1, draw.any((9, 9, 12, 12, 25, 60))))
    step = draw.any((step, step, step, step, 2, 3, 5, 10, draw.any((10, 20, 25, 50, 100))))
    return draw.any((start, start, step, 0, 10 * start, step * (start % 10))), step


def _row_of(rule: str, start: int, step: int, count: int) -> list[tuple[int, str]]:
    """The numbers of a row that goes on by this rule, each with the sum that leads from it to the next, worked."""
    factor, first = 2 if step < 7 else step % 9 + 2, start % 5 + 1
    if rule in ("up", "down"):
        more, sign = (step, "+") if rule == "up" else (-step, "-")
        row = [start + step * at for at in range(count)][:: 1 if rule == "up" else -1]
        return [(n, f"{n} {sign} {step} = {n + more}") for n in row]
    if rule in ("times", "half"):
        by, sign, way = (factor, "×", 1) if rule == "times" else (2, "/", -1)
        return [(n, work(n, by, sign)[0]) for n in [first * by**at for at in range(count)][::way]]
    if rule in ("squares", "growing"):
        grows, n = (2, (start % 3 + 1) ** 2) if rule == "squares" else (1, start)
        more = 2 * (start % 3 + 1) + 1 if rule == "squares" else step % 5 + 1
        row = [n + at * more + grows * at * (at - 1) // 2 for at in range(count)]
        return [(n, f"{n} + {more + grows * at} = {n + more + grows * at}") for at, n in enumerate(row)]
    row = [first, first + step % 3]
    while len(row) < count:
        row.append(row[-2] + row[-1])
    return [(first, ""), *((n, f"{before} + {n} = {before + n}") for before, n in pairwise(row))]


def continued(draw: Draw) -> list[Exchange]:
    """The numbers after some, before or between them; how many there are; some numbers squared."""
    way = draw.any(_CONTINUED)
    start, step = _steps(draw)
    if way in ("then", "carry_on", "continue"):
        rule = draw.any(_RULES)
        count, k = draw.any((3, 4, 4, 4, 5, 6)), {"then": 1, "continue": 3}.get(way) or draw.any((2, 2, 3, 3, 4, 5))
        if rule not in ("up", "down"):
            count, k = draw.any((3, 4, 4, 5, 5, 6) if rule == "times" else (4, 5, 5, 6, 7)), min(k, 3)
        row = _row_of(rule, start, step, count + k)
        values = [value for value, _ in row]
        if max(values) > 9999:
            return continued(draw)
        led = ", ".join(lead for _, lead in row[count - 1 : -1])
        typed = draw.any((", ", ", ", ", ", " ", " ", ",")).join(map(str, values[:count]))
        ask = draw.asked(_WORDING, way, x=typed, k=draw.any((k, spelled(k))))
        return [listing(draw, values[count:], ask, working=f"{differences(values[:count])}. {led}")]
    if way == "gap":
        row = _row_of(draw.any(("up", "up", "down")), start, step, draw.whole(4, 7))
        return _gap(draw, [value for value, _ in row])
    if way in ("squares_of", "squares_from"):
        some = draw.numbers(*[(2, 15)] * draw.whole(2, 4))
        some = [some[0] + at for at in range(len(some) + 1)] if way == "squares_from" or draw.chance(0.3) else some
        values, told = [n * n for n in some], [*map(str, some)]
        x = draw.any((", ".join(told), enumerated(told), " and ".join(told), " ".join(told)))
        ask = draw.asked(_WORDING, way, x=x, a=some[0], b=some[-1])
        return [listing(draw, values, ask, working=worked_row("squares", values, {}))]
    if way in ("nth", "nth_of"):
        k, times = draw.whole(4, 9), draw.any((step, step % 12 + 2))
        terms = [times * at for at in range(1, k + 1)] if way == "nth" else [start + step * at for at in range(k)]
        place = draw.any((nth(k), nth(k), ORDINALS[k]))
        opening = "" if way == "nth" else f"{differences(terms[:3])}. "
        line = f"{opening}{', '.join(f'{at}. {n}' for at, n in enumerate(terms, 1))}. So {terms[-1]}."
        return calculated(draw, _WORDING, way, line, terms[-1], o=place, s=times, x=", ".join(map(str, terms[:3])))
    if way == "rule":
        rule = draw.any(("up", "up", "down"))
        values = [value for value, _ in _row_of(rule, start, step, draw.whole(3, 6))]
        line = f"{differences(values)}. So it is always {'+' if rule == 'up' else '-'} {step}."
        x = draw.any((", ", ", ", " ")).join(map(str, values))
        return [Exchange(draw.asked(_WORDING, way, x=x), line, mentions(f"{'+' if rule == 'up' else '-'} {step}"))]
    start = max(1, start)
    if way == "how_many":
        end = start + draw.whole(3, 30)
        reply = f"{end} - {start} = {end - start}. {end - start} + 1 = {end - start + 1}."
        return calculated(draw, _WORDING, way, reply, end - start + 1, a=start, b=end)
    start = draw.any((start, start, 10 * start, 100 * step, 100 * step - 1, 17 * start))
    answer = start - 1 if way == "before" else start + 1
    return calculated(draw, _WORDING, way, f"It is {answer}.", answer, x=start, y=start + 2)


def _gap(draw: Draw, values: list[int]) -> list[Exchange]:
    """A row of even steps in which one number or two are left out."""
    count, sign = len(values), draw.any(_GAPS)
    gaps = sorted(draw.rng.sample(range(1 - draw.chance(0.15), count), 2 if count > 4 and draw.chance(0.3) else 1))
    pairs = [two for two in pairwise(range(count)) if not {*two} & {*gaps}]
    if not pairs:
        return _gap(draw, values)
    at = pairs[0][0]
    shown = draw.any((", ", ", ", " ")).join(sign if at in gaps else str(value) for at, value in enumerate(values))
    working = f"{differences(values[at : at + 2])}. {', '.join(map(str, values))}"
    ask = draw.asked(_WORDING, "gap", x=shown, n="numbers are" if len(gaps) > 1 else "number is")
    return [listing(draw, [values[at] for at in gaps], ask, working=working)]


def totalled(draw: Draw) -> list[Exchange]:
    """A row added up, or its numbers counted."""
    way = draw.any(_TOTALS)
    a, length, k, s = draw.numbers((2, draw.any((9, 30))), (2, 9), (3, 8), (2, 9))
    odd, told = draw.whole(0, 1), draw.any((k, spelled(k)))
    kind = ("even", "odd")[odd]
    if way in ("sum_to", "sum_dots"):
        step = 1 if way == "sum_to" else draw.any((1, 1, 2, 2, 3, 5, 10))
        a = draw.any((1, 1, a, step))
        row = [a + step * at for at in range(draw.any((length + 2, 10, 20, 50, 100)))]
        x = draw.any((" + ", "+")).join((*map(str, row[: draw.any((2, 3, 3))]), "...", str(row[-1])))
        opening, said = f"From {a} to {row[-1]}, {step:+}", {"a": a, "b": row[-1], "x": x}
    elif way in ("sum_kind", "count_kind"):
        first = draw.any((1, 1, 2, a)) if way == "count_kind" or draw.chance(0.6) else 2 - odd
        most = length if way == "count_kind" else draw.any((2, 2, 10, 20 - length, 30, 50, 100 - length))
        b = first + length + most
        row = [n for n in range(first, b + 1) if n % 2 == odd]
        said = {"a": first, "b": b, "kind": kind}
        opening = worked_row("even", row, said)
    elif way in ("sum_first", "sum_multiples"):
        n = 2 if way == "sum_first" else s
        row = [n * at - (odd if way == "sum_first" else 0) for at in range(1, k + 1)]
        opening, said = worked_row("first_odd" if n == 2 else "multiples", row, {}), {"k": told, "kind": kind, "s": n}
    else:
        first, b = draw.any((1, 1, s, a)), s * k + draw.whole(0, s - 1)
        row = [n for n in range(s, b + 1, s) if n >= first]
        said = {"a": first, "b": b, "s": s}
        opening = worked_row("divisible", row, said) if row else ""
    if len(row) < 2:
        return totalled(draw)
    if way.startswith("count"):
        line = f"{opening}. Counted: {', '.join(f'{at}. {n}' for at, n in enumerate(row, 1))}. So {len(row)}."
        return calculated(draw, _WORDING, way, line, len(row), **said)
    if way != "sum_dots" and len(row) < 9 and draw.chance(0.3):
        told = [*map(str, row)]
        x = draw.any((", ", "+", " + ", " and ")).join(told) if draw.chance(0.7) else enumerated(told)
        said = {"x": x, "kind": ("even", "odd")[row[0] % 2] if row[1] - row[0] == 2 else "whole"}
        way, opening = "sum_row", ""
    if way == "sum_row":
        plan = f"a+{row[1]}" + "".join(f", x+{n}" for n in row[2:])
        sums, total = worked(plan, {"a": row[0]}) or ("", 0)
        opening = f"Numbers: {', '.join(map(str, row))}"
    else:
        sums, total = _evenly(row)
    return calculated(draw, _WORDING, way, f"{opening}. {sums}.", total, **said)


def _evenly(row: list[int]) -> tuple[str, int]:
    """The sum of a row of even steps: how many numbers, the first and the last so many times, and half of that."""
    first, last, step, count = row[0], row[-1], row[1] - row[0], len(row)
    ends, twice = first + last, count * (first + last)
    steps = [work(last - first, step, "/")[0]] * (step > 1)
    counted = (work(last, first, "-")[0], *steps, f"{count - 1} + 1 = {count}")
    halved = (worked_sum(last, first, "+"), work(count, ends, "×")[0], work(twice, 2, "/")[0])
    return f"{'. '.join(counted)} numbers. {'. '.join(halved)}", twice // 2
