"""Any causal LM loads, with the ids and weights it was trained with."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import transformers
from checkpoints import (
    edit_json,
    every_causal,
    make_llama_tokenizer_model,
    make_pickled,
    make_qwen2,
    make_sharded,
    sentencepiece_model,
)
from loads import load, load_with_reports, refusal
from sentencepiece import SentencePieceProcessor
from tokenizers import Tokenizer

from lade_chat.errors import ModelError
from lade_chat.loading.model_loader import LoadedModel
from lade_chat.paths import bundled_model_path
from tests.running import python

SAMPLES = ("Ada counts apples.", " a space", "  two\n\ttabs", "déjà vu 你好 🙂", "x  y ", "a\n\n    b")


def encode(loaded: LoadedModel, text: str) -> list[int]:
    return list(loaded.tokenizer(text, add_special_tokens=False)["input_ids"])


@pytest.mark.parametrize(("kind", "make"), list(every_causal()))
def test_a_causal_model_loads_quietly(
    kind: str, make: Callable[[Path], Path], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = make(tmp_path / kind)
    capfd.readouterr()
    loaded, reports = load_with_reports(folder)
    assert capfd.readouterr() == ("", "")
    info = loaded.info
    assert (info.name, info.device, info.dtype) == (kind, "cpu", "float32")
    assert info.parameters == sum(parameter.numel() for parameter in loaded.model.parameters())
    assert not loaded.model.training
    recurrent_or_alibi = kind in ("mamba", "bloom")
    assert info.lookahead_supported is not recurrent_or_alibi
    assert any("Lookahead is off" in notice for notice in info.notices) is recurrent_or_alibi
    assert any("no chat template" in notice for notice in info.notices) is (kind in ("llama", "gpt2", "bloom"))

    stages = list(dict.fromkeys(stage for stage, *_ in reports))
    assert stages == ["configuration", "tokenizer", "weights", "probe"]
    bar = [(done, total) for stage, done, total in reports if stage == "weights"]
    assert bar[0][0] == 0
    assert bar[-1][0] == bar[-1][1] > 10
    assert bar == sorted(bar)


@pytest.mark.parametrize("make", [make_qwen2, make_sharded])
def test_the_weights_are_the_checkpoints(make: Callable[[Path], Path], tmp_path: Path) -> None:
    folder = make(tmp_path / "model")
    ids = torch.tensor([[5, 6, 7, 8]])
    expected = transformers.AutoModelForCausalLM.from_pretrained(folder)(ids).logits
    assert torch.equal(load(folder).model(ids).logits, expected)


def test_a_lone_tokenizer_model_gives_sentencepieces_ids_behind_a_bos(tmp_path: Path) -> None:
    loaded = load(make_llama_tokenizer_model(tmp_path / "llama"))
    pieces = SentencePieceProcessor(model_proto=sentencepiece_model())
    for text in SAMPLES:
        assert encode(loaded, text) == pieces.encode(text)
        assert loaded.tokenizer(text)["input_ids"] == [pieces.bos_id(), *pieces.encode(text)]


def test_a_tokenizer_model_with_a_configuration_obeys_it(tmp_path: Path) -> None:
    folder = make_llama_tokenizer_model(tmp_path / "llama")
    pieces = SentencePieceProcessor(model_proto=sentencepiece_model()).encode("Ada counts")
    for add_bos_token, ids in ((False, pieces), (True, [1, *pieces]), (None, [1, *pieces])):
        (folder / "tokenizer_config.json").write_text("{}")
        changes = {"tokenizer_class": "LlamaTokenizer", "add_bos_token": add_bos_token}
        edit_json(folder / "tokenizer_config.json", chat_template="{{ messages }}", **changes)
        tokenizer = load(folder).tokenizer
        assert tokenizer("Ada counts")["input_ids"] == ids
        assert tokenizer.chat_template == "{{ messages }}"


def test_tokenizer_json_gives_its_own_ids_whatever_class_goes_with_the_model(tmp_path: Path) -> None:
    """transformers' Qwen2 class splits text in Qwen's way, whatever the file says."""
    folder = make_qwen2(tmp_path / "qwen2")
    file = Tokenizer.from_file(str(folder / "tokenizer.json"))
    loaded = load(folder)
    for text in SAMPLES:
        assert encode(loaded, text) == file.encode(text, add_special_tokens=False).ids


def test_a_long_text_prints_no_warning(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    folder = make_qwen2(tmp_path / "qwen2")
    edit_json(folder / "tokenizer_config.json", model_max_length=8)
    loaded = load(folder)
    capfd.readouterr()
    assert len(encode(loaded, "Ada counts apples. " * 20)) > 8
    assert capfd.readouterr() == ("", "")


def test_eos_is_the_union_of_all_who_name_one(tmp_path: Path) -> None:
    folder = make_qwen2(tmp_path / "qwen2")
    edit_json(folder / "generation_config.json", eos_token_id=[7, 0])
    loaded = load(folder)
    end_of_turn = loaded.tokenizer.convert_tokens_to_ids("<|im_end|>")
    assert set(loaded.eos_token_ids) == {7, 0, end_of_turn}
    assert load(make_llama_tokenizer_model(tmp_path / "llama")).eos_token_ids == (2,)


def test_a_template_that_leaves_the_reply_out_names_no_end_of_turn(tmp_path: Path) -> None:
    folder = make_qwen2(tmp_path / "qwen2", chat_template="<|im_start|>{{ messages[0]['content'] }}")
    assert load(folder).eos_token_ids == (0,)


def test_a_broken_chat_template_gives_way_to_plain_roles(tmp_path: Path) -> None:
    folder = make_qwen2(tmp_path / "qwen2")
    (folder / "chat_template.jinja").write_text("{% for %}")
    loaded = load(folder)
    assert loaded.tokenizer.chat_template is None
    assert any("template is broken" in notice for notice in loaded.info.notices)


def test_flash_attention_gives_way_to_sdpa_with_a_notice(tmp_path: Path) -> None:
    folder = make_qwen2(tmp_path / "qwen2")
    edit_json(folder / "config.json", attn_implementation="flash_attention_2")
    loaded = load(folder)
    assert loaded.model.config._attn_implementation == "sdpa"
    assert any("flash_attention_2" in notice for notice in loaded.info.notices)


def test_a_model_without_sdpa_runs_eager(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = make_qwen2(tmp_path / "qwen2")
    monkeypatch.setattr(transformers.Qwen2ForCausalLM, "_supports_sdpa", False)
    assert load(folder).model.config._attn_implementation == "eager"


def test_the_context_window_is_the_configurations(tmp_path: Path) -> None:
    folder = make_qwen2(tmp_path / "qwen2")
    assert load(folder).info.context_window == 256
    edit_json(folder / "config.json", max_position_embeddings=None)
    assert load(folder).info.context_window >= 2048


def test_pickled_weights_load_with_leave(tmp_path: Path) -> None:
    folder = make_pickled(tmp_path / "pickled")
    expected = load(make_qwen2(tmp_path / "qwen2")).model.state_dict()
    actual = load(folder, allow_pickle=True).model.state_dict()
    assert all(torch.equal(actual[name], expected[name]) for name in expected)


def test_custom_code_runs_with_leave_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transformers.dynamic_module_utils, "HF_MODULES_CACHE", str(tmp_path / "modules"))
    monkeypatch.setattr(sys, "path", list(sys.path))
    folder = make_custom_code(tmp_path / "custom")
    assert "--trust-remote-code" in refusal(folder)
    assert type(load(folder, trust_remote_code=True).model).__name__ == "OwnForCausalLM"


def test_the_bundled_model_is_the_default() -> None:
    try:
        folder = bundled_model_path()
    except ModelError as missing:
        pytest.skip(str(missing))
    assert (folder / "config.json").is_file()
    loaded = load(None)
    assert loaded.info.name.startswith("bundled-")
    assert loaded.info.lookahead_supported
    assert loaded.info.notices == ()


def test_the_files_of_all_model_types_are_read_once() -> None:
    code = """
import sys, transformers
from lade_chat.loading.checkpoint_config import import_model_types
opened = []
sys.addaudithook(lambda event, args: event == "open" and opened.append(str(args[0])))
import_model_types()
assert len(opened) < 100, len(opened)
assert transformers.LlamaConfig().model_type == "llama"
"""
    ended = python(code)
    assert ended.returncode == 0, ended.stderr


def test_without_kernels_the_reason_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lade_chat.loading.findings_cache.native_support", lambda *_: False)
    assert load(None).info.notices == ()
    monkeypatch.setattr("decoding.native.kernels.native_kernels", lambda: None)
    monkeypatch.setenv("CC", "none-such")
    (notice,) = load(None).info.notices
    assert notice.startswith("Steps run in PyTorch")
    assert notice.endswith("CC names none-such, which is not here: install GCC or Clang, or pip install ziglang.")
    failing = tmp_path / "gcc"
    failing.write_text("#!/bin/sh\necho 'kernels.c:1: fatal error: math.h: No such file' >&2\nexit 1\n")
    failing.chmod(0o755)
    monkeypatch.setenv("CC", str(failing))
    (notice,) = load(None).info.notices
    assert notice.endswith(f"{failing} fails: kernels.c:1: fatal error: math.h: No such file.")
    (tmp_path / "cache").write_text("a file")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (notice,) = load(None).info.notices
    assert str(tmp_path / "cache") in notice
    monkeypatch.setenv("DECODING_NATIVE", "0")
    assert load(None).info.notices == ()


def make_custom_code(folder: Path) -> Path:
    """A model type that transformers does not know, and the code for it."""
    make_qwen2(folder)
    (folder / "own.py").write_text(
        "from transformers import Qwen2Config, Qwen2ForCausalLM\n"
        "class OwnConfig(Qwen2Config):\n    model_type = 'own'\n"
        "class OwnForCausalLM(Qwen2ForCausalLM):\n    config_class = OwnConfig\n"
    )
    auto_map = {"AutoConfig": "own.OwnConfig", "AutoModelForCausalLM": "own.OwnForCausalLM"}
    edit_json(folder / "config.json", model_type="own", architectures=["OwnForCausalLM"], auto_map=auto_map)
    return folder


def test_what_was_silenced_speaks_again_afterwards(tmp_path: Path) -> None:
    names = ("transformers", "huggingface_hub")
    levels = [logging.getLogger(name).level for name in names]
    load(make_qwen2(tmp_path / "qwen2"))
    refusal(tmp_path)
    assert [logging.getLogger(name).level for name in names] == levels
    assert transformers.utils.logging.set_tqdm_hook(None) is None


def test_a_tokenizers_limit_that_is_no_number_is_not_used(tmp_path: Path) -> None:
    folder = make_qwen2(tmp_path / "qwen2")
    edit_json(folder / "tokenizer_config.json", model_max_length="far")
    assert load(folder).tokenizer("text").input_ids


def test_a_model_that_would_return_tuples_is_loaded(tmp_path: Path) -> None:
    folder = make_qwen2(tmp_path / "qwen2")
    edit_json(folder / "config.json", return_dict=False)
    assert load(folder).info.lookahead_supported


def test_superfluous_weights_are_only_a_notice(tmp_path: Path) -> None:
    folder = make_qwen2(tmp_path / "qwen2")
    edit_json(folder / "config.json", num_hidden_layers=1, layer_types=None)
    assert any("model.layers.1" in notice for notice in load(folder).info.notices)
