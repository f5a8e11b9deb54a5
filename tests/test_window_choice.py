"""The window's size: the largest that is nearly free, kept while it pays, and none where none pays."""

from __future__ import annotations

from copy import copy

import pytest

from decoding.drafting.window_choice import MIN_WINDOW_GAIN, TRIAL_STEPS, WINDOW_SIZES, WindowChoice
from tests.costs import DEAR, NEARLY_FREE, PROHIBITIVE, fixed_cost

NONE, LARGEST = WINDOW_SIZES[0], WINDOW_SIZES[-1]
FREE = fixed_cost(NEARLY_FREE).in_plain_steps


def begun(ahead: int | None = None) -> WindowChoice:
    choice = WindowChoice()
    choice.begin(FREE, ahead)
    return choice


def take(choice: WindowChoice, steps: int, gain: float) -> None:
    """Steps of two tokens, in so many times less time than without the branch as it gains."""
    for _ in range(steps):
        choice.note(2, 1.0, 2, gain)


@pytest.mark.parametrize("several", [1.02, 1.1, 1.25, 1.5, 2.0])
def test_a_text_begins_with_a_window_only_where_steps_over_several_tokens_cost_little(several: float) -> None:
    # As many tokens more as a window holds are nearly free at each of these costs; the first few are not.
    choice = WindowChoice()
    choice.begin(fixed_cost({1: 1.0, 2: several, 128: several + 0.02}).in_plain_steps, None)
    assert choice.sizes == (LARGEST if several < 1.2 else NONE)


def test_no_window_is_tried_where_it_is_dear() -> None:
    for seconds in (DEAR, PROHIBITIVE):
        choice = WindowChoice()
        choice.begin(fixed_cost(seconds).in_plain_steps, None)
        assert choice.sizes == NONE


def test_a_window_is_judged_once_it_has_had_time_and_stays_while_it_gains() -> None:
    kept, left = begun(), begun()
    take(left, TRIAL_STEPS - 1, 1.0)
    assert left.sizes == LARGEST
    for choice, gain in ((kept, 1.2), (left, 1.0)):
        take(choice, 10 * TRIAL_STEPS, gain)
    assert (kept.sizes, left.sizes) == (LARGEST, NONE)
    take(kept, 100 * TRIAL_STEPS, 0.9)
    assert kept.sizes == NONE


@pytest.mark.parametrize(("gain", "kept"), [(1.0, False), (1 + MIN_WINDOW_GAIN / 2, False), (1.2, True)])
def test_a_gain_too_small_to_tell_does_not_keep_a_window(gain: float, kept: bool) -> None:
    choice = begun()
    take(choice, TRIAL_STEPS, gain)
    assert (choice.sizes == LARGEST) is kept
    # One that has failed is not tried again in the next text.
    choice.begin(FREE, None)
    assert (choice.sizes == LARGEST) is kept


def test_where_the_positions_run_out_the_window_goes_at_once_and_the_next_text_has_one_that_fits() -> None:
    choice, room = begun(), sum(LARGEST)
    choice.keep_within(room)
    assert choice.sizes == LARGEST
    choice.keep_within(room - 1)
    assert choice.sizes == NONE
    choice.begin(FREE, room - 1)
    assert choice.sizes == WINDOW_SIZES[-2]
    choice.begin(FREE, 2)
    assert choice.sizes == NONE


def test_a_copy_chooses_on_its_own() -> None:
    choice = begun()
    other = copy(choice)
    take(choice, TRIAL_STEPS, 1.0)
    assert choice.sizes == NONE
    assert other.sizes == LARGEST
