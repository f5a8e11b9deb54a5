"""Grown models: a larger shape on disk, the same logits."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from checkpoints import make_gpt2, make_llama_tokenizer_model, make_qwen2
from transformers import AutoConfig, AutoModelForCausalLM, set_seed

from assets.recipe.__main__ import app as recipe
from lade_chat.bench.grown.checkpoint import CARD, grow, grown
from lade_chat.bench.grown.shapes import SHAPES, Shape, fitted, shape_named, shape_of
from lade_chat.errors import LadeChatError
from lade_chat.loading.tokenization import load_tokenizer

TINY = Shape("llama", 32, 2, 4, 2, 8, 64, 500, 256)


def logits(folder: Path, ids: torch.Tensor) -> torch.Tensor:
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
    with torch.inference_mode():
        return model(ids).logits


def tokenizer(folder: Path) -> Any:
    return load_tokenizer(folder, AutoConfig.from_pretrained(folder), trust_remote_code=False)


@pytest.mark.parametrize(
    "shape",
    [
        Shape("qwen2", 56, 3, 14, 2, 16, 100, 600, 512),
        Shape("llama", 48, 4, 8, 8, 16, 64, 520, 256),
        Shape("llama", 40, 2, 4, 2, 8, 64, 600, 256),
    ],
)
@pytest.mark.parametrize("make", [make_llama_tokenizer_model, make_qwen2])
@pytest.mark.parametrize("tied", [True, False])
def test_a_grown_model_computes_the_same_logits(
    make: Callable[[Path], Path], shape: Shape, tied: bool, tmp_path: Path
) -> None:
    set_seed(0)
    source = make(tmp_path / "tiny")
    config = AutoConfig.from_pretrained(source)
    config.tie_word_embeddings = tied
    model = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
    for weight in model.parameters():
        # Fresh biases are zero and norms one, which would hide a wrong place.
        torch.nn.init.normal_(weight, std=0.3) if weight.dim() == 1 else weight.data.mul_(8)
    model.save_pretrained(source)
    known = model.config.vocab_size
    shape = fitted(shape, shape_of(model.config))[0]
    grow(source, shape, tmp_path / "grown", "float32")
    ids = torch.randint(known, (1, 40))
    before, after = logits(source, ids), logits(tmp_path / "grown", ids)
    assert after.shape[-1] == max(shape.vocabulary, known)
    assert float((after[..., :known] - before).abs().max()) < 2e-5 * max(1.0, float(before.abs().max()))
    assert bool((after[..., known:] < before.min() - 50).all())
    text = "Ada counts  apples.\n"
    assert tokenizer(tmp_path / "grown").encode(text) == tokenizer(source).encode(text)
    assert shape_of(AutoModelForCausalLM.from_pretrained(tmp_path / "grown").config) == shape


def test_kv_heads_that_do_not_fit_are_added_and_told() -> None:
    bundled = Shape("llama", 320, 4, 10, 5, 32, 768, 4096, 2048)
    shape, note = fitted(SHAPES["qwen2.5-0.5b"], bundled)
    assert shape.kv_heads == 7
    assert note == "7 KV heads in place of 2, to hold the source's"
    assert fitted(SHAPES["llama-3.2-1b"], bundled) == (SHAPES["llama-3.2-1b"], None)


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        (Shape("llama", 16, 2, 4, 2, 8, 64, 500, 256), "hidden 32 is more than 16"),
        (Shape("llama", 64, 2, 4, 2, 12, 64, 500, 256), "Heads of 8 do not fit"),
        (Shape("llama", 32, 2, 4, 2, 8, 64, 600, 256), "larger hidden size too"),
        (Shape("llama", 66, 2, 4, 2, 8, 64, 600, 256), "no multiple of 4 heads"),
        (Shape("llama", 65, 2, 5, 1, 8, 64, 500, 256), None),
    ],
)
def test_sizes_that_cannot_hold_the_source_are_refused(shape: Shape, words: str | None) -> None:
    if words is None:
        assert fitted(shape, TINY)[0].kv_heads == 5
    else:
        with pytest.raises(LadeChatError, match=words):
            fitted(shape, TINY)


def test_the_recipe_grows_and_refuses_in_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, target = make_qwen2(tmp_path / "tiny"), tmp_path / "larger"
    command = ["grow", "--from", str(source), "--to", str(target), "--hidden", "48", "--layers", "3"]
    recipe(command, standalone_mode=False)
    assert "3 layers, 48 wide" in capsys.readouterr().out
    assert "Grown from tiny: 3 layers" in (target / CARD).read_text()
    for more, words in (
        ([], "exists already"),
        (["--to", str(tmp_path / "b"), "--like", "gpt-5"], "no shape 'gpt-5'"),
        (["--to", str(tmp_path / "b"), "--dtype", "int3"], "not 'int3'"),
        (["--to", str(tmp_path / "b"), "--from", str(make_gpt2(tmp_path / "gpt2"))], "Only Llama- and Qwen2-like"),
        (["--to", str(tmp_path / "b"), "--from", str(tmp_path / "none")], "none"),
    ):
        with pytest.raises(SystemExit, match=words):
            recipe([*command, *more], standalone_mode=False)


def test_the_cache_folder_keeps_a_grown_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setitem(SHAPES, "small", Shape("qwen2", 40, 3, 4, 2, 8, 64, 600, 256))
    source = make_qwen2(tmp_path / "tiny")
    folder, words = grown(source, "small", "bfloat16")
    assert folder.name == "tiny-grown-to-small"
    assert "3 layers, 40 wide" in words
    stamp = (folder / CARD).stat().st_mtime_ns
    assert grown(source, "Small ", "bfloat16")[0] == folder
    assert (folder / CARD).stat().st_mtime_ns == stamp
    assert grown(source, "small", "float32")[0] != folder
    with pytest.raises(LadeChatError, match="no shape 'large'"):
        shape_named("large")
