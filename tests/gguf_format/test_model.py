"""A loaded file's model says what the transformers model of the same weights says."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from gguf import GGUFReader

from decoding import LookaheadDecoder, load_gguf, native_support
from decoding.gguf.file import GgufFile
from decoding.gguf.metadata import GgufError
from decoding.gguf.unpacked_architectures import unpacked_bytes
from decoding.native.kernels import native_kernels
from decoding.quantization.packed import Packed
from tests.gguf_format.files import write
from tests.gguf_format.models import logits, metadata_of, small_model, tensors_of, vocabulary, write_model
from tests.pairs import pairs

MODELS: dict[str, tuple[str, dict[str, Any]]] = {
    "llama": ("llama", {"tie_word_embeddings": False}),
    "llama tied": ("llama", {"tie_word_embeddings": True}),
    "llama with biases": ("llama", {"attention_bias": True, "mlp_bias": True}),
    "qwen2": ("qwen2", {}),
    "qwen3": ("qwen3", {"tie_word_embeddings": True, "head_dim": 32}),
    "smollm3": ("smollm3", {}),
}


@pytest.mark.parametrize(("name", "kind"), pairs(MODELS, ("F32", "F16", "BF16", "Q8_0", "Q4_1"), 2))
def test_logits_are_those_of_the_same_weights_in_transformers(name: str, kind: str, tmp_path: Path) -> None:
    architecture, settings = MODELS[name]
    model = small_model(architecture, **settings)
    path = write_model(tmp_path / "model.gguf", architecture, model, kind=kind)
    loaded, _ = load_gguf(path)
    found, expected = logits(loaded), logits(model)
    if kind in ("BF16", "Q8_0", "Q4_1"):  # products round activations, to bfloat16 or, where packed, to int8
        assert (found - expected).square().mean().sqrt() < 0.03 * expected.std()
    else:
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)


SLIDES = ["sliding_attention", "full_attention"] * 2
PATTERN = {"attention.sliding_window": 16, "attention.sliding_window_pattern": [True, False, True, False]}
ROPES = {
    "sliding_attention": {"rope_type": "default", "rope_theta": 1e4},
    "full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 1e5},
}
PARTIAL = {"rope_type": "default", "rope_theta": 1e4, "partial_rotary_factor": 0.5}
SCALES = {"embedding_multiplier": 4.0, "residual_multiplier": 0.5, "attention_multiplier": 0.2, "logits_scaling": 3.0}
EXPERTS = {"num_experts": 8, "num_experts_per_tok": 3, "moe_intermediate_size": 64}
EXPERTS_IN_FILE = {"expert_count": 8, "expert_used_count": 3, "expert_feed_forward_length": 64}
OTHERS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "phi3": ({"sliding_window": 16, "rope_parameters": PARTIAL}, {"attention.sliding_window": 16}),
    "granite": (SCALES, {"embedding_scale": 4.0, "residual_scale": 0.5, "attention.scale": 0.2, "logit_scale": 3.0}),
    "olmo2": ({}, {}),
    "olmo2 with windows": (
        {
            "model_type": "olmo3",
            "sliding_window": 16,
            "layer_types": SLIDES,
            "rope_parameters": {kind: {"rope_type": "default", "rope_theta": 1e4} for kind in SLIDES},
        },
        PATTERN,
    ),
    "gemma": ({}, {}),
    "gemma2": (
        {
            "sliding_window": 16,
            "query_pre_attn_scalar": 16,
            "attn_logit_softcapping": 3.0,
            "final_logit_softcapping": 5.0,
        },
        {"attention.sliding_window": 16, "attn_logit_softcapping": 3.0, "final_logit_softcapping": 5.0},
    ),
    "gemma3": (
        {"sliding_window": 16, "query_pre_attn_scalar": 16, "layer_types": SLIDES, "rope_parameters": ROPES},
        {**PATTERN, "rope.scaling.type": "linear", "rope.scaling.factor": 8.0},
    ),
    "starcoder2": ({"sliding_window": None, "norm_epsilon": 1e-5}, {}),
    "cohere2": (
        {"sliding_window": 16, "layer_types": SLIDES, "logit_scale": 0.25, "layer_norm_eps": 1e-5},
        {**PATTERN, "logit_scale": 0.25},
    ),
    "exaone4": ({"sliding_window": 16, "layer_types": SLIDES}, PATTERN),
    "llama with experts": (
        {"model_type": "mixtral", "num_local_experts": 4, "num_experts_per_tok": 2},
        {"expert_count": 4, "expert_used_count": 2},
    ),
    "olmoe": ({"num_experts": 8, "num_experts_per_tok": 3}, EXPERTS_IN_FILE | {"expert_feed_forward_length": None}),
    "qwen2moe": (
        {**EXPERTS, "model_type": "qwen2_moe", "shared_expert_intermediate_size": 32},
        {**EXPERTS_IN_FILE, "expert_shared_feed_forward_length": 32},
    ),
    "qwen3moe": ({**EXPERTS, "model_type": "qwen3_moe", "norm_topk_prob": True}, EXPERTS_IN_FILE),
    "glm4": ({"rope_parameters": PARTIAL, "attention_bias": True}, {}),
    "hunyuan-dense": ({}, {}),
}


@pytest.mark.parametrize(("name", "kind"), pairs(OTHERS, ("F32", "BF16", "Q8_0"), 2))
def test_architectures_with_a_row_in_the_table_stay_packed_and_run_in_c(name: str, kind: str, tmp_path: Path) -> None:
    settings, metadata = OTHERS[name]
    architecture = name.partition(" ")[0]
    model = small_model(architecture, **settings)
    more = {f"{architecture}.{key}": value for key, value in metadata.items()}
    path = write_model(tmp_path / "model.gguf", architecture, model, kind=kind, more=more)
    assert unpacked_bytes(GgufFile.open(path)) == 0
    loaded, _ = load_gguf(path)
    if native_kernels() is not None:
        assert native_support(loaded).supported, native_support(loaded).reason
        assert any(isinstance(module, Packed) for module in loaded.modules()) == (kind == "Q8_0")
    found, expected = logits(loaded), logits(model)
    if kind in ("BF16", "Q8_0"):
        assert (found - expected).square().mean().sqrt() < 0.05 * expected.std()
    else:
        torch.testing.assert_close(found, expected, rtol=1e-3, atol=1e-4)


def test_rotary_factors_are_llama_3s(tmp_path: Path) -> None:
    rope = {"factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 32}
    model = small_model("llama", rope_parameters={"rope_type": "llama3", "rope_theta": 10_000.0, **rope})
    plain = small_model("llama")
    factors = plain.model.rotary_emb.inv_freq / model.model.rotary_emb.inv_freq
    assert factors.max() > factors.min()
    metadata = {**metadata_of("llama", model.config), **vocabulary()}
    tensors = {"rope_freqs.weight": factors.numpy(), **tensors_of("llama", model)}
    loaded, _ = load_gguf(write(tmp_path / "model.gguf", metadata, tensors))
    torch.testing.assert_close(logits(loaded), logits(model), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    "rope",
    [
        {"rope_type": "linear", "factor": 4.0},
        {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32},
    ],
    ids=lambda rope: rope["rope_type"],
)
def test_scaled_positions_are_transformers(rope: dict[str, Any], tmp_path: Path) -> None:
    model = small_model("qwen2", rope_parameters={"rope_theta": 10_000.0, **rope})
    more: dict[str, Any] = {
        "qwen2.rope.scaling.type": rope["rope_type"],
        "qwen2.rope.scaling.factor": rope["factor"],
        "qwen2.rope.scaling.original_context_length": rope.get("original_max_position_embeddings", 128),
    }
    loaded, _ = load_gguf(write_model(tmp_path / "model.gguf", "qwen2", model, more=more))
    torch.testing.assert_close(logits(loaded), logits(model), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("factor", ["rope.scaling.factor", "rope.scale_linear"])
def test_a_factor_alone_scales_linearly(factor: str, tmp_path: Path) -> None:
    model = small_model("llama", rope_parameters={"rope_theta": 10_000.0, "rope_type": "linear", "factor": 4.0})
    loaded, _ = load_gguf(write_model(tmp_path / "model.gguf", "llama", model, more={f"llama.{factor}": 4.0}))
    torch.testing.assert_close(logits(loaded), logits(model), rtol=1e-4, atol=1e-4)


def test_lookahead_decodes_a_loaded_model_as_generate_does(tmp_path: Path) -> None:
    model, tokenizer = load_gguf(write_model(tmp_path / "model.gguf", "llama", small_model("llama")))
    ids = tokenizer("def add(a, b):")["input_ids"]
    expected = model.generate(torch.tensor([ids]), max_new_tokens=24, do_sample=False)[0, len(ids) :].tolist()
    steps = LookaheadDecoder(model).generate(ids, max_new_tokens=24)
    assert [token for step in steps for token in step.tokens] == expected


@pytest.mark.skipif(native_kernels() is None, reason="needs a C compiler")
def test_keys_and_values_alone_are_products_of_rows_in_sixteen_bits(tmp_path: Path) -> None:
    model, _ = load_gguf(write_model(tmp_path / "model.gguf", "llama", small_model("llama"), kind="Q8_0"))
    fine = {name for name, module in model.named_modules() if isinstance(module, Packed) and module.packed.is_fine}
    layers = range(model.config.num_hidden_layers)
    assert fine == {f"model.layers.{index}.self_attn.{name}" for index in layers for name in ("k_proj", "v_proj")}


def test_progress_is_told_to_the_last_tensor(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    path = write_model(tmp_path / "model.gguf", "llama", small_model("llama"))
    load_gguf(GgufFile.open(path), on_tensor=lambda done, total: told.append((done, total)))
    assert told == [(done, len(told)) for done in range(1, len(told) + 1)]
    assert len(told) == len(GGUFReader(path).tensors)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_no_page_of_the_file_stays_in_memory(tmp_path: Path) -> None:
    file = GgufFile.open(write_model(tmp_path / "model.gguf", "llama", small_model("llama"), kind="Q8_0"))
    resident: list[str] = []

    def look(done: int, total: int) -> None:
        _, _, mapped = Path("/proc/self/smaps").read_text().partition(str(file.path))
        resident.append(mapped.partition("Rss:")[2].split()[0])

    load_gguf(file, on_tensor=look)
    assert set(resident) == {"0"}


def test_parts_make_up_one_model(tmp_path: Path) -> None:
    model = small_model("llama")
    whole = write_model(tmp_path / "whole.gguf", "llama", model)
    metadata = {**metadata_of("llama", model.config), **vocabulary()}
    write(tmp_path / "parts.gguf", metadata, tensors_of("llama", model), split_max_tensors=10)
    first = min(tmp_path.glob("parts-*.gguf"))
    assert torch.equal(logits(load_gguf(first)[0]), logits(load_gguf(whole)[0]))


def test_gemma_2_has_a_window_though_its_file_may_not_say_so(tmp_path: Path) -> None:
    """As in llama.cpp: files of mid-2024 lack it."""
    settings, metadata = OTHERS["gemma2"]
    more = {f"gemma2.{key}": value for key, value in metadata.items()}
    more |= {"gemma2.attention.sliding_window": None}
    path = write_model(tmp_path / "model.gguf", "gemma2", small_model("gemma2", **settings), more=more)
    assert load_gguf(path)[0].config.sliding_window == 4096


@pytest.mark.parametrize("architecture", ["gemma3", "cohere2"])
def test_a_window_that_is_missing_is_refused_by_name(architecture: str, tmp_path: Path) -> None:
    settings, metadata = OTHERS[architecture]
    given = {**metadata, "attention.sliding_window": None}
    more = {f"{architecture}.{key}": value for key, value in given.items()}
    path = write_model(tmp_path / "model.gguf", architecture, small_model(architecture, **settings), more=more)
    with pytest.raises(GgufError, match=f"its metadata has no '{architecture}.attention.sliding_window'$"):
        load_gguf(path)


def test_no_more_of_a_head_is_rotated_than_it_has(tmp_path: Path) -> None:
    model = small_model("phi3", rope_parameters=PARTIAL)
    path = write_model(tmp_path / "model.gguf", "phi3", model, more={"phi3.rope.dimension_count": 1 << 30})
    with pytest.raises(GgufError, match=r"a rope\.dimension_count of 1073741824 for heads of 16"):
        load_gguf(path)
