"""Work over a whole vocabulary gives what transformers' processors and torch's own functions give, at any size."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from decoding import SamplingConfig
from decoding.native import kernels
from decoding.native.kernels import native_kernels
from decoding.native.top_k import argmax, argmax_of_row, largest
from decoding.sampling.draw import Warpers
from decoding.sampling.sampler import ProcessorSampler
from decoding.sampling.seeded_gumbel import gumbel

SIZES = (8, 97, 4096, 5000, 50_257)
SETTINGS: tuple[dict[str, Any], ...] = (
    {"temperature": 0.8},
    {"temperature": 0.8, "top_k": 50},
    {"temperature": 1.3, "top_k": 7, "top_p": 0.8},
    {"top_p": 0.9},
    {"temperature": 3.0, "top_p": 0.99},
    {"min_p": 0.05},
    {"temperature": 0.7, "top_k": 40, "top_p": 0.95, "min_p": 0.1},
)


@pytest.fixture(params=["C", "torch"])
def either(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the kernels in C, and without them."""
    if request.param == "torch":
        monkeypatch.setattr(kernels, "native_kernels", lambda: None)
    elif native_kernels() is None:
        pytest.skip("no C compiler here")


def row_of(size: int, seed: int = 0) -> torch.Tensor:
    return 3 * torch.randn(size, generator=torch.Generator().manual_seed(seed))


@pytest.mark.usefixtures("either")
@pytest.mark.parametrize("size", SIZES)
def test_the_largest_are_those_of_topk_and_the_first_of_equals_is_taken(size: int) -> None:
    rows = torch.stack([row_of(size, seed) for seed in range(3)])
    for count in (1, 4, 50):
        values, places = (torch.tensor(found) for found in largest(rows, min(count, size)))
        assert torch.equal(values, rows.topk(min(count, size)).values)
        assert torch.equal(rows.gather(1, places), values)
    rows[0, [size // 2, size - 1]] = rows[1, [1, size // 3]] = 99.0
    rows[2] = 1.0
    assert argmax(rows).tolist() == [argmax_of_row(row) for row in rows] == [size // 2, 1, 0]


@pytest.mark.usefixtures("either")
@pytest.mark.parametrize("settings", SETTINGS, ids=str)
@pytest.mark.parametrize("size", SIZES)
def test_a_draw_is_the_largest_sum_of_noise_and_what_the_processors_leave(size: int, settings: dict[str, Any]) -> None:
    processors = SamplingConfig(**settings, seed=0).processors()
    before, warpers = Warpers.ending(processors)
    assert before == 0
    tokens, unused = torch.arange(size), torch.zeros(1, 1, dtype=torch.long)
    for seed in range(4):
        row = row_of(size, seed)
        scores = processors(unused, row[None].clone())[0].double()  # type: ignore[arg-type]
        for position in (0, 7):
            noisy = scores + gumbel(seed, torch.tensor(position), tokens)
            assert warpers.draw(row, position, seed) == int(noisy.argmax())


@pytest.mark.parametrize("settings", [*SETTINGS, {"top_p": 1e-4}, {"top_k": 300, "top_p": 0.9}], ids=str)
def test_the_kernel_in_c_draws_what_torch_draws(monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any]) -> None:
    """From sharp rows and flat ones, with equals and tokens that cannot be, in both dtypes, for any seed."""
    if native_kernels() is None:
        pytest.skip("no C compiler here")
    _, warpers = Warpers.ending(SamplingConfig(**settings, seed=0).processors())
    rows = list[torch.Tensor]()
    for seed, size in enumerate((1, 5, 127, 129, 4096, 50_257)):
        row = row_of(size, seed)
        for each in (row, row / 100, (2 * row).round(), row.where(row > 0, -torch.inf), row * 10):
            each[0] = 1.0
            rows += [each, each.bfloat16()]
    places = list(zip(rows, (-3, 0, 1 << 70) * len(rows), strict=False))
    by_c = [warpers.draw(row, 5, seed) for row, seed in places]
    monkeypatch.setattr(kernels, "native_kernels", lambda: None)
    assert by_c == [warpers.draw(row, 5, seed) for row, seed in places]


def test_processors_before_the_warpers_are_run_and_others_end_them() -> None:
    processors = SamplingConfig(temperature=0.5, typical_p=0.9, top_k=3, repetition_penalty=1.5, seed=0).processors()
    assert Warpers.ending(processors) == (len(processors), Warpers())
    processors = SamplingConfig(temperature=0.5, top_p=0.9, suppress_tokens=[3], seed=0).processors()
    assert Warpers.ending(processors) == (1, Warpers(0.5, top_p=0.9))
    row = torch.full((300,), -9.0)
    row[[3, 5]] = torch.tensor([20.0, 9.0])
    assert ProcessorSampler(processors, 1).sample(row, [1]) == 5


@pytest.mark.usefixtures("either")
def test_equal_scores_are_all_left_by_top_k_and_taken_in_order_by_top_p() -> None:
    row = torch.zeros(2000)
    row[[1500, 20]] = 1.0
    row[[100, 900, 1999]] = 0.5
    drawn = {Warpers(temperature=0.1, top_k=3).draw(row, position, 0) for position in range(1000)}
    assert drawn == {20, 100, 900, 1500, 1999}
    assert {Warpers(temperature=0.01, top_p=0.4).draw(row, position, 0) for position in range(20)} == {20}
