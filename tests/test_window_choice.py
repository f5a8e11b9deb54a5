"""The window's size: what has paid, tried only where a trial is affordable, and none where none pays."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest

from decoding.drafting.window_choice import FREE_TRIAL, TRIAL_SHARE, TRIAL_STEPS, WINDOW_SIZES, WindowChoice
from tests.costs import DEAR, NEARLY_FREE, PROHIBITIVE, fixed_cost

CANDIDATES = 4
NONE = WINDOW_SIZES[0]


def live(
    choice: WindowChoice,
    seconds: Mapping[int, float],
    gain: Callable[[int], float],
    steps: int,
    ahead: int | None = None,
) -> list[tuple[int, int]]:
    """Steps of two tokens, in so many times less time than without the branch as its size gains; the sizes in force."""
    cost, sizes = fixed_cost(seconds), []
    for _ in range(steps):
        sizes.append(choice.sizes)
        choice.note(2, 1.0, 2, gain(WINDOW_SIZES.index(choice.sizes)))
        choice.consider(cost.in_plain_steps, CANDIDATES, ahead)
    return sizes


def no_gain(level: int) -> float:
    return 1.0


def some_gain(level: int) -> float:
    return 1.2 if level else 1.0


@pytest.mark.parametrize("several", [1.02, 1.1, 1.25, 1.5, 2.0])
def test_a_text_begins_with_a_window_only_where_steps_over_several_tokens_cost_little(several: float) -> None:
    # As many tokens more as a window holds are nearly free at each of these costs; the first few are not.
    cost, choice = fixed_cost({1: 1.0, 2: several, 128: several + 0.02}), WindowChoice()
    choice.begin(cost.in_plain_steps, CANDIDATES, None)
    assert choice.sizes == (WINDOW_SIZES[-1] if several < 1.2 else NONE)


def test_no_window_is_tried_where_it_is_dear() -> None:
    assert set(live(WindowChoice(), DEAR, some_gain, 1000)) == {NONE}
    assert set(live(WindowChoice(), PROHIBITIVE, some_gain, 20_000)) == {NONE}


def test_a_window_is_tried_once_it_can_be_judged_and_its_trial_is_nearly_free() -> None:
    sizes = live(WindowChoice(), NEARLY_FREE, some_gain, TRIAL_STEPS + 1)
    assert sizes == [NONE] * TRIAL_STEPS + [WINDOW_SIZES[1]]


def test_where_every_size_gains_more_the_largest_is_taken_and_kept() -> None:
    sizes = live(WindowChoice(), NEARLY_FREE, lambda level: 1 + 0.1 * level, 30 * TRIAL_STEPS)
    assert list(dict.fromkeys(sizes)) == list(WINDOW_SIZES)
    assert sizes[4 * TRIAL_STEPS :] == [WINDOW_SIZES[-1]] * (26 * TRIAL_STEPS)


def test_a_larger_window_that_gains_no_more_is_left_again() -> None:
    sizes = live(WindowChoice(), NEARLY_FREE, some_gain, 40 * TRIAL_STEPS)
    assert WINDOW_SIZES[2] in sizes
    assert sizes.count(WINDOW_SIZES[1]) > 0.8 * len(sizes)
    assert not set(sizes) & set(WINDOW_SIZES[3:])


def test_a_window_that_gains_nothing_is_left_after_one_trial_and_seldom_tried_again() -> None:
    sizes = live(WindowChoice(), NEARLY_FREE, no_gain, 100 * TRIAL_STEPS)
    assert set(sizes) == {NONE, WINDOW_SIZES[1]}
    assert sizes.count(WINDOW_SIZES[1]) < 0.1 * len(sizes)


def test_trials_never_take_more_than_their_share_of_the_time() -> None:
    """A window that never pays, at a price that cannot be had for nothing."""
    cost, choice = fixed_cost(DEAR), WindowChoice()
    without = cost.seconds(1 + CANDIDATES)
    spent = trials = 0.0
    for _ in range(40_000):
        window, ngram = choice.sizes
        taken = cost.seconds(1 + CANDIDATES + window * (ngram - 1))
        spent, trials = spent + taken, trials + taken - without
        choice.note(1, taken, 1, without)
        choice.consider(cost.in_plain_steps, CANDIDATES, None)
    assert 0 < trials <= TRIAL_SHARE * spent + FREE_TRIAL


def test_a_window_is_kept_through_a_small_loss_and_left_after_a_larger_one() -> None:
    choice = WindowChoice()
    # Too little room for a trial of the next size.
    ahead = sum(WINDOW_SIZES[1])
    live(choice, NEARLY_FREE, some_gain, 3 * TRIAL_STEPS, ahead)
    assert choice.sizes == WINDOW_SIZES[1]
    live(choice, NEARLY_FREE, lambda level: 0.99, 10 * TRIAL_STEPS, ahead)
    assert choice.sizes == WINDOW_SIZES[1]
    live(choice, NEARLY_FREE, lambda level: 0.9, TRIAL_STEPS, ahead)
    assert choice.sizes == NONE


@pytest.mark.parametrize("gain", [1.0, 1.01])
def test_a_gain_too_small_to_tell_does_not_keep_a_window(gain: float) -> None:
    choice = WindowChoice()
    sizes = live(choice, NEARLY_FREE, lambda level: gain if level else 1.0, 10 * TRIAL_STEPS)
    assert WINDOW_SIZES[1] in sizes
    assert choice.sizes == NONE


def test_where_the_positions_run_out_the_window_goes_at_once_and_does_not_come_back() -> None:
    choice, cost = WindowChoice(), fixed_cost(NEARLY_FREE)
    live(choice, NEARLY_FREE, some_gain, 2 * TRIAL_STEPS)
    window, ngram = choice.sizes
    assert window > 0
    choice.consider(cost.in_plain_steps, CANDIDATES, window + ngram)
    assert choice.sizes == (window, ngram)
    choice.consider(cost.in_plain_steps, CANDIDATES, window + ngram - 1)
    assert choice.sizes == NONE
    assert set(live(choice, NEARLY_FREE, some_gain, 5 * TRIAL_STEPS, sum(WINDOW_SIZES[1]) - 1)) == {NONE}


def test_a_copy_chooses_on_its_own() -> None:
    choice, same = WindowChoice(), WindowChoice()
    for each in (choice, same):
        live(each, NEARLY_FREE, some_gain, TRIAL_STEPS + 9)
    other = choice.copy()
    for _ in range(3 * TRIAL_STEPS):
        choice.note(1, 9.0, 4, 1.0)
        choice.consider(fixed_cost(NEARLY_FREE).in_plain_steps, CANDIDATES, None)
    assert choice != other == same
    # From the same state on the same steps lead to the same sizes.
    assert live(other, NEARLY_FREE, some_gain, 9 * TRIAL_STEPS) == live(same, NEARLY_FREE, some_gain, 9 * TRIAL_STEPS)


@pytest.mark.parametrize(("gain", "kept"), [(1.02, False), (1.2, True)])
def test_the_window_of_the_first_step_is_on_trial(gain: float, kept: bool) -> None:
    choice = WindowChoice()
    choice.begin(fixed_cost(NEARLY_FREE).in_plain_steps, CANDIDATES, None)
    assert choice.sizes == WINDOW_SIZES[-1]
    live(choice, NEARLY_FREE, lambda level: gain if level else 1.0, TRIAL_STEPS)
    assert (choice.sizes == WINDOW_SIZES[-1]) == kept
