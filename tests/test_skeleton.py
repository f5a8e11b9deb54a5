"""A skeleton is the model that transformers makes of the same configuration, and becomes it where that is asked for."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers as hf

from decoding import AutoregressiveDecoder, Session, native_support
from decoding.model.capabilities import capabilities_of
from decoding.native.kernels import native_kernels
from decoding.native.skeleton import PlainConfig, Skeleton
from lade_chat.loading import findings_cache
from lade_chat.loading.model_loader import load
from lade_chat.loading.plain_llama import open_plain_llama
from lade_chat.paths import bundled_model_path
from lade_chat.protocol.values import ModelOptions
from tests.models import tokens_of

in_c = pytest.mark.skipif(native_kernels() is None, reason="no C compiler here")
SIZES: dict[str, Any] = {
    "vocab_size": 97,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 32,
    "hidden_act": "silu",
    "max_position_embeddings": 256,
    "rms_norm_eps": 1e-5,
    "rope_parameters": {"rope_type": "default", "rope_theta": 10_000.0},
    "tie_word_embeddings": False,
    "attention_bias": False,
    "mlp_bias": False,
    "eos_token_id": None,
}
BY_LAYER = {"layer_types": ["full_attention"] * 2}
CONFIGS: dict[str, dict[str, Any]] = {
    "llama": {"model_type": "llama"},
    "llama tied": {"model_type": "llama", "tie_word_embeddings": True},
    "llama with biases": {"model_type": "llama", "attention_bias": True, "mlp_bias": True},
    "mistral": {"model_type": "mistral", "sliding_window": None},
    "qwen2": {"model_type": "qwen2", **BY_LAYER},
    "qwen3": {"model_type": "qwen3", **BY_LAYER},
}
PROMPT = [5, 17, 80, 3, 41, 41, 7]


def pair(name: str) -> tuple[Skeleton, Any]:
    """A skeleton with random weights, and transformers' model with the same ones."""
    settings = {**SIZES, **CONFIGS[name]}
    torch.manual_seed(0)
    theirs = hf.AutoModelForCausalLM.from_config(hf.AutoConfig.for_model(**settings)).eval()
    ours = Skeleton(PlainConfig(**settings))
    ours.load_state_dict(theirs.state_dict())
    ours.generation_config = theirs.generation_config
    return ours, theirs


@pytest.mark.parametrize("name", CONFIGS)
def test_a_skeleton_has_the_weights_capabilities_and_rotations_of_transformers_model(name: str) -> None:
    ours, theirs = pair(name)
    assert [(each, weight.shape) for each, weight in ours.named_parameters()] == [
        (each, weight.shape) for each, weight in theirs.named_parameters()
    ]
    assert capabilities_of(ours) == capabilities_of(theirs)  # type: ignore[arg-type]
    like, places = torch.empty(1), torch.arange(200)[None]
    for found, wanted in zip(ours.model.rotary_emb(like, places), theirs.model.rotary_emb(like, places), strict=True):
        assert torch.equal(found, wanted)


@pytest.mark.parametrize("name", CONFIGS)
def test_a_forward_pass_makes_it_transformers_model_with_the_very_same_weights(name: str) -> None:
    ours, theirs = pair(name)
    weights = dict(ours.named_parameters())
    text, seen = torch.tensor([PROMPT]), []
    ours.register_forward_pre_hook(lambda *_: seen.append(type(ours)))
    assert torch.equal(ours(input_ids=text).logits, theirs(input_ids=text).logits)
    ours(input_ids=text)
    assert seen == [Skeleton, type(theirs)]
    assert all(weights[each] is weight for each, weight in ours.named_parameters())
    assert ours.generate(text, max_new_tokens=4).tolist() == theirs.generate(text, max_new_tokens=4).tolist()


@in_c
def test_a_skeleton_decodes_in_c_before_and_after_it_became_transformers_model() -> None:
    ours, theirs = pair("qwen3")
    assert native_support(theirs).supported
    wanted = tokens_of(AutoregressiveDecoder(theirs).generate(PROMPT, max_new_tokens=12))
    assert native_support(ours, checked=True).supported  # type: ignore[arg-type]
    session = Session(ours)  # type: ignore[arg-type]
    for _ in range(2):
        steps = AutoregressiveDecoder(ours).generate(PROMPT, max_new_tokens=12, session=session)  # type: ignore[arg-type]
        assert tokens_of(steps) == wanted
        ours.generate(torch.tensor([PROMPT]), max_new_tokens=1)


@in_c
def test_steps_that_were_compared_once_still_have_to_yield_numbers() -> None:
    ours, _ = pair("llama")
    ours.model.norm.weight.data.fill_(float("nan"))
    assert not native_support(ours, checked=True).supported  # type: ignore[arg-type]


@in_c
def test_steps_are_compared_with_transformers_once_for_the_same_weights(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(findings_cache, "cache_file", lambda name: tmp_path / f"{name}.json")
    first, again, others = (pair("llama")[0] for _ in range(3))
    assert findings_cache.native_support(first, "weights")
    assert type(first) is hf.LlamaForCausalLM
    assert findings_cache.native_support(again, "weights")
    assert type(again) is Skeleton
    assert findings_cache.native_support(others, "other weights")
    assert type(others) is hf.LlamaForCausalLM


def changed(folder: Path, **entries: Any) -> Path:
    """A copy of the bundled model with other entries in its configuration."""
    shutil.copytree(bundled_model_path(), folder)
    config = folder / "config.json"
    config.write_text(json.dumps({**json.loads(config.read_text()), **entries}))
    return folder


@pytest.mark.parametrize(
    "entries",
    [
        {"rope_parameters": {"rope_theta": 10000.0, "rope_type": "linear", "factor": 2.0}},
        {"rope_parameters": None},
        {"hidden_act": "gelu"},
        {"num_hidden_layers": 9},
        {"num_hidden_layers": "many"},
        {"num_key_value_heads": 0},
        {"pad_token_id": 4096},
        {"quantization_config": {}},
    ],
    ids=str,
)
def test_an_unusual_configuration_is_left_to_transformers(entries: dict[str, Any], tmp_path: Path) -> None:
    assert open_plain_llama(ModelOptions(lookahead_workers=2), bundled_model_path()) is not None
    assert open_plain_llama(ModelOptions(), changed(tmp_path / "model", **entries)) is None


def test_the_same_model_is_loaded_with_and_without_transformers_classes(tmp_path: Path) -> None:
    path = str(changed(tmp_path / "model", use_cache=False))  # an entry of no effect, which is left to transformers
    plain, other = (load(ModelOptions(path=each), lambda *_: None) for each in (None, path))
    weights = dict(other.model.named_parameters())
    assert all(torch.equal(weight, weights[name]) for name, weight in plain.model.named_parameters())
    assert plain.eos_token_ids == other.eos_token_ids
    assert plain.thinking == other.thinking
    assert plain.tokenizer("Hi  there, <|end|>")["input_ids"] == other.tokenizer("Hi  there, <|end|>")["input_ids"]
    assert (plain.info.dtype, plain.info.notices) == (other.info.dtype, other.info.notices)


ALONE = """
import sys
import decoding
from lade_chat.engine.chat_engine import ChatEngine
from lade_chat.engine.job import Job
from lade_chat.loading import findings_cache
from lade_chat.protocol.commands import Load, Reply
from lade_chat.protocol.events import Tokens
from lade_chat.protocol.values import DecodingOptions, Message, ModelOptions

compare = decoding.native_support
decoding.native_support = lambda model, **_: compare(model, checked=True)
findings_cache.write = lambda *_: None
engine = ChatEngine()
list(engine.handle(Job(Load(ModelOptions()))))
events = list(engine.handle(Job(Reply((Message("user", "Hi"),), DecodingOptions(max_new_tokens=8)))))
assert any(isinstance(event, Tokens) for event in events), events
rare = ("transformers.modeling_utils", "transformers.models.auto", "torch._dynamo", "torch.distributed.tensor", "sympy")
print([name for name in rare if name in sys.modules])
"""


@in_c
def test_a_reply_of_the_bundled_model_imports_no_model_classes() -> None:
    done = subprocess.run([sys.executable, "-c", ALONE], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]", done.stdout
