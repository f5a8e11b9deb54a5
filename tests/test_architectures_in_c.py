"""Model types with steps in C: transformers' logits, past windows too, and the text of plain steps."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import transformers as hf

from decoding import AutoregressiveDecoder, Session, quantize
from decoding.model.step_inputs import StepInputs
from decoding.native_forward.native_prefix import NativePrefix
from decoding.runner import runner_of
from tests.costs import NEARLY_FREE, budgeted
from tests.models import tokens_of
from tests.native_models import in_c, native_model
from tests.pairs import pairs
from tests.small_configs import small_config

pytestmark = in_c

WINDOW = 40
SIZES: dict[str, Any] = {
    "vocab_size": 97,
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 32,
    "max_position_embeddings": 1024,
    "initializer_range": 0.1,
    "bos_token_id": 1,
    "eos_token_id": None,
    "pad_token_id": None,
}
BOTH = ["sliding_attention", "full_attention"]
ROPES = {kind: {"rope_type": "default", "rope_theta": theta} for kind, theta in zip(BOTH, (1e2, 1e5), strict=True)}
LONG = {
    "rope_type": "yarn",
    "rope_theta": 1e4,
    "factor": 8.0,
    "original_max_position_embeddings": 64,
    "llama_4_scaling_beta": 0.3,
}
EXPERTS: dict[str, Any] = {"num_experts": 8, "num_experts_per_tok": 3, "moe_intermediate_size": 48}
GEMMA_4: dict[str, Any] = {
    "sliding_window": WINDOW,
    "layer_types": 2 * BOTH,
    "global_head_dim": 512,
    "vocab_size_per_layer_input": 97,
}
TYPES: dict[str, Callable[[], hf.PretrainedConfig]] = {
    "mistral": lambda: hf.MistralConfig(**SIZES, sliding_window=WINDOW),
    "qwen2": lambda: hf.Qwen2Config(**SIZES, use_sliding_window=True, sliding_window=WINDOW, max_window_layers=1),
    "phi3": lambda: hf.Phi3Config(
        **SIZES,
        sliding_window=WINDOW,
        rope_parameters={"rope_type": "default", "rope_theta": 1e4, "partial_rotary_factor": 0.75},
    ),
    "smollm3": lambda: hf.SmolLM3Config(**SIZES, no_rope_layers=[0, 1]),
    "granite": lambda: hf.GraniteConfig(
        **SIZES, embedding_multiplier=12.0, residual_multiplier=0.22, attention_multiplier=0.1, logits_scaling=2.0
    ),
    "olmo2": lambda: hf.Olmo2Config(**SIZES),
    "olmo3": lambda: hf.Olmo3Config(**SIZES, sliding_window=WINDOW, layer_types=BOTH, rope_parameters=ROPES),
    "gemma": lambda: hf.GemmaConfig(**SIZES),
    "gemma2": lambda: hf.Gemma2Config(
        **SIZES, sliding_window=WINDOW, attn_logit_softcapping=2.0, final_logit_softcapping=3.0, query_pre_attn_scalar=8
    ),
    "gemma3_text": lambda: hf.Gemma3TextConfig(
        **SIZES, sliding_window=WINDOW, layer_types=BOTH, rope_parameters=ROPES, query_pre_attn_scalar=8
    ),
    "gemma4_text": lambda: hf.Gemma4TextConfig(
        **{**SIZES, "num_hidden_layers": 4},
        **GEMMA_4,
        hidden_size_per_layer_input=16,
        num_kv_shared_layers=2,
        use_double_wide_mlp=True,
    ),
    "gemma4_text, keys as values": lambda: hf.Gemma4TextConfig(
        **{**SIZES, "num_hidden_layers": 4},
        **GEMMA_4,
        hidden_size_per_layer_input=0,
        attention_k_eq_v=True,
        num_global_key_value_heads=1,
        final_logit_softcapping=3.0,
    ),
    "starcoder2": lambda: hf.Starcoder2Config(**SIZES, sliding_window=WINDOW),
    "cohere": lambda: hf.CohereConfig(**SIZES),
    "cohere2": lambda: hf.Cohere2Config(**SIZES, sliding_window=WINDOW, layer_types=BOTH),
    "exaone4": lambda: hf.Exaone4Config(**SIZES, sliding_window=WINDOW, layer_types=BOTH),
    "ministral3": lambda: hf.Ministral3Config(**SIZES, rope_parameters=LONG),
    "glm": lambda: hf.GlmConfig(**SIZES),
    "glm4": lambda: hf.Glm4Config(**SIZES),
    "hunyuan_v1_dense": lambda: hf.HunYuanDenseV1Config(**SIZES),
}
MIXTURES: dict[str, Callable[[], hf.PretrainedConfig]] = {
    "gemma4_text, experts": lambda: hf.Gemma4TextConfig(
        **{**SIZES, "num_hidden_layers": 4},
        **GEMMA_4,
        hidden_size_per_layer_input=0,
        enable_moe_block=True,
        num_experts=8,
        top_k_experts=3,
        moe_intermediate_size=48,
    ),
    "mixtral": lambda: hf.MixtralConfig(**SIZES, num_local_experts=4, sliding_window=WINDOW),
    "olmoe": lambda: hf.OlmoeConfig(**{**SIZES, "head_dim": 16}, num_experts=8, num_experts_per_tok=3),
    "qwen2_moe": lambda: hf.Qwen2MoeConfig(**SIZES, **EXPERTS, shared_expert_intermediate_size=128),
    "qwen3_moe": lambda: hf.Qwen3MoeConfig(**SIZES, **EXPERTS, norm_topk_prob=True, mlp_only_layers=[0]),
}
TEXT = [3 + 7 * index % 89 for index in range(300)]
TREE = np.array([[1, 0, 0, 0], [1, 1, 0, 0], [1, 0, 1, 0], [1, 0, 1, 1]], dtype=np.bool_)
DEPTHS = [0, 1, 1, 2]


def model_of(model_type: str, precision: str = "float32") -> Any:
    model = native_model({**TYPES, **MIXTURES}[model_type](), precision)
    if model_type.startswith("gemma4"):
        for name, tensor in model.state_dict().items():
            if "q_norm" in name:
                tensor.mul_(0.1)  # its scores are not scaled: so large ones would tell every rounding
            elif "layer_scalar" in name:
                tensor.fill_(0.75)
    return model


@pytest.mark.parametrize(
    ("model_type", "precision"),
    # In bfloat16 a router's scores may tie, and transformers chooses another expert.
    [*pairs(TYPES, ("float32", "bfloat16")), *((mixture, "float32") for mixture in MIXTURES)],
)
@torch.inference_mode()
def test_steps_over_branches_have_the_logits_that_transformers_gives_each(model_type: str, precision: str) -> None:
    model = model_of(model_type, precision)
    runner = runner_of(model)
    assert runner.check_native().supported, runner.check_native().reason
    prefix = runner.new_prefix()
    assert isinstance(prefix, NativePrefix)
    for first in range(0, 260, 130):
        prefix.next_logits(TEXT[first : first + 130])
    branches = prefix.branch_logits(StepInputs(TEXT[260:264], DEPTHS, TREE.tobytes(), [0, 1, 2, 3])).double()
    for row, found in zip(TREE, branches, strict=True):
        text = TEXT[:260] + [token for token, seen in zip(TEXT[260:264], row, strict=True) if seen]
        expected = model(torch.tensor([text])).logits[0, -1].double()
        assert (found - expected).norm() / expected.norm() < (1e-5 if precision == "float32" else 0.05)


@pytest.mark.parametrize("model_type", [*TYPES, *MIXTURES])
def test_on_and_off_are_the_same_bit_for_bit_past_the_window(model_type: str) -> None:
    model, prompt = model_of(model_type, "bfloat16"), TEXT[:150]
    sessions = Session(model), Session(model)
    plain = AutoregressiveDecoder(model).generate(prompt, max_new_tokens=40, session=sessions[0])
    steps = [*budgeted(model, NEARLY_FREE).generate(prompt, max_new_tokens=40, session=sessions[1])]
    assert tokens_of(plain) == tokens_of(steps)
    assert len(steps) < 40, "no candidate was accepted"
    plain_logits, logits = (session.prefix.next_logits([5]) for session in sessions)
    assert torch.equal(plain_logits, logits)


@pytest.mark.parametrize("model_type", ["phi3", "starcoder2", "gemma2", "glm4"])
@torch.inference_mode()
def test_quantised_layers_serve_in_parts_without_a_gate_and_with_scaled_embeddings(model_type: str) -> None:
    model = model_of(model_type)
    quantize(model)
    prefix = runner_of(model).new_prefix()
    assert isinstance(prefix, NativePrefix), runner_of(model).check_native().reason
    found, expected = prefix.next_logits(TEXT).double(), model(torch.tensor([TEXT])).logits[0, -1].double()
    assert (found - expected).norm() / expected.norm() < 0.1


def pruned(model: Any, name: str, shape: tuple[int, int]) -> Any:
    """Return a model with another layer in the place of the one of this name."""
    parent, _, last = name.rpartition(".")
    setattr(model.get_submodule(parent), last, torch.nn.Linear(*reversed(shape), bias=False))
    return model


def with_a_wider_mlp(model: Any) -> Any:
    for name, shape in (("gate_proj", (4096, 64)), ("up_proj", (4096, 64)), ("down_proj", (64, 4096))):
        pruned(model, f"model.layers.1.mlp.{name}", shape)
    return model


def with_fewer_heads(model: Any) -> Any:
    attention = model.model.layers[1].self_attn
    attention.num_key_value_groups = 1
    pruned(model, "model.layers.1.self_attn.q_proj", (64, 64))
    return pruned(model, "model.layers.1.self_attn.o_proj", (64, 64))


def with_a_narrower_fused_mlp(model: Any) -> Any:
    pruned(model, "model.layers.1.mlp.gate_up_proj", (96, 64))
    return pruned(model, "model.layers.1.mlp.down_proj", (64, 48))


@pytest.mark.parametrize(("model_type", "prune"), [("qwen2", with_a_wider_mlp), ("phi3", with_a_narrower_fused_mlp)])
@torch.inference_mode()
def test_layers_may_differ_in_the_width_of_their_mlp(model_type: str, prune: Callable[[Any], Any]) -> None:
    model = prune(model_of(model_type))
    prefix = runner_of(model).new_prefix()
    assert isinstance(prefix, NativePrefix), runner_of(model).check_native().reason
    torch.testing.assert_close(
        prefix.next_logits(TEXT), model(torch.tensor([TEXT])).logits[0, -1], rtol=1e-4, atol=1e-4
    )


def test_layers_of_another_shape_are_left_to_transformers() -> None:
    model = with_fewer_heads(model_of("mistral"))
    assert "layers.1." in str(runner_of(model).check_native().reason)
    expected = model.generate(torch.tensor([TEXT[:20]]), max_new_tokens=8, do_sample=False)[0, 20:].tolist()
    assert tokens_of(AutoregressiveDecoder(model).generate(TEXT[:20], max_new_tokens=8)) == expected


@pytest.mark.parametrize("model_type", ["gemma3", "gemma4", "gemma4_unified"])
@torch.inference_mode()
def test_a_model_that_also_reads_pictures_takes_its_steps_over_text_in_c(model_type: str) -> None:
    config = small_config(model_type)
    own = config.text_config.model_type.replace("_unified", "")
    text = TYPES[own]().to_dict() | {"vocab_size": config.text_config.vocab_size, "pad_token_id": 0}
    config.text_config = type(config.text_config)(**{key: value for key, value in text.items() if key != "model_type"})
    model = native_model(config)
    for name, tensor in model.state_dict().items():
        if "q_norm" in name and own == "gemma4_text":
            tensor.mul_(0.1)
    prefix = runner_of(model).new_prefix()
    assert isinstance(prefix, NativePrefix), runner_of(model).check_native().reason
    expected = model(torch.tensor([TEXT[:60]])).logits[0, -1]
    torch.testing.assert_close(prefix.next_logits(TEXT[:60]), expected, rtol=1e-3, atol=1e-3)
    with model.get_decoder().layers[1].register_forward_hook(lambda *_: None):
        assert not runner_of(copy.deepcopy(model)).check_native().supported


def test_a_router_of_more_experts_than_there_are_is_left_to_transformers() -> None:
    model = model_of("qwen3_moe")
    experts = model.model.layers[1].mlp.experts
    for name in ("gate_up_proj", "down_proj"):
        setattr(experts, name, torch.nn.Parameter(getattr(experts, name)[:7].clone()))
    assert "layers.1.mlp.experts" in str(runner_of(model).check_native().reason)
