"""Replies that differ from plain decoding's in the benchmark, and how near a tie they were."""

from __future__ import annotations

import math

import pytest
import torch
from bench_runs import run_of, suite_of
from models import hf_greedy, random_model, random_prompt

from decoding import AutoregressiveDecoder, SamplingConfig
from lade_chat.bench.measure import differences
from lade_chat.engine.comparison.ties import first_difference, logits_after, tie_of, unit_of_last_place
from lade_chat.presentation.race_outcome import nearness


def test_the_first_difference() -> None:
    assert first_difference([1, 2], [1, 2]) is None
    assert first_difference([1, 2], [1, 3]) == 1
    assert first_difference([1, 2], [1]) == 1


def test_the_unit_of_the_last_place() -> None:
    assert unit_of_last_place(1.5, torch.float32) == 2.0**-23
    assert unit_of_last_place(9.0, torch.bfloat16) == 8 * 2.0**-7
    assert math.isfinite(unit_of_last_place(0.0, torch.float32))


def test_a_method_that_differs_is_told_with_its_tie() -> None:
    model = random_model("llama", layers=1)
    prompt = random_prompt(7)
    right = hf_greedy(model, prompt, 5)
    wrong = [*right[:2], (right[2] + 1) % 97, *right[3:]]
    suite = suite_of(right, prompts=[prompt])
    runs = [run_of("odd", 1.0, wrong, repeat=0), run_of("odd", 1.0, wrong, repeat=1), run_of("plain", 1.0, right)]
    [difference] = differences(runs, [suite], tie_of(model))
    assert (difference.method, difference.position, difference.times) == ("odd", 2, 2)
    assert (difference.expected, difference.found) == (right[2], wrong[2])
    logits = model(torch.tensor([[*prompt, *right[:2]]])).logits[0, -1].detach()
    assert difference.gap == pytest.approx(float(logits[right[2]] - logits[wrong[2]]))
    assert difference.gap > 0
    assert difference.ulps is not None
    assert difference.ulps > 1e6  # no tie at all


def test_the_tie_of_tokens_that_were_drawn_is_that_of_what_decided_the_draw(monkeypatch: pytest.MonkeyPatch) -> None:
    model, prompt = random_model("llama", layers=1), random_prompt(7)
    sampling = SamplingConfig(temperature=3.0, repetition_penalty=1.3, seed=4)
    drawn, *_ = AutoregressiveDecoder(model).generate(prompt, max_new_tokens=1, sampling=sampling)
    [chosen], tie = drawn.tokens, tie_of(model, sampling)
    logits = logits_after(model, prompt)
    monkeypatch.setattr("lade_chat.engine.comparison.ties.logits_after", lambda *_: logits)

    def smallest_gap(seed: int) -> float:
        found = [tie(prompt, seed, chosen, other) for other in range(97) if other != chosen]
        return min(each[0] for each in found if each is not None)

    assert smallest_gap(4) > 0
    assert smallest_gap(5) != pytest.approx(smallest_gap(4))


def test_a_token_that_a_filter_leaves_out_is_in_no_tie() -> None:
    model, prompt = random_model("llama", layers=1), random_prompt(7)
    best = hf_greedy(model, prompt, 1)[0]
    wrong = (best + 1) % 97
    suite = suite_of((best,), prompts=[prompt])
    sampling = SamplingConfig(temperature=1.0, top_k=1, seed=4)
    [difference] = differences([run_of("odd", 1.0, (wrong,))], [suite], tie_of(model, sampling))
    assert (difference.expected, difference.found, difference.gap, difference.ulps) == (best, wrong, None, None)


def test_a_reply_that_ends_too_soon_has_no_tie() -> None:
    [difference] = differences([run_of("odd", 1.0, (1,))], [suite_of((1, 2))], lambda *_: pytest.fail("no tie"))
    assert (difference.position, difference.expected, difference.found, difference.gap) == (1, 2, None, None)


@pytest.mark.parametrize(
    ("gap", "told"),
    [
        (0.00764, "their logits are 0.00764 apart: one is 0.77 % likelier than the other"),
        (0.0, "their logits are equal"),
        (1000.0, "their logits are 1e+03 apart: one is over twice as likely as the other"),
    ],
)
def test_a_gap_is_told_as_what_it_means(gap: float, told: str) -> None:
    assert nearness(gap) == told
