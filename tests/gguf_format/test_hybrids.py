"""Files of hybrids (LFM2, Qwen3.5): transformers' logits, steps in C, and what they lack told by name."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from gguf import quants

from decoding import AutoregressiveDecoder, load_gguf, native_support
from decoding.gguf.metadata import GgufError
from decoding.native.kernels import native_kernels
from decoding.quantization.packed import Packed
from tests.costs import NEARLY_FREE, budgeted
from tests.gguf_format.files import write
from tests.gguf_format.hybrids import MIXTURES, SETTINGS, metadata, model_of, tensors_of
from tests.models import tokens_of

TEXT = [5, 17, 80, 3, 200, 41, 41, 7, 99, 250, 12, 64] * 3


def logits(model: Any) -> torch.Tensor:
    with torch.inference_mode():
        found: torch.Tensor = model(torch.tensor([TEXT])).logits
        return found


@pytest.mark.parametrize("kind", ["F32", "BF16", "Q8_0", "Q4_1"])
@pytest.mark.parametrize("name", ["lfm2", "lfm2 tied", "qwen35", "qwen35, a value head for each key", *MIXTURES])
def test_logits_are_those_of_the_same_weights_in_transformers(name: str, kind: str, tmp_path: Path) -> None:
    architecture = name.replace(",", "").split()[0]
    more: dict[str, Any] = {"tie_word_embeddings": "tied" in name}
    if "each key" in name:
        more |= {"linear_num_value_heads": 2}
    model = model_of(architecture, **more)
    tensors = tensors_of(architecture, model, kind)
    loaded, _ = load_gguf(write(tmp_path / "model.gguf", metadata(architecture, model), tensors, architecture))
    if kind != "F32":  # the rounded weights, from a file that holds them in float32
        rounded = {
            key: quants.dequantize(value[1], value[0]) if isinstance(value, tuple) else value
            for key, value in tensors.items()
        }
        model, _ = load_gguf(write(tmp_path / "same.gguf", metadata(architecture, model), rounded, architecture))
    found, expected = logits(loaded), logits(model)
    if kind in ("BF16", "Q8_0", "Q4_1"):  # products round activations, to bfloat16 or, where packed, to int8
        # The median: where a router's scores are nearly equal, rounding chooses another expert.
        assert (found - expected).square().mean(-1).sqrt().median() < 0.15 * expected.std()
        if native_kernels() is not None and kind != "BF16":
            assert sum(isinstance(module, Packed) for module in loaded.modules()) > 10
    else:
        torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("architecture", SETTINGS)
def test_packed_steps_run_in_c_and_on_and_off_agree_bit_for_bit(architecture: str, tmp_path: Path) -> None:
    if native_kernels() is None:
        pytest.skip("no C compiler here")
    model = model_of(architecture, tie_word_embeddings=False)
    tensors = tensors_of(architecture, model, "Q8_0")
    loaded, _ = load_gguf(write(tmp_path / "model.gguf", metadata(architecture, model), tensors, architecture))
    assert native_support(loaded).supported, native_support(loaded).reason
    plain = tokens_of(AutoregressiveDecoder(loaded).generate(TEXT, max_new_tokens=30))
    assert tokens_of(budgeted(loaded, NEARLY_FREE).generate(TEXT, max_new_tokens=30)) == plain


def test_experts_in_float32_do_not_meet_other_activations_in_c(tmp_path: Path) -> None:
    model = model_of("lfm2moe", tie_word_embeddings=False)
    path = write(tmp_path / "model.gguf", metadata("lfm2moe", model), tensors_of("lfm2moe", model, "F32"), "lfm2moe")
    loaded, _ = load_gguf(path)
    expected = logits(loaded)
    if native_kernels() is not None:
        assert native_support(loaded).supported
        assert "patched" in str(native_support(loaded.bfloat16()).reason)
    assert (logits(loaded.bfloat16()).float() - expected).square().mean(-1).sqrt().median() < 0.1 * expected.std()


def test_blocks_of_multi_token_prediction_are_left_out(tmp_path: Path) -> None:
    model = model_of("qwen35", tie_word_embeddings=False)
    more = {"qwen35.block_count": 5, "qwen35.nextn_predict_layers": 1}
    tensors = {**tensors_of("qwen35", model, "F32"), "blk.4.nextn.enorm.weight": np.ones(64, np.float32)}
    loaded, _ = load_gguf(write(tmp_path / "model.gguf", {**metadata("qwen35", model), **more}, tensors, "qwen35"))
    torch.testing.assert_close(logits(loaded), logits(model), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("architecture", "missing", "told"),
    [
        ("lfm2", "lfm2.shortconv.l_cache", "'lfm2.shortconv.l_cache'"),
        ("lfm2", "blk.0.shortconv.conv.weight", "no tensor 'blk.0.shortconv.conv.weight'"),
        ("qwen35", "qwen35.ssm.time_step_rank", "'qwen35.ssm.time_step_rank'"),
        ("qwen35", "qwen35.ssm.conv_kernel", "'qwen35.ssm.conv_kernel'"),
        ("qwen35", "blk.1.ssm_a", "no tensor 'blk.1.ssm_a'"),
        ("qwen35", "blk.2.ssm_dt.bias", "no tensor 'blk.2.ssm_dt.bias'"),
    ],
)
def test_what_a_file_lacks_is_told_by_name(architecture: str, missing: str, told: str, tmp_path: Path) -> None:
    model = model_of(architecture)
    entries, tensors = metadata(architecture, model), tensors_of(architecture, model, "F32")
    entries.pop(missing, None)
    tensors.pop(missing, None)
    with pytest.raises(GgufError, match=told):
        load_gguf(write(tmp_path / "model.gguf", entries, tensors, architecture))


def test_layers_and_numbers_that_contradict_the_architecture_are_told(tmp_path: Path) -> None:
    model = model_of("lfm2")
    entries, tensors = metadata("lfm2", model), tensors_of("lfm2", model, "F32")
    with pytest.raises(GgufError, match=r"no 'lfm2.attention.head_count_kv' for each of its layers"):
        load_gguf(write(tmp_path / "a.gguf", {**entries, "lfm2.attention.head_count_kv": 2}, tensors, "lfm2"))
    model = model_of("qwen35")
    tensors = tensors_of("qwen35", model, "F32")
    for predicting in (1, 9):
        entries = {**metadata("qwen35", model), "qwen35.nextn_predict_layers": predicting}
        with pytest.raises(GgufError, match=f"none of its 4 layers has attention, without {predicting} at the end"):
            load_gguf(write(tmp_path / "c.gguf", entries, tensors, "qwen35"))
    tensors["blk.0.ssm_a"] = np.abs(tensors["blk.0.ssm_a"])
    with pytest.raises(GgufError, match=r"'blk.0.ssm_a' does not hold numbers below zero"):
        load_gguf(write(tmp_path / "b.gguf", metadata("qwen35", model), tensors, "qwen35"))
