"""Models wrapped by PEFT or `torch.compile` are decoded as the model within, adapters in force."""

from __future__ import annotations

from collections.abc import Callable
from itertools import cycle
from typing import Any, ClassVar

import pytest
import torch
from torch import nn

from decoding import (
    AutoregressiveDecoder,
    Decoder,
    LookaheadConfig,
    LookaheadDecoder,
    Session,
    generate,
    lookahead_support,
)
from tests.grid import METHODS, said
from tests.models import hf_greedy, random_model, random_prompt
from tests.pairs import pairs


class Wrapper(nn.Module):
    """Wraps a model as PEFT does, which need not be installed."""

    def __init__(self, model: Any, **config: Any) -> None:
        super().__init__()
        self.base_model, self.peft_config = model, {"default": config}
        self.active_peft_config = type("Config", (), config)

    def get_base_model(self) -> Any:
        return self.base_model

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.base_model(*args, **kwargs)


WRAPPERS: dict[str, Callable[[Any], Any]] = {
    "peft": Wrapper,
    "torch.compile": lambda model: torch.compile(model, backend="eager"),
    "both": lambda model: torch.compile(Wrapper(model), backend="eager"),
}


@pytest.mark.parametrize(("method", "wrapper"), pairs(METHODS, WRAPPERS))
def test_a_wrapped_model_is_decoded_as_the_one_within(method: str, wrapper: str) -> None:
    make, wrap = METHODS[method], WRAPPERS[wrapper]
    model, ids = random_model("llama", layers=1), random_prompt(12)
    wrapped = wrap(model)
    assert lookahead_support(wrapped).supported
    decoder, session = make(wrapped), Session(wrapped)
    assert decoder.model is session.model is model
    assert said(decoder, ids, session) == hf_greedy(model, ids, 12)
    if not isinstance(decoder, AutoregressiveDecoder):
        assert any(step.candidates for step in decoder.generate(ids, max_new_tokens=12))


def test_generate_takes_a_session_of_the_wrapped_model() -> None:
    model, ids = random_model("llama", layers=1), torch.tensor([random_prompt(12)])
    wrapped = torch.compile(model, backend="eager")
    arguments: dict[str, Any] = {"max_new_tokens": 12, "do_sample": False, "attention_mask": torch.ones_like(ids)}
    expected = model.generate(ids, **arguments)
    session = Session(wrapped)
    assert torch.equal(wrapped.generate(ids, custom_generate=generate, session=session, **arguments), expected)
    assert session.ids == expected[0].tolist()


@pytest.mark.parametrize("config", [{"is_prompt_learning": True, "peft_type": "PREFIX_TUNING"}])
def test_a_wrapper_that_adds_to_the_prompt_is_refused_by_name(config: dict[str, Any]) -> None:
    wrapped = Wrapper(random_model("llama", layers=1), **config)
    for make in (*METHODS.values(), Session, lookahead_support):
        with pytest.raises(NotImplementedError, match="Wrapper with PREFIX_TUNING"):
            make(wrapped)


class TestPeft:
    """With adapters of PEFT's own."""

    @pytest.fixture
    def adapted(self) -> Any:
        peft = pytest.importorskip("peft")
        config = peft.LoraConfig(r=4, target_modules=["q_proj", "v_proj", "up_proj"], init_lora_weights=False)
        model = random_model("llama", layers=1)
        adapted = peft.get_peft_model(model, config)
        adapted.add_adapter("other", config)
        for name, parameter in adapted.named_parameters():
            if "lora_B" in name:
                nn.init.normal_(parameter, std=0.7)
        return adapted.double().eval()

    CHANGES: ClassVar[dict[str, Callable[[Any], object]]] = {
        "another adapter": lambda adapted: adapted.set_adapter("other"),
        "layers disabled": lambda adapted: adapted.base_model.disable_adapter_layers(),
        "merged": lambda adapted: adapted.merge_adapter(),
        "scaled": lambda adapted: adapted.base_model.model.model.layers[0].self_attn.v_proj.set_scale("default", 9.0),
        "unloaded": lambda adapted: adapted.base_model.unload(),
    }

    @pytest.mark.parametrize(
        ("change", "make"), zip(CHANGES.values(), cycle(METHODS.values()), strict=False), ids=CHANGES.keys()
    )
    def test_a_session_follows_its_adapters(
        self, adapted: Any, change: Callable[[Any], object], make: Callable[[Any], Decoder]
    ) -> None:
        prompt = random_prompt(14)
        decoder, session = make(adapted), Session(adapted)
        before = said(decoder, prompt, session)
        assert before == hf_greedy(adapted, prompt, 12)
        change(adapted)
        expected = hf_greedy(decoder.model, prompt, 12)
        assert said(decoder, prompt, session) == expected
        assert (expected == before) == (change is self.CHANGES["merged"])

    def test_disabled_for_one_text(self, adapted: Any) -> None:
        prompt = random_prompt(14)
        decoder, session = LookaheadDecoder(adapted, LookaheadConfig(3, 3, 3)), Session(adapted)
        before = said(decoder, prompt, session)
        with adapted.disable_adapter():
            expected = hf_greedy(adapted, prompt, 12)
            assert said(decoder, prompt, session) == expected != before
        assert said(decoder, prompt, session) == before

    def test_prompt_tuning_is_refused(self) -> None:
        peft = pytest.importorskip("peft")
        config = peft.PromptTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=3)
        with pytest.raises(NotImplementedError, match="PROMPT_TUNING"):
            LookaheadDecoder(peft.get_peft_model(random_model("llama", layers=1), config))
