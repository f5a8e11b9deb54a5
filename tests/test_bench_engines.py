"""Other engines in the benchmark: the file written for them, and clear words where they cannot run."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from checkpoints import make_gpt2, make_llama_tokenizer_model, make_qwen2, save_random
from transformers import AutoConfig, AutoModelForCausalLM, MistralConfig, Qwen2Config

from lade_chat.bench.engines.engine import engine
from lade_chat.bench.engines.gguf_file import write_gguf
from lade_chat.bench.methods.method import Setup
from lade_chat.bench.methods.registry import ENGINES
from lade_chat.bench.results.values import Reply
from lade_chat.cli.app import main
from lade_chat.errors import LadeChatError
from tests.models import hf_greedy, random_prompt

COMMAND = ["bench", "--suites", "math", "--limit", "1", "--methods", "plain", "--repeats", "1", "--max-new-tokens", "6"]
SIZES = {
    "vocab_size": 128,
    "hidden_size": 128,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
}


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


@pytest.mark.parametrize(("name", "module"), [("llama.cpp", "llama_cpp"), ("openvino", "openvino")])
def test_an_engine_writes_the_same_text(name: str, module: str, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip(module)
    assert main([*COMMAND, "--engines", name, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert [(row["method"], row["identical"]) for row in result["rows"]] == [("plain", 1), (name, 1)]


def test_openvino_reads_every_prompt_anew_in_any_precision(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("openvino")
    # In bfloat16 on a single thread, OpenVINO 2026.4 divides by zero.
    monkeypatch.setattr(torch, "get_num_threads", lambda: 2)
    folder, prompt = save_random(tmp_path / "tiny", Qwen2Config(**SIZES)), random_prompt(9)
    for dtype, quantize in ((torch.float32, None), (torch.bfloat16, None), (torch.float32, "int8")):
        model = AutoModelForCausalLM.from_pretrained(folder, dtype=dtype)
        (method,) = ENGINES["openvino"](Setup(model, checkpoint=folder, quantize=quantize))
        reply = method.open(None)
        first, _, again = reply(prompt, 8).ids, reply(prompt[:4], 3), reply(prompt, 8).ids
        assert first == again
        assert len(first) == 8
        if dtype == torch.float32 and quantize is None:
            assert list(first) == hf_greedy(model, prompt, 8)


def test_openvino_refuses_what_it_would_get_wrong(tmp_path: Path) -> None:
    pytest.importorskip("openvino")
    windowed = save_random(tmp_path / "windowed", MistralConfig(**SIZES, sliding_window=4))
    model = AutoModelForCausalLM.from_pretrained(windowed)
    for setup, words in (
        (Setup(model), "only checkpoints are converted"),
        (Setup(model, checkpoint=windowed), "attend to all earlier tokens"),
    ):
        (method,) = ENGINES["openvino"](setup)
        with pytest.raises(LadeChatError, match=words):
            method.open(None)([1, 2], 3)


@pytest.mark.parametrize(("name", "module"), [("llama.cpp", "gguf"), ("openvino", "openvino")])
def test_an_engine_that_is_not_installed_is_told_before_anything_is_measured(
    name: str, module: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "llama_cpp", sys)
    monkeypatch.setitem(sys.modules, module, None)
    assert main([*COMMAND, "--engines", name]) == 1
    told = f"error: --engines {name} needs a package that is not installed. To install: pip install {module}\n"
    assert capsys.readouterr().err == told


def test_an_engine_answers_refuses_and_crashes_in_a_process_of_its_own() -> None:
    setup = Setup(SimpleNamespace(dtype=torch.float32, config=SimpleNamespace()))
    (method,) = engine(setup, name="x", loader="tests.fragile_engine:load")
    assert method.may_refuse
    with pytest.raises(LadeChatError, match="only greedy"):
        method.open(1)
    reply = method.open(None)
    assert reply([5, 6, 7], 2) == Reply((5, 6), torch.get_num_threads())
    with pytest.raises(LadeChatError, match="too short"):
        reply([5], 2)
    assert method.open(None)([5, 6], 2).ids == (5, 6)
    for _ in range(2):
        with pytest.raises(LadeChatError, match="it crashed: Segmentation fault"):
            reply([], 2)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--engines", "vllm"], "'vllm' is none of llama.cpp, openvino"),
        (["--engines", "llama.cpp", "--gguf", "none.gguf"], "there is no file none.gguf"),
        (["--gguf", "none.gguf"], "it is for --engines"),
        (["--engines", "openvino", "--gguf", "none.gguf"], "it is for --engines llama.cpp"),
    ],
)
def test_bad_input_is_told_in_a_line(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*COMMAND, *arguments]) == 2
    assert words in " ".join(capsys.readouterr().err.replace("│", "").split())
