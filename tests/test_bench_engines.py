"""Other engines in the benchmark: the file written for them, and clear words where they cannot run."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from checkpoints import make_gpt2, make_llama_tokenizer_model, make_qwen2
from transformers import AutoConfig

from lade_chat.bench.engines.gguf_file import write_gguf
from lade_chat.bench.engines.llama_cpp import llama_cpp
from lade_chat.bench.methods.method import Setup
from lade_chat.cli.app import main
from lade_chat.errors import LadeChatError

COMMAND = ["bench", "--suites", "math", "--limit", "1", "--methods", "plain", "--repeats", "1", "--max-new-tokens", "6"]


@pytest.mark.parametrize("make", [make_llama_tokenizer_model, make_qwen2])
def test_a_gguf_file_holds_the_checkpoint(make: Any, tmp_path: Path) -> None:
    gguf = pytest.importorskip("gguf")
    folder = make(tmp_path / "tiny")
    config = AutoConfig.from_pretrained(folder)
    sizes = []
    for dtype in ("float32", "bfloat16", "int8"):
        file = tmp_path / f"{dtype}.gguf"
        write_gguf(folder, config, file, dtype)
        sizes.append(file.stat().st_size)
    assert sizes == sorted(sizes, reverse=True)
    reader = gguf.GGUFReader(tmp_path / "float32.gguf")
    tensors = {tensor.name: tensor for tensor in reader.tensors}
    assert tensors["token_embd.weight"].data.shape == (config.vocab_size, config.hidden_size)
    assert f"blk.{config.num_hidden_layers - 1}.ffn_down.weight" in tensors
    assert f"{config.model_type}.attention.head_count_kv" in reader.fields


def test_other_architectures_are_refused(tmp_path: Path) -> None:
    pytest.importorskip("gguf")
    folder = make_gpt2(tmp_path / "gpt2")
    with pytest.raises(LadeChatError, match="only plain Llama and Qwen2"):
        write_gguf(folder, AutoConfig.from_pretrained(folder), tmp_path / "x.gguf", "float32")


def test_llama_cpp_writes_the_same_text(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("llama_cpp")
    assert main([*COMMAND, "--engines", "llama.cpp", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert [(row["method"], row["identical"]) for row in result["rows"]] == [("plain", 1), ("llama.cpp", 1)]


def test_an_engine_that_is_not_installed_is_left_out_with_the_reason(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "llama_cpp", None)
    assert main([*COMMAND, "--engines", "llama.cpp", "--json"]) == 0
    left_out = json.loads(capsys.readouterr().out)["left_out"]
    assert left_out == {"llama.cpp": "not installed: pip install 'lade-chat[engines]'"}


def test_drawn_texts_and_weights_without_a_checkpoint_are_refused() -> None:
    (method,) = llama_cpp(Setup(SimpleNamespace(dtype=torch.float32, config=SimpleNamespace())), name="llama.cpp")
    with pytest.raises(LadeChatError, match="only greedy"):
        method.open(1)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--engines", "vllm"], "'vllm' is none of llama.cpp"),
        (["--engines", "llama.cpp", "--gguf", "none.gguf"], "there is no file none.gguf"),
        (["--gguf", "none.gguf"], "it is for --engines"),
    ],
)
def test_bad_input_is_told_in_a_line(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*COMMAND, *arguments]) == 2
    assert words in " ".join(capsys.readouterr().err.replace("│", "").split())
