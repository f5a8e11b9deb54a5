"""The mask check: what it must not take for right, and what says nothing about a model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
import transformers as hf

from decoding import lookahead_support
from decoding.runner import MAX_SUPPORTS, runner_of
from tests.models import CONFIGS, random_model


def hooked(model: Any, change: Callable[[Any], None]) -> Any:
    """Return the model with a change to the output of each forward pass."""
    model.register_forward_hook(lambda module, args, output: change(output))
    return model


def test_logits_that_are_no_numbers_are_not_taken_for_equal_ones() -> None:
    def spoil_steps_over_branches(output: Any) -> None:
        # Forward passes with several rows of logits are those over branches.
        if output.logits.shape[1] > 1:
            output.logits[..., 3] = torch.nan

    model = random_model("gpt2")
    assert lookahead_support(model).supported
    support = lookahead_support(hooked(model, spoil_steps_over_branches))
    assert not support.supported
    assert "other logits" in str(support.reason)


def test_a_model_that_rules_tokens_out_is_served() -> None:
    def rule_out(output: Any) -> None:
        output.logits[..., 3] = -torch.inf
        output.logits[..., 5] = torch.finfo(output.logits.dtype).min

    assert lookahead_support(hooked(random_model("gpt2"), rule_out)).supported


def test_tokens_that_are_ruled_out_hide_no_wrong_mask() -> None:
    def rule_out(output: Any) -> None:
        output.logits[..., 5] = torch.finfo(output.logits.dtype).min
        if output.logits.shape[1] > 1:
            output.logits[..., 7] += 1

    assert not lookahead_support(hooked(random_model("gpt2"), rule_out)).supported


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        torch.OutOfMemoryError("CUDA out of memory"),
        RuntimeError("[enforce fail at alloc_cpu.cpp:117] . DefaultCPUAllocator: can't allocate memory"),
    ],
    ids=["python", "device", "cpu"],
)
def test_a_lack_of_memory_is_raised_and_says_nothing_about_the_model(error: Exception) -> None:
    model, full = hf.GPT2LMHeadModel(CONFIGS["gpt2"]()).eval(), True

    def forward(*args: Any, **kwargs: Any) -> Any:
        if full:
            raise error
        return plain(*args, **kwargs)

    plain, model.transformer.h[0].forward = model.transformer.h[0].forward, forward
    with pytest.raises(type(error)):
        lookahead_support(model)
    full = False
    assert lookahead_support(model).supported


def test_a_promise_does_not_overrule_what_was_found_out() -> None:
    model = hooked(random_model("gpt2"), lambda output: output.logits[:, -1].mul_(2))
    assert not lookahead_support(model).supported
    assert not lookahead_support(model, checked=True).supported


def test_promises_are_bounded_too() -> None:
    model = random_model("gpt2")
    runner = runner_of(model)
    for dropout in range(2 * MAX_SUPPORTS):
        model.transformer.drop = torch.nn.Dropout(dropout / 100)
        model.transformer.drop.register_forward_hook(lambda *_: None)
        assert lookahead_support(model.eval(), checked=True).supported
    assert len(runner._supports) <= MAX_SUPPORTS
