"""Metadata and tensors of a file that contradict one another, or are missing, are refused in one line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gguf import GGMLQuantizationType

from decoding import load_gguf
from decoding.gguf.metadata import GgufError
from tests.gguf_format.files import write
from tests.gguf_format.models import metadata_of, small_model, tensors_of, vocabulary, write_model

BAD: dict[str, dict[str, Any]] = {
    "its metadata has no 'llama.attention.layer_norm_rms_epsilon'": {"llama.attention.layer_norm_rms_epsilon": None},
    "its metadata has a 'llama.attention.head_count' of 0$": {"llama.attention.head_count": 0},
    "4 heads of 16 with 3 heads of keys, for a width of 64": {"llama.attention.head_count_kv": 3},
    "5 heads of 16 with 5 heads of keys": {"llama.attention.head_count": 5, "llama.attention.head_count_kv": 5},
    "'llama.embedding_length' in its metadata is not an integer": {"llama.embedding_length": "wide"},
    "its metadata has no 'llama.embedding_length'": {"llama.embedding_length": None},
    "tensor 'token_embd.weight' is of 300 × 64, and its metadata says 300 × 128": {"llama.embedding_length": 128},
    "tensor 'blk.0.ffn_gate.weight' is of 96 × 64, and .* 97 × 64": {"llama.feed_forward_length": 97},
    "it has no tensor 'blk.4.attn_q.weight'": {"llama.block_count": 5},
    "a tensor 'blk.3.attn_q.weight', which is not known": {"llama.block_count": 3},
    "its metadata has 1,000,000 layers": {"llama.block_count": 1_000_000},
    "a 'llama.rope.freq_base' of nan": {"llama.rope.freq_base": float("nan")},
    "a 'llama.rope.freq_base' of 1.0": {
        "llama.rope.freq_base": 1.0,
        "llama.rope.scaling.type": "yarn",
        "llama.rope.scaling.factor": 4.0,
    },
    "4 heads of 1073741824 with": {
        "llama.attention.key_length": 1 << 30,
        "llama.attention.value_length": 1 << 30,
        "llama.rope.dimension_count": 1 << 30,
    },
    "a rope.dimension_count of 8 for heads of 16": {"llama.rope.dimension_count": 8},
    "its positions are scaled by 'longrope'": {"llama.rope.scaling.type": "longrope"},
    "its positions are scaled by 'llama.rope.scaling.attn_factor'": {
        "llama.rope.scaling.factor": 2.0,
        "llama.rope.scaling.attn_factor": 1.2,
    },
    "its layers differ in their 'llama.attention.head_count_kv'": {"llama.attention.head_count_kv": [2, 1, 2, 1]},
    "4 experts for a token, of 3": {"llama.expert_count": 3, "llama.expert_used_count": 4},
    "scores of its experts": {
        "llama.expert_count": 4,
        "llama.expert_used_count": 2,
        "llama.expert_gating_func": 2,
    },
    "its vocabulary has 299 tokens, and its embedding 300 rows": {
        "tokenizer.ggml.tokens": vocabulary()["tokenizer.ggml.tokens"][:-1],
        "tokenizer.ggml.merges": vocabulary()["tokenizer.ggml.merges"][:-1],
    },
}


@pytest.mark.parametrize("reason", BAD)
def test_metadata_that_contradicts_the_tensors_is_refused_in_one_line(reason: str, tmp_path: Path) -> None:
    path = write_model(tmp_path / "model.gguf", "llama", small_model("llama"), more=BAD[reason])
    with pytest.raises(GgufError, match=reason) as caught:
        load_gguf(path)
    assert str(caught.value).startswith(f"{path} cannot be loaded: ")
    assert str(caught.value).isprintable()


def test_tensors_that_are_missing_unknown_or_not_finite_are_refused(tmp_path: Path) -> None:
    model = small_model("llama")
    metadata = {**metadata_of("llama", model.config), **vocabulary()}
    good = tensors_of("llama", model)
    bad = {
        "it has no tensor 'blk.2.ffn_norm.weight'": {k: v for k, v in good.items() if k != "blk.2.ffn_norm.weight"},
        "it has no tensor 'token_embd.weight'": {k: v for k, v in good.items() if k != "token_embd.weight"},
        "a tensor 'blk.0.attn_sinks.weight', which is not known": {
            **good,
            "blk.0.attn_sinks.weight": good["output_norm.weight"],
        },
        "tensor 'output_norm.weight' holds numbers that are not finite": {
            **good,
            "output_norm.weight": np.full(64, np.inf, np.float32),
        },
        "tensor 'blk.0.ffn_down.weight' holds numbers that are not finite": {
            **good,
            "blk.0.ffn_down.weight": (GGMLQuantizationType.MXFP4, np.full((64, 51), 255, np.uint8)),
        },
        "tensor 'blk.0.ffn_norm.weight' is of the type I32, which is not supported": {
            **good,
            "blk.0.ffn_norm.weight": np.ones(64, np.int32),
        },
        "tensor 'rope_freqs.weight' does not hold factors above zero": {
            **good,
            "rope_freqs.weight": np.zeros(8, np.float32),
        },
        "tensor 'rope_freqs.weight' is of 4, and its metadata says 8": {
            **good,
            "rope_freqs.weight": np.ones(4, np.float32),
        },
    }
    for reason, tensors in bad.items():
        with pytest.raises(GgufError, match=reason):
            load_gguf(write(tmp_path / "model.gguf", metadata, tensors))


def test_layers_that_share_are_no_more_than_all(tmp_path: Path) -> None:
    more = {"llama.attention.shared_kv_layers": 2**31 - 1}
    load_gguf(write_model(tmp_path / "model.gguf", "llama", small_model("llama"), more=more))


def test_experts_where_none_are_expected_are_refused(tmp_path: Path) -> None:
    path = write_model(tmp_path / "model.gguf", "qwen3", small_model("qwen3"), more={"qwen3.expert_count": 4})
    with pytest.raises(GgufError, match="its layers have experts"):
        load_gguf(path)
