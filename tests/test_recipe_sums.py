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


def test_one_step_stands_behind_the_question_and_of_several_each_begins_with_its_own_numbers() -> None:
    assert _read_along("{a} boxes of {b} eggs. How many?", "a×b", a=5, b=6) == "5 boxes of 6 eggs, How many: 5 × 6 = 30"
    story = "Stock: {a} scarves. {b} came in, then we sold {c} of them. How many now?"
    read, sums = (
        "Stock 40 scarves, 5 came in, sold 3, How many now. ",
        "Stock 40 scarves, 5 came in: 40 + 5 = 45. sold 3: ",
    )
    assert _read_along(story, "a+b, x-c", a=40, b=5, c=3) == f"{read}{sums}45 - 3 = 42"
    story = "I read {a} pages a day. The book has {c} pages. How many are left after {b} days?"
    read = "read 7 pages a day, book has 90 pages, How many are left after 5 days. "
    sums = "read 7 pages a day, 5 days: 7 × 5 = 35. book has 90 pages: 90 - 35 = 90 - 30 - 5 = 60 - 5 = 55"
    assert _read_along(story, "b×a, c-x", a=7, b=5, c=90) == read + sums


def test_numbers_are_read_again_in_the_order_of_their_sum() -> None:
    story = "{a} jars go on a shelf. How many shelves for {b} jars?"
    reply = "3 jars go, How many shelves for 9 jars. 9 jars, 3 jars go: 9 / 3 = 3"
    assert _read_along(story, "b/a", a=3, b=9) == reply
    story = "I have {a} euros, need {c} and save {b} a week. How many weeks?"
    read = "have 40 euros, need 90, save 5 a week, How many weeks. need 90, have 40 euros: "
    assert _read_along(story, "c-a, x/b", a=40, b=5, c=90) == f"{read}90 - 40 = 50. save 5 a week: 50 / 5 = 10"


def test_words_between_two_numbers_belong_half_to_each() -> None:
    read = _read_along("I have {a} coins, {b} friends get {c} coins each. What is left?", "b×c, a-x", a=40, b=3, c=5)
    assert read.endswith("3 friends get 5 coins each: 3 × 5 = 15. have 40 coins: 40 - 15 = 40 - 10 - 5 = 30 - 5 = 25")
    read = _read_along("{a} kids get {b} plums and {c} figs each. How many fruits?", "b+c, x×a", a=4, b=3, c=5)
    assert read.endswith("get 3 plums, 5 figs each: 3 + 5 = 8. 4 kids: 8 × 4 = 32")


def test_two_numbers_that_are_compared_stand_side_by_side_first() -> None:
    story = "I need {a} forks and have {b}. How many more do I need?"
    reply = "need 9 forks, have 7, How many more do I need: 9 and 7, 9 is more. 9 - 7 = 2"
    assert _read_along(story, "a-b", a=9, b=7) == reply


def test_a_share_is_read_by_its_word() -> None:
    read = "64 birds, half fly off, 5 come, How many. 64 birds, half fly off: 64 / 2 = 60 / 2 + 4 / 2 = 30 + 2 = 32. "
    story = "{a} birds, then half fly off and {b} come. How many?"
    assert _read_along(story, "a/2, x+b", "half", a=64, b=5) == read + "5 come: 32 + 5 = 37"


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
