"""Files of architectures that transformers unpacks, and of those that nothing reads."""

from __future__ import annotations

from pathlib import Path
from struct import pack
from typing import Any

import numpy as np
import pytest
import torch
from transformers import NemotronConfig, NemotronForCausalLM

from decoding import load_gguf
from decoding.gguf.file import GgufFile
from decoding.gguf.metadata import GgufError
from decoding.gguf.unpacked import UNPACKED_ARCHITECTURES, unpacked_bytes
from tests.gguf_format.files import U32, entry, raw_file, write
from tests.gguf_format.models import SIZES, logits, metadata_of, tensors_of, vocabulary


def test_architectures_that_nothing_reads_are_refused_by_name(tmp_path: Path) -> None:
    path = write(tmp_path / "model.gguf", vocabulary(), {"w": np.ones((2, 2), np.float32)}, "rwkv7")
    with pytest.raises(GgufError, match=r"model\.gguf cannot be loaded: its architecture 'rwkv7' is not supported$"):
        load_gguf(path)
    with pytest.raises(GgufError, match="its architecture 'rwkv7' is not supported"):
        unpacked_bytes(GgufFile.open(path))


def nemotron(path: Path, without: str = "", **more: Any) -> tuple[Any, Path]:
    """A small Nemotron, whose norms a file has with one added, and its file, without a tensor."""
    torch.manual_seed(0)
    rope = {"rope_type": "default", "rope_theta": 10_000.0, "partial_rotary_factor": 0.5}
    config = NemotronConfig(vocab_size=300, norm_eps=1e-5, rope_parameters=rope, **SIZES)
    model = NemotronForCausalLM(config).eval()
    tensors = tensors_of("nemotron", model, "BF16")
    tensors = {name: tensor + 1 if name.endswith("norm.weight") else tensor for name, tensor in tensors.items()}
    tensors.pop(without, None)
    metadata = {**metadata_of("nemotron", model.config), **vocabulary(), **more}
    return model, write(path, metadata, tensors, "nemotron")


def test_other_architectures_are_unpacked_by_transformers(tmp_path: Path) -> None:
    model, path = nemotron(tmp_path / "model.gguf", **{"general.name": "small"})
    file = GgufFile.open(path)
    loaded, _ = load_gguf(file)
    assert unpacked_bytes(file) == sum(tensor.nbytes for tensor in loaded.parameters())
    wanted, found = logits(model), logits(loaded).float()
    assert (found - wanted).square().mean().sqrt() < 0.05 * wanted.std()
    assert loaded.generation_config.eos_token_id[0] == vocabulary()["tokenizer.ggml.eos_token_id"]


@pytest.mark.parametrize(
    ("reason", "more"),
    [
        ("how its positions are scaled", {"nemotron.rope.scaling.type": "linear", "nemotron.rope.scaling.factor": 8.0}),
        ("how its positions are scaled", {"nemotron.rope.scaling.factor": 8.0}),
        ("only in one file, not in 2 parts", {"split.count": 2}),
    ],
)
def test_what_transformers_would_leave_out_is_refused(reason: str, more: dict[str, Any], tmp_path: Path) -> None:
    _, path = nemotron(tmp_path / "model.gguf", **more)
    if "split.count" in more:
        part = path.rename(tmp_path / "model-00001-of-00002.gguf")
        (tmp_path / "model-00002-of-00002.gguf").write_bytes(
            raw_file([entry("split.no", U32, pack("<I", 1)), entry("split.count", U32, pack("<I", 2))])
        )
        path = part
    with pytest.raises(GgufError, match=reason):
        load_gguf(path)


def test_what_transformers_would_make_up_is_refused(tmp_path: Path) -> None:
    _, path = nemotron(tmp_path / "model.gguf", without="blk.1.ffn_norm.weight")
    with pytest.raises(GgufError, match=r"it has no tensor for 'model\.layers\.1\.post_attention_layernorm\.weight'$"):
        load_gguf(path)
    _, path = nemotron(tmp_path / "other.gguf", **{"nemotron.feed_forward_length": 97})
    with pytest.raises(GgufError, match="have other sizes than transformers makes of its metadata"):
        load_gguf(path)


def test_other_architectures_are_those_that_transformers_says_it_reads() -> None:
    from transformers.integrations.gguf.utils import is_gguf_arch_supported
    from transformers.modeling_gguf_pytorch_utils import GGUF_SUPPORTED_ARCHITECTURES

    theirs = {name.replace("_", "").replace("-", "") for name in GGUF_SUPPORTED_ARCHITECTURES}
    for name in UNPACKED_ARCHITECTURES:
        assert name.replace("-", "") in theirs or is_gguf_arch_supported(name), name
