"""`decoding.generate` with the arguments of `generate` itself: from a `custom_generate` folder, and called directly."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers as hf
from transformers import dynamic_module_utils

import decoding
import decoding.integrations.custom_generate
from decoding import LookaheadConfig, Session
from decoding.integrations import custom_generate as module
from tests.models import random_model, random_prompt

ROOT = Path(__file__).parents[1]
FOLDER = str(ROOT / "assets" / "examples" / "custom_generate_folder")
PROMPT = torch.tensor([random_prompt(17)])
SIZES = LookaheadConfig(4, 4, 4)


@pytest.fixture(scope="module")
def llama() -> Any:
    return random_model("llama", layers=1)


@pytest.fixture(params=["folder", "direct"])
def generate(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Generate by `decoding.generate`, which is given all that `generate` was."""
    monkeypatch.setattr(dynamic_module_utils, "HF_MODULES_CACHE", str(tmp_path))
    if request.param == "direct":
        return decoding.generate
    # Nothing is to be read from a caller's frame here.
    monkeypatch.setattr(module, "arguments_of_caller", None)

    def by_folder(model: Any, *args: Any, **kwargs: Any) -> Any:
        return model.generate(*args, **kwargs, custom_generate=FOLDER, trust_remote_code=True)

    return by_folder


ARGUMENTS: dict[str, dict[str, Any]] = {
    "greedy": {},
    "penalty": {"repetition_penalty": 1.3, "no_repeat_ngram_size": 3},
    "processors": {"logits_processor": hf.LogitsProcessorList([hf.TopKLogitsWarper(4)]), "eos_token_id": [23, 14]},
    "constrained": {"prefix_allowed_tokens_fn": lambda _, ids: [5, 6, int(ids[-1] + 1) % 90]},
    "by a generation config": {"generation_config": hf.GenerationConfig(repetition_penalty=1.3, max_new_tokens=9)},
    "everything given": {
        "generation_config": hf.GenerationConfig(repetition_penalty=1.3, max_new_tokens=9),
        "logits_processor": hf.LogitsProcessorList(),
        "stopping_criteria": hf.StoppingCriteriaList([hf.MaxLengthCriteria(21)]),
    },
    "padded": {"input_ids": torch.tensor([[0, 0, 5, 6]]), "attention_mask": torch.tensor([[0, 0, 1, 1]])},
}


@pytest.mark.parametrize("arguments", ARGUMENTS.values(), ids=ARGUMENTS)
def test_it_says_what_generate_says(llama: Any, generate: Any, arguments: dict[str, Any]) -> None:
    arguments = {"pad_token_id": 0, "do_sample": False, **arguments}
    arguments.setdefault("input_ids", PROMPT)
    if "generation_config" not in arguments:
        arguments["max_new_tokens"] = 20
    expected = llama.generate(**arguments)
    assert torch.equal(generate(llama, **arguments, lookahead_config=SIZES), expected)
    if "attention_mask" not in arguments:
        text = arguments.pop("input_ids")
        assert torch.equal(generate(llama, text, **arguments), expected)
        assert torch.equal(generate(llama, inputs=text, **arguments), expected)


def test_its_own_arguments_hold(llama: Any, generate: Any) -> None:
    session = Session(llama)
    drawn = {"max_new_tokens": 20, "do_sample": True, "top_k": 0, "pad_token_id": 0}
    first = generate(llama, PROMPT, **drawn, seed=3, session=session)
    assert session.ids == first[0].tolist()
    assert torch.equal(generate(llama, PROMPT, **drawn, seed=3), first)
    assert not torch.equal(generate(llama, PROMPT, **drawn, seed=4), first)
    assert "past_key_values" in generate(llama, PROMPT, max_new_tokens=3, return_dict_in_generate=True)


def test_a_streamer_gets_the_prompt_and_then_every_token_once(llama: Any, generate: Any) -> None:
    given: list[Any] = []

    class Recorder(hf.generation.streamers.BaseStreamer):
        def put(self, value: torch.Tensor) -> None:
            given.append(value.tolist())

        def end(self) -> None:
            given.append("end")

    said = generate(llama, PROMPT, max_new_tokens=9, streamer=Recorder())[0].tolist()
    assert given == [[said[:17]], *([token] for token in said[17:]), "end"]


@pytest.mark.parametrize(("generate", "by"), [("folder", "argument"), ("direct", "config")], indirect=["generate"])
def test_stop_strings_end_the_text(generate: Any, by: str) -> None:
    path = ROOT / "assets" / "model"
    model, tokenizer = (kind.from_pretrained(path) for kind in (hf.AutoModelForCausalLM, hf.AutoTokenizer))
    question = [{"role": "user", "content": "Write a Python function that adds two numbers."}]
    inputs = tokenizer.apply_chat_template(question, add_generation_prompt=True, return_tensors="pt", return_dict=True)
    arguments = {**inputs, "tokenizer": tokenizer, "do_sample": False}
    if by == "config":
        arguments["generation_config"] = hf.GenerationConfig(stop_strings=["\n    re"], max_new_tokens=40)
    else:
        arguments |= {"stop_strings": ["\n    re"], "max_new_tokens": 40}
    expected = model.generate(**arguments)
    assert expected.shape[1] < inputs["input_ids"].shape[1] + 40
    assert torch.equal(generate(model, **arguments), expected)


def test_a_generation_config_alone_is_passed_on_alone(
    llama: Any, generate: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`generate` warns of settings beside it, and is going to refuse them."""
    told: list[str] = []
    monkeypatch.setattr(hf.generation.utils.logger, "warning_once", told.append)
    config = hf.GenerationConfig(max_new_tokens=5, do_sample=False, pad_token_id=0)
    expected = llama.generate(PROMPT, attention_mask=torch.ones_like(PROMPT), generation_config=config)
    found = generate(llama, PROMPT, attention_mask=torch.ones_like(PROMPT), generation_config=config)
    assert torch.equal(found, expected)
    assert told == []


def test_what_is_not_served_is_named(llama: Any, generate: Any) -> None:
    healing = hf.GenerationConfig(token_healing=True, max_new_tokens=3)
    refused: dict[str, dict[str, Any]] = {
        "num_beams=3": {"num_beams": 3},
        "token_healing": {"token_healing": True},
        "assistant_model": {"assistant_model": random_model("llama", seed=1, layers=1)},
        "synced_gpus": {"synced_gpus": True},
    }
    for offender, arguments in refused.items():
        with pytest.raises(NotImplementedError, match=offender):
            generate(llama, PROMPT, **{"max_new_tokens": 3, **arguments})
    with pytest.raises(NotImplementedError, match="token_healing"):
        generate(llama, PROMPT, generation_config=healing)
    with pytest.raises(ValueError, match="lookahead_config"):
        generate(llama, PROMPT, max_new_tokens=3, lookahead_config=(7, 5, 7))


def test_without_trust_the_folder_is_not_run(llama: Any) -> None:
    with pytest.raises(ValueError, match="trust_remote_code"):
        llama.generate(PROMPT, max_new_tokens=3, custom_generate=FOLDER, trust_remote_code=False)


def test_a_transformers_that_hides_its_streamer_is_told_of(llama: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Better an error than a reader that waits for a stream which never ends."""
    monkeypatch.setattr(decoding.integrations.custom_generate, "NEEDED", ("streamer", "elsewhere"))
    with pytest.raises(RuntimeError, match=r"decoding\.generate\(model"):
        llama.generate(PROMPT, max_new_tokens=3, custom_generate=functools.partial(decoding.generate))
    assert decoding.generate(llama, PROMPT, max_new_tokens=3).shape == (1, 20)
