"""Broken GGUF files: one line each, nothing read outside the map, no memory taken for what is only claimed.

``GGUF_MUTATIONS=2000`` tries so many mutations of a header instead of 50.
"""

from __future__ import annotations

import os
import tracemalloc
from collections.abc import Sequence
from pathlib import Path
from random import Random
from struct import pack
from typing import Any

import numpy as np
import pytest
import torch
from transformers import NemotronConfig, NemotronForCausalLM

from decoding import load_gguf
from decoding.gguf.file import GgufFile
from decoding.gguf.metadata import GgufError
from decoding.gguf.unpacked_architectures import UNPACKED_ARCHITECTURES, unpacked_bytes
from tests.gguf_format.files import ARRAY, TEXT, U32, U64, entry, raw_file, tensor, text, write
from tests.gguf_format.models import SIZES, logits, metadata_of, small_model, tensors_of, vocabulary, write_model

HUGE = 10**18
EDGES = (0, 1, 2, 9, 255, 2**31, 2**32 - 1, 2**63, 2**64 - 1, HUGE)
MUTATIONS = int(os.environ.get("GGUF_MUTATIONS", "50"))


def nested(depth: int) -> bytes:
    """Arrays in arrays."""
    return pack("<IQ", ARRAY, 1) * depth + pack("<IQ", U32, 0)


BAD = {
    "it is empty": b"",
    "it does not begin with GGUF": b"GGML" + bytes(64),
    "it is a Git LFS pointer, and `git lfs pull`": b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n",
    "it is of version 1; versions 2 and 3 are read": raw_file(version=1),
    "it is of version 0;": raw_file(version=0),
    "it is of version 4;": raw_file(version=4),
    "it is big-endian": b"GGUF" + pack(">IQQ", 3, 0, 0) + bytes(64),
    "it is cut off at byte 20": raw_file()[:20],
    "it claims 1,000,000,000,000,000,000 tensors": raw_file(counts=(HUGE, 1)),
    "it claims 1,000,000,000,000,000,000 metadata entries": raw_file(counts=(0, HUGE)),
    "it claims 1,000,000,000,000,000,000 strings": raw_file([entry("a", ARRAY, pack("<IQ", TEXT, HUGE))]),
    "it claims 1,000,000,000,000,000,000 numbers": raw_file([entry("a", ARRAY, pack("<IQ", U32, HUGE))]),
    "it claims 1,000,000,000,000,000,000 arrays": raw_file([entry("a", ARRAY, pack("<IQ", ARRAY, HUGE))]),
    "the string at byte 45 claims 1,000,000,000,000,000,000 bytes": raw_file([entry("a", TEXT, pack("<Q", HUGE))]),
    "it is cut off at byte 50": raw_file([entry("a", TEXT, text("x" * 30))])[:50],
    "the string at byte 32 claims 18,446,744,073,709,551,608": raw_file([pack("<Q", 2**64 - 8) + b"key"]),
    "nests arrays more than 4 deep": raw_file([entry("a", ARRAY, nested(5))]),
    "nests arrays more than 4 deep$": raw_file([entry("a", ARRAY, nested(10_000))]),
    "a value of the unknown type 13": raw_file([entry("a", 13, bytes(8))]),
    "an array of the unknown type 99": raw_file([entry("a", ARRAY, pack("<IQ", 99, 1))]),
    "the string at byte .* is not UTF-8": raw_file([entry("a", TEXT, pack("<Q", 1) + b"\xff")]),
    "its metadata has 'a' twice": raw_file([entry("a", U32, bytes(4))] * 2),
    "its alignment of 0 is not a power of two": raw_file([entry("general.alignment", U32, pack("<I", 0))]),
    "its alignment of 12 is not a power of two": raw_file([entry("general.alignment", U32, pack("<I", 12))]),
    "'general.alignment' in its metadata is not an integer": raw_file([entry("general.alignment", TEXT, text("x"))]),
    "'split.count' in its metadata is not an integer": raw_file([entry("split.count", TEXT, text("x"))]),
    "it claims to have 18,446,744,073,709,551,615 parts": raw_file([entry("split.count", U64, b"\xff" * 8)]),
    "tensor 'w' has 0 dimensions": raw_file(tensors=[tensor("w", ())]),
    "tensor 'w' has 5 dimensions": raw_file(tensors=[tensor("w", (1,) * 5)]),
    "tensor 'w' has the unknown type 31": raw_file(tensors=[tensor("w", (32,), 31)]),
    "tensor 'w' cannot have the shape 33 in Q4_0": raw_file(tensors=[tensor("w", (33,), 2)]),
    "tensor 'w' cannot have the shape 0 × 32 in Q4_0": raw_file(tensors=[tensor("w", (32, 0), 2)]),
    "tensor 'w' .F32 of 1,025. lies behind it": raw_file(tensors=[tensor("w", (1025,))]),
    "tensor 'w' .F32 of .* lies behind it": raw_file(tensors=[tensor("w", (2**63, 2**63, 2**63, 2**63))]),
    "tensor 'w' .F32 of 4. lies behind it": raw_file(tensors=[tensor("w", (4,), offset=2**62)]),
    "tensor 'w' is not aligned to 32 bytes": raw_file(tensors=[tensor("w", (4,), offset=4)]),
    "tensor 'v' overlaps another": raw_file(tensors=[tensor("w", (16,)), tensor("v", (4,), offset=32)]),
    "two of its tensors have the same name": raw_file(tensors=[tensor("w", (4,)), tensor("w", (4,), offset=32)]),
    r"tensor 'a\\x1b\[31m\\n' has 0 dimensions": raw_file(tensors=[tensor("a\x1b[31m\n", ())]),
}


def opened(path: Path) -> GgufFile | str:
    """The file, or the one line that refuses it."""
    try:
        file = GgufFile.open(path)
    except GgufError as error:
        return str(error)
    # Reads every byte that the header claims.
    assert all(int(found.blocks.sum(dtype=np.int64)) >= 0 for found in file.tensors.values())
    return file


@pytest.mark.parametrize("reason", BAD)
def test_broken_files_are_refused_in_one_line(reason: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.gguf"
    path.write_bytes(BAD[reason])
    tracemalloc.start()
    try:
        with pytest.raises(GgufError, match=reason) as caught:
            GgufFile.open(path)
        assert tracemalloc.get_traced_memory()[1] < 10**6
    finally:
        tracemalloc.stop()
    assert str(caught.value).startswith(f"{path} is not a readable GGUF file: ")
    assert str(caught.value).isprintable()


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """A whole file's bytes."""
    metadata = {"general.file_type": 0, "tokenizer.ggml.tokens": ["a", "b"], "tokenizer.ggml.scores": [0.5, 1.0]}
    tensors = {name: np.ones((2, 16), np.float32) for name in ("first", "second")}
    return write(tmp_path_factory.mktemp("gguf") / "good.gguf", metadata, tensors).read_bytes()


def test_a_file_cut_off_anywhere_is_refused(good: bytes, tmp_path: Path) -> None:
    path = tmp_path / "cut.gguf"
    path.write_bytes(good)
    assert isinstance(opened(path), GgufFile)
    for length in range(len(good)):
        path.write_bytes(good[:length])
        assert isinstance(opened(path), str), length


def mutated(data: bytes, places: Sequence[int], draw: Random) -> bytes:
    """The bytes with a few changed, at some of the places."""
    changed = bytearray(data)
    for _ in range(draw.randint(1, 4)):
        place = draw.choice(places)
        if draw.random() < 0.5:
            changed[place] = draw.randrange(256)
        else:
            changed[place : place + 8] = pack("<Q", draw.choice(EDGES))
    return bytes(changed)


def test_mutated_headers_are_read_or_refused_in_one_line(good: bytes, tmp_path: Path) -> None:
    path, draw, places = tmp_path / "mutated.gguf", Random(0), range(4, good.index(b"second") + 64)
    refused = 0
    for _ in range(MUTATIONS):
        path.write_bytes(mutated(good, places, draw))
        found = opened(path)
        refused += isinstance(found, str)
        assert not isinstance(found, str) or found.isprintable()
    assert refused > MUTATIONS // 4


def test_models_with_mutated_headers_are_loaded_or_refused_in_one_line(tmp_path: Path) -> None:
    model = small_model("llama", num_hidden_layers=1)
    data = write_model(tmp_path / "good.gguf", "llama", model).read_bytes()
    path, draw = tmp_path / "mutated.gguf", Random(0)
    # Without the vocabulary, which fills most of a header.
    tensors = data.index(b"token_embd.weight")
    places = [*range(4, data.index(b"tokenizer.ggml.tokens") + 40), *range(tensors - 8, tensors + 600)]
    for _ in range(MUTATIONS):
        path.write_bytes(mutated(data, places, draw))
        try:
            load_gguf(path)
        except GgufError as error:
            line = str(error)
            assert line.isprintable(), line


# --- Files of architectures that transformers unpacks, and of those that nothing reads


def test_architectures_that_nothing_reads_are_refused_by_name(tmp_path: Path) -> None:
    path = write(tmp_path / "model.gguf", vocabulary(), {"w": np.ones((2, 2), np.float32)}, "rwkv7")
    with pytest.raises(GgufError, match=r"model\.gguf cannot be loaded: its architecture 'rwkv7' is not supported$"):
        load_gguf(path)
    with pytest.raises(GgufError, match="its architecture 'rwkv7' is not supported"):
        unpacked_bytes(GgufFile.open(path))


def test_a_file_of_a_kind_that_is_no_text_is_refused_by_its_path(tmp_path: Path) -> None:
    path = write(tmp_path / "model.gguf", {"general.type": 5}, {"w": np.ones((2, 2), np.float32)})
    with pytest.raises(GgufError, match=r"model\.gguf cannot be run: 'general\.type' in its metadata is not a string$"):
        load_gguf(path)


@pytest.mark.parametrize(("made", "kind"), [(True, IsADirectoryError), (False, FileNotFoundError)])
def test_a_path_without_a_file_is_refused_in_a_line_that_says_what_to_pass(
    made: bool, kind: type[OSError], tmp_path: Path
) -> None:
    path = tmp_path / "models"
    if made:
        path.mkdir()
    with pytest.raises(kind, match=r"^\S+models cannot be opened \(.+\): pass the path of a \.gguf file$"):
        load_gguf(path)


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


def test_unpacked_architectures_are_unpacked_by_transformers(tmp_path: Path) -> None:
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


def test_unpacked_architectures_are_those_that_transformers_says_it_reads() -> None:
    from transformers.integrations.gguf.utils import is_gguf_arch_supported
    from transformers.modeling_gguf_pytorch_utils import GGUF_SUPPORTED_ARCHITECTURES

    theirs = {name.replace("_", "").replace("-", "") for name in GGUF_SUPPORTED_ARCHITECTURES}
    for name in UNPACKED_ARCHITECTURES:
        assert name.replace("-", "") in theirs or is_gguf_arch_supported(name), name
