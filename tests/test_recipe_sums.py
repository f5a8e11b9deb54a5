"""The recipe's sums in words: stories that tell all their numbers, uneven divisions, times, shares, amounts."""

import re
from functools import cache

import pytest

from assets.recipe import corpus
from assets.recipe.skills.measures import amounts, clauses, times, told, word_problems
from assets.recipe.skills.numbers import arithmetic, percentages

_HALVES = {"a": 0, "p": 12}


@pytest.mark.parametrize("signs", sorted({*clauses.ONE_STEP, *clauses.TWO_STEPS}))
def test_a_story_put_together_tells_the_numbers_of_its_plan_and_no_others(signs: str) -> None:
    for index in range(60):
        story, plan, _ = clauses.composed(corpus.draw_for("told", index), signs)
        plan = plan or word_problems.plan_of(signs)
        told = {name for name in "abcdw" if f"{{{name}}}" in story}
        assert told == {name for name in "abcdw" if name in plan}, story


@pytest.mark.parametrize(
    ("plan", "result"), [("a⌈b", 4), ("a⌊b", 3), ("a%b", 6), ("c⌈b", 3), ("c⌊b", 3), ("c%b", None), ("b⌈a", None)]
)
def test_a_division_need_not_come_out(plan: str, result: int | None) -> None:
    done = arithmetic.worked(plan, {"a": 30, "b": 8, "c": 24})
    assert (done and done[1]) == result


def _read_along(story: str, plan: str, half: str = "", **numbers: int) -> str:
    said = {name: str(number) for name, number in numbers.items()}
    return told.working(told.marked(story).format(**told.fields(said)), plan, numbers, said, half)[0]


def test_a_sum_stands_behind_the_words_that_tell_it_and_the_last_one_behind_the_question() -> None:
    story = "Stock: {a} scarves. {b} came in, then we sold {c} of them. How many now?"
    reply = "Stock 40 scarves, 5 came in: 40 + 5 = 45. sold 3, How many now: 45 - 3 = 42"
    assert _read_along(story, "a+b, x-c", a=40, b=5, c=3) == reply


def test_numbers_that_waited_are_read_again_and_two_that_are_compared_stand_side_by_side_first() -> None:
    story = "I read {a} pages a day. The book has {c} pages. How many are left after {b} days?"
    read = "read 12 pages a day, book has 100 pages, How many are left after 5 days. read 12 pages a day, 5 days: "
    sums = "12 × 5 = 10 × 5 + 2 × 5 = 50 + 10 = 60. book has 100 pages: 100 - 60 = 40"
    assert _read_along(story, "b×a, c-x", a=12, b=5, c=100) == read + sums
    story = "I need {a} forks and have {b}. How many more do I need?"
    reply = "need 9 forks, have 7, How many more do I need: 9 and 7, 9 is more. 9 - 7 = 2"
    assert _read_along(story, "a-b", a=9, b=7) == reply


def test_what_is_spent_first_is_worked_first_and_a_share_is_read_by_its_word() -> None:
    story = "I had {c} euros and bought {a} pens for {b} each. What is left?"
    reply = "had 50 euros, bought 2 pens for 7 each: 2 × 7 = 14. What is left: 50 - 14 = 50 - 10 - 4 = 40 - 4 = 36"
    assert _read_along(story, "b×a, c-x", a=2, b=7, c=50) == reply
    reply = "64 birds, half fly off: 64 / 2 = 60 / 2 + 4 / 2 = 30 + 2 = 32. 5 come, How many: 32 + 5 = 37"
    assert _read_along("{a} birds, then half fly off and {b} come. How many?", "a/2, x+b", "half", a=64, b=5) == reply


def _minutes(told: str) -> int:
    """The minutes since midnight of a time as people type it."""
    found = re.fullmatch(r"(\d+)(?::(\d\d))? ?(?:([ap])\.?m\.?)?", told)
    assert found, told
    hour, half = int(found[1]), found[3]
    return (hour % 12 + _HALVES[half] if half else hour) * 60 + int(found[2] or 0)


def test_the_time_between_two_times_is_told_over_midnight_too() -> None:
    # No year has so few digits.
    time = r"\b\d{1,2}\b(?::\d\d)?(?: ?[ap]\.?m\.?)?"
    seen = 0
    for index in range(2000):
        draw = corpus.draw_for("between", index)
        exchange = draw.any(times.TIMES)(draw)[0]
        found = re.search(rf"from ({time}) (?:to|until|till) ({time})", exchange.ask, re.IGNORECASE)
        if not found:
            continue
        seen += 1
        apart = (_minutes(found[2].lower()) - _minutes(found[1].lower())) % 1440
        last = exchange.reply.rpartition("So ")[2] if "So " in exchange.reply else exchange.reply.rpartition("= ")[2]
        hours, minutes = re.search(r"(\d+) hour", last), re.search(r"(\d+) minute", last)
        assert apart == (int(hours[1]) * 60 if hours else 0) + (int(minutes[1]) if minutes else 0), exchange
    assert seen > 100


@pytest.mark.parametrize(
    ("percent", "amount", "share"), [(20, 45, "9"), (30, 43, "12.9"), (15, 50, "7.5"), (75, 40, "30"), (12, 300, "36")]
)
def test_a_percentage_is_worked_to_its_end(percent: int, amount: int, share: str) -> None:
    assert percentages.worked_percentage(percent, amount).endswith(f" = {share}")


@pytest.mark.parametrize("pair", amounts.SPOKEN, ids=lambda pair: f"{pair.big[1]} in {pair.small[1]}")
def test_amounts_of_mixed_units_come_to_what_their_numbers_say(pair: amounts.Pair) -> None:
    big, small = ("|".join(sorted(unit, key=len, reverse=True)) for unit in (pair.big, pair.small))
    worked = rf"(?:^|\. )([\d.]+) ?(?:{big})(?:(?: and)? (\d+) ?(?:{small}))? = (?:[^.]* )?(\d+) (?:{small})\b"
    seen = 0
    for index in range(2000):
        for bigs, smalls, total in re.findall(worked, _joined_amounts(index)):
            seen += 1
            assert round(float(bigs) * pair.factor) + int(smalls or 0) == int(total), _joined_amounts(index)
    assert seen > 10


@cache
def _joined_amounts(index: int) -> str:
    return amounts.joined(corpus.draw_for("amount", index))[0].reply


@pytest.mark.parametrize(
    ("a", "b", "sign"),
    [
        (23, 18, "+"),
        (905, 47, "+"),
        (52, 17, "-"),
        (100, 99, "-"),
        (47, 12, "×"),
        (79, 9, "×"),
        (7, 26, "×"),
        (84, 7, "/"),
        (246, 2, "/"),
    ],
)
def test_every_step_of_a_worked_sum_is_equal_to_the_others(a: int, b: int, sign: str) -> None:
    line, result = arithmetic.work(a, b, sign)
    chain = line.split(", ")[0].replace("×", "*")
    assert {eval(side) for side in chain.split(" = ")} == {result}


def test_worked_digits_are_as_a_person_would_write_them() -> None:
    assert arithmetic.worked_sum(23, 18, "+") == "23 + 18 = 23 + 10 + 8 = 33 + 8 = 41"
