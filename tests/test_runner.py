"""One runner for each model, which keeps what was found out about it as long as that holds."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest
import torch

from decoding import LookaheadDecoder, step_cost_of
from decoding.runner import runner_of
from tests.models import random_model, random_prompt


def double_last_row(output: Any) -> None:
    output.logits[:, -1] *= 2


@pytest.fixture
def model() -> Any:
    return random_model("llama")


def test_a_model_and_its_wrapper_have_one_runner(model: Any) -> None:
    assert runner_of(torch.compile(model)) is runner_of(model)
    assert runner_of(random_model("llama")) is not runner_of(model)


def test_step_costs_outlive_other_weights_but_no_other_shapes(model: Any) -> None:
    cost = step_cost_of(model)
    model.lm_head.weight.data.mul_(2)
    runner_of(model).refresh()
    assert step_cost_of(model) is cost
    model.lm_head = torch.nn.Linear(model.lm_head.in_features, 300).double()
    runner_of(model).refresh()
    assert step_cost_of(model) is not cost


def test_support_follows_the_model_as_it_is_now(model: Any) -> None:
    runner = runner_of(model)
    assert runner.support.supported
    model.register_forward_hook(lambda module, args, output: double_last_row(output))
    assert not runner.current_support().supported
    assert runner.support.supported, "as of the last refresh"
    runner.refresh()
    assert not runner.support.supported


def test_a_runner_does_not_keep_its_model_alive() -> None:
    model = random_model("mistral")
    list(LookaheadDecoder(model).generate(random_prompt(9), max_new_tokens=8))
    runner, alive = runner_of(model), weakref.ref(model)
    del model
    gc.collect()
    assert alive() is None
    with pytest.raises(ReferenceError, match="no longer exists"):
        _ = runner.model
