"""Steps that cannot be compiled, or not rightly: refused with the reason, or decoded without the compiler."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
import torch

from decoding import (
    AutoregressiveDecoder,
    DraftTables,
    LookaheadConfig,
    LookaheadDecoder,
    Session,
    compile_support,
    measure_step_cost,
)
from decoding.model.prefix import KVPrefix
from decoding.runner import runner_of
from tests.compiled_models import EAGER, small_model, static_prefix_of
from tests.models import assert_cache_is_the_prefix, hf_greedy, random_model, random_prompt, tokens_of

LENGTH = 20


def test_a_backend_that_torch_does_not_know_is_refused_with_those_it_knows():
    model, tables = random_model("llama"), DraftTables()
    for use in (
        lambda: Session(model, tables=tables, compiled="nope"),
        lambda: compile_support(model, "nope"),
        lambda: measure_step_cost(model, compiled="nope"),
    ):
        with pytest.raises(ValueError, match=r"a backend of torch \(.*\beager\b.*, not 'nope'$"):
            use()
    assert tables.vocabulary is None


@torch._dynamo.register_backend(name="breaking")
def breaking(graph: torch.fx.GraphModule, _inputs: list[torch.Tensor]) -> Any:
    """Each graph serves as it should twice, then raises."""
    left = iter(range(2))

    def run(*inputs: Any) -> Any:
        if next(left, None) is None:
            raise RuntimeError("broken")
        return graph(*inputs)

    return run


@torch._dynamo.register_backend(name="wrong")
def wrong(graph: torch.fx.GraphModule, _inputs: list[torch.Tensor]) -> Any:
    """Each graph gives the right logits twice, then some that are off by a little."""
    left = iter(range(2))

    def run(*inputs: Any) -> Any:
        off = 1e-2 if next(left, None) is None else 0.0
        return [each + off * torch.arange(each.shape[-1]) for each in graph(*inputs)]

    return run


@pytest.mark.parametrize(("backend", "reason"), [("breaking", "cannot be compiled"), ("wrong", "other logits")])
def test_what_fails_under_the_compiler_is_decoded_without_it(backend: str, reason: str) -> None:
    model, prompt = small_model("llama"), random_prompt(23)
    # As on CUDA, where the first run of a graph is not like those after it.
    runner_of(model).compiled_forward(backend).runs_to_know = 3
    session = Session(model, compiled=backend)
    decoder = LookaheadDecoder(model, LookaheadConfig(5, 4, 5))
    with pytest.warns(UserWarning, match=f"runs uncompiled: .*{reason}"):
        said = tokens_of(decoder.generate(prompt, max_new_tokens=LENGTH, session=session))
    assert said == hf_greedy(model, prompt, LENGTH)
    assert not static_prefix_of(session).compiled
    assert_cache_is_the_prefix(session)
    assert type(Session(model, compiled=backend).prefix) is KVPrefix
    assert not compile_support(model, backend).supported


def test_a_model_that_raises_is_not_the_compilers_fault() -> None:
    class BrokenError(RuntimeError):
        pass

    def raise_broken(*_: object) -> None:
        raise BrokenError

    # A compiled forward pass heeds no hook that was not there when it was compiled; this model has none yet.
    model = small_model("llama")
    session = Session(model, compiled=EAGER)
    steps = AutoregressiveDecoder(model).generate(random_prompt(9), max_new_tokens=9, session=session)
    next(steps)
    prefix, cached = static_prefix_of(session), session.cached
    hook = model.model.layers[0].self_attn.register_forward_hook(raise_broken)
    with pytest.raises(BrokenError):
        next(steps)
    hook.remove()
    assert session.cached == cached
    assert prefix.compiled
    assert_cache_is_the_prefix(session)


@pytest.mark.parametrize("family", ["mixtral", "gpt_neo", "bloom", "mamba"])
def test_models_that_cannot_be_compiled_say_why(family: str) -> None:
    model, prompt = random_model(family), random_prompt(12)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        support = compile_support(model, EAGER)
        assert not support.supported
        assert support.reason
        session = Session(model, compiled=EAGER)
        steps = LookaheadDecoder(model).generate(prompt, max_new_tokens=8, session=session)
        assert tokens_of(steps) == hf_greedy(model, prompt, 8)
