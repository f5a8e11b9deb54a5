"""What is no causal model, or a damaged one, is refused in one line that names what is wrong."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import torch
from checkpoints import (
    edit_json,
    make_bert,
    make_gpt2,
    make_gpt_neox,
    make_llama_tokenizer_model,
    make_pickled,
    make_qwen2,
    make_sharded,
    make_t5,
    make_vit,
    shards,
    truncate,
)
from loads import load, refusal
from safetensors.torch import load_file, save_file


@pytest.mark.parametrize("path", ["./nowhere", "/nowhere/at/all", "~/nowhere", "a/b/c", "..\\nowhere", "not an id!"])
def test_a_path_that_does_not_exist_is_reported(path: str) -> None:
    assert path in refusal(path)


def test_an_empty_path_is_reported() -> None:
    assert "empty" in refusal(" ")


def test_a_file_in_place_of_a_folder_is_reported(tmp_path: Path) -> None:
    folder = make_qwen2(tmp_path / "qwen2")
    assert "folder" in refusal(folder / "config.json")


@pytest.mark.parametrize("name", ["model.safetensors", "tokenizer.json"])
def test_a_git_lfs_pointer_is_told_from_a_broken_file(tmp_path: Path, name: str) -> None:
    folder = make_qwen2(tmp_path / "qwen2")
    (folder / name).write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 123\n")
    assert "Git LFS pointer, and `git lfs pull`" in refusal(folder)


def test_a_tokenizer_of_a_newer_kind_is_no_broken_file(tmp_path: Path) -> None:
    file = make_qwen2(tmp_path / "qwen2") / "tokenizer.json"
    edit_json(file, model={"type": "Future", "vocab": {}})
    assert "upgrade tokenizers" in refusal(file.parent)


def test_a_decoder_whose_configuration_says_it_is_none_is_loaded(tmp_path: Path) -> None:
    loaded = load(make_gpt_neox(tmp_path / "neox"))
    assert loaded.model.config.is_decoder is False
    assert loaded.info.lookahead_supported


def test_an_encoder_that_is_not_told_to_be_a_decoder_is_refused(tmp_path: Path) -> None:
    folder = make_bert(tmp_path / "bert")
    edit_json(folder / "config.json", architectures=["BertLMHeadModel"])
    assert "no causal language model but BertLMHeadModel" in refusal(folder)


@pytest.mark.parametrize(
    ("make", "kind"),
    [(make_bert, "BertForMaskedLM"), (make_t5, "T5ForConditionalGeneration"), (make_vit, "ViTForImageClassification")],
)
def test_an_architecture_that_is_no_causal_lm_is_reported(
    make: Callable[[Path], Path], kind: str, tmp_path: Path
) -> None:
    message = refusal(make(tmp_path / "model"))
    assert "no causal language model" in message
    assert kind in message


def remove(*names: str) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        for name in names:
            (folder / name).unlink()

    return damage


def cut(name: str, keep: float = 0.5) -> Callable[[Path], None]:
    return lambda folder: truncate(folder / name, keep)


def write(name: str, content: bytes) -> Callable[[Path], None]:
    def damage(folder: Path) -> None:
        (folder / name).write_bytes(content)

    return damage


def configure(**changes: Any) -> Callable[[Path], None]:
    return lambda folder: edit_json(folder / "config.json", **changes)


def settle(**changes: Any) -> Callable[[Path], None]:
    return lambda folder: edit_json(folder / "generation_config.json", **changes)


def unlimited_window(folder: Path) -> None:
    config = folder / "config.json"
    layers = ["sliding_attention", "full_attention"]
    declared = {**json.loads(config.read_text()), "use_sliding_window": True, "layer_types": layers}
    config.write_text(json.dumps({**declared, "sliding_window": None}))


def lose_tensor(folder: Path) -> None:
    weights = load_file(folder / "model.safetensors")
    del weights["model.norm.weight"]
    save_file(weights, folder / "model.safetensors", {"format": "pt"})


def lose_shard(folder: Path) -> None:
    shards(folder)[1].unlink()


def cut_shard(folder: Path) -> None:
    truncate(shards(folder)[1])


INDEX = "model.safetensors.index.json"

SHARD = "model-00002-of-"

NO_ROTATION = {"rope_type": "default", "rope_theta": 0}

PART_ROTATION = {"rope_type": "linear", "factor": 2.0, "rope_theta": 1e4, "partial_rotary_factor": 0.5}

SLIDING = {"layer_types": ["sliding_attention"] * 2, "use_sliding_window": True}

DAMAGES: dict[str, tuple[Callable[[Path], Path], Callable[[Path], None], str]] = {
    "no configuration": (make_qwen2, remove("config.json"), "config.json"),
    "configuration cut short": (make_qwen2, cut("config.json"), "config.json"),
    "configuration of another kind": (make_qwen2, write("config.json", b"[1]"), "config.json"),
    "configuration in no encoding": (make_qwen2, write("config.json", b"\xff\xfe{"), "config.json"),
    "configuration with a wrong value": (make_qwen2, configure(hidden_size="wide"), "config.json"),
    "a negative number of layers": (make_gpt2, configure(n_layer=-1), "num_hidden_layers=-1"),
    "no layers": (make_qwen2, configure(num_hidden_layers=0, layer_types=None), "num_hidden_layers=0"),
    "a billion layers": (
        make_qwen2,
        configure(num_hidden_layers=10**9, layer_types=None),
        "num_hidden_layers=1000000000",
    ),
    "a billion hidden units": (make_gpt2, configure(n_embd=10**9), "hidden_size=1000000000, which must be at most"),
    "hidden units beyond the weights": (make_gpt2, configure(n_embd=999_999), "hidden_size=999999, which must be less"),
    "layers beyond the weights": (
        make_qwen2,
        configure(num_hidden_layers=9_999, layer_types=None),
        "num_hidden_layers=9999, which must be less for weights of",
    ),
    "a vocabulary beyond the weights": (make_qwen2, configure(vocab_size=99_000_000), "vocab_size=99000000"),
    "a projection beyond the weights": (make_qwen2, configure(intermediate_size=10**8), "intermediate_size=100000000"),
    "no heads": (make_qwen2, configure(num_attention_heads=0), "num_attention_heads=0, which must be at least 1"),
    "padding beyond the vocabulary": (
        make_qwen2,
        configure(pad_token_id=99_999),
        "pad_token_id=99999, which must be below",
    ),
    "rotations of an unknown kind": (
        make_qwen2,
        configure(rope_parameters={"rope_type": "spiral", "rope_theta": 1e4}),
        "rope_type='spiral'",
    ),
    "no positions": (make_gpt2, configure(n_positions=0), "max_position_embeddings=0, which must be at least 1"),
    "rotations by nothing": (make_qwen2, configure(rope_parameters=NO_ROTATION), "rope_theta=0, which must be above 0"),
    "a rotation of a part that the model has not": (
        make_qwen2,
        configure(rope_parameters=PART_ROTATION),
        "partial_rotary_factor=0.5 with rope_type='linear'",
    ),
    "a sliding window of no size": (make_qwen2, unlimited_window, "sliding_window=null, which must be a number"),
    "a sliding window of nothing": (make_qwen2, configure(**SLIDING, sliding_window=0), "sliding_window=0"),
    "a list of model types": (make_qwen2, configure(model_type=["qwen2"]), "model_type=['qwen2']"),
    "a number of architectures": (make_qwen2, configure(architectures=5), "architectures=5, which must be a list"),
    "an architecture without a list": (make_qwen2, configure(architectures="Qwen2"), "architectures='Qwen2'"),
    "architectures of lists": (make_qwen2, configure(architectures=[[1]]), "architectures=[[1]]"),
    "a number of code": (make_qwen2, configure(auto_map={"AutoModelForCausalLM": 5}), "auto_map="),
    "a number as text's configuration": (make_qwen2, configure(text_config=5), "text_config=5"),
    "a quantisation of no kind": (make_qwen2, configure(quantization_config="x"), "quantization_config='x'"),
    "a list of quantisations": (make_qwen2, configure(quantization_config={"quant_method": [1]}), "quant_method=[1]"),
    "an end of text in words": (make_qwen2, settle(eos_token_id="end"), "eos_token_id='end'"),
    "ends of text in lists": (make_qwen2, settle(eos_token_id=[[1]]), "eos_token_id=[[1]]"),
    "padding in words": (make_qwen2, settle(pad_token_id="none"), "pad_token_id='none'"),
    "an unknown activation": (make_qwen2, configure(hidden_act="nosuch"), "hidden_act='nosuch'"),
    "no model type": (make_qwen2, configure(model_type=None), "model_type"),
    "an unknown model type": (make_qwen2, configure(model_type="unheard_of"), "'unheard_of'"),
    "a headless model": (make_qwen2, configure(architectures=["Qwen2Model"]), "Qwen2Model"),
    "weights cut short": (make_qwen2, cut("model.safetensors"), "model.safetensors"),
    "weights cut by a little": (make_qwen2, cut("model.safetensors", 0.999), "model.safetensors"),
    "empty weights": (make_qwen2, cut("model.safetensors", 0), "model.safetensors"),
    "weights of garbage": (make_qwen2, write("model.safetensors", b"\x05" * 999), "model.safetensors"),
    "no weights": (make_qwen2, remove("model.safetensors"), "model.safetensors"),
    "a missing shard": (make_sharded, lose_shard, SHARD),
    "a shard cut short": (make_sharded, cut_shard, SHARD),
    "an index cut short": (make_sharded, cut(INDEX), INDEX),
    "an index of nothing": (make_sharded, write(INDEX, b"{}"), INDEX),
    "an index of no names": (make_sharded, write(INDEX, b'{"weight_map": {"a": ["b"], "c": 1}}'), INDEX),
    "an index without metadata": (
        make_sharded,
        lambda folder: edit_json(folder / INDEX, metadata=None),
        f'{INDEX} lacks the "metadata"',
    ),
    "fewer weights than layers": (make_qwen2, configure(num_hidden_layers=3, layer_types=None), "model.layers.2"),
    "weights of other shapes": (make_qwen2, configure(hidden_size=64), "of another shape"),
    "a tensor less": (make_qwen2, lose_tensor, "do not fit its config.json: 1 tensor (model.norm.weight) missing."),
    "no tokenizer": (make_llama_tokenizer_model, remove("tokenizer.model"), "tokenizer"),
    "a tokenizer of nothing but settings": (make_qwen2, remove("tokenizer.json"), "tokenizer.json"),
    "a tokenizer cut short": (make_qwen2, cut("tokenizer.json"), "tokenizer.json"),
    "a sentencepiece model cut short": (make_llama_tokenizer_model, cut("tokenizer.model"), "tokenizer.model"),
    "tokenizer settings cut short": (make_qwen2, cut("tokenizer_config.json"), "tokenizer_config.json"),
    "generation settings cut short": (make_qwen2, cut("generation_config.json"), "generation_config.json"),
    "pickled weights": (make_pickled, lambda _folder: None, "--allow-pickle"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_checkpoint_is_reported_in_one_line_that_names_the_offender(
    damage: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    make, inflict, offender = DAMAGES[damage]
    folder = make(tmp_path / "model")
    inflict(folder)
    capfd.readouterr()
    message = refusal(folder)
    assert capfd.readouterr() == ("", "")
    assert str(folder) in message
    assert offender in message


def test_pickled_weights_cut_short_are_reported(tmp_path: Path) -> None:
    folder = make_pickled(tmp_path / "pickled")
    truncate(folder / "pytorch_model.bin")
    assert "pytorch_model.bin" in refusal(folder, allow_pickle=True)


def test_a_pickle_that_would_run_code_does_not(tmp_path: Path) -> None:
    folder = make_pickled(tmp_path / "pickled")
    torch.save({"model.norm.weight": _Trap(tmp_path / "sprung")}, folder / "pytorch_model.bin")
    assert "pytorch_model.bin" in refusal(folder, allow_pickle=True)
    assert not (tmp_path / "sprung").exists()


class _Trap:
    def __init__(self, file: Path) -> None:
        self.file = file

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.file,)


@pytest.mark.skipif(any(map(find_spec, ("optimum", "gptqmodel"))), reason="it is the lack of them that is told")
@pytest.mark.parametrize(
    ("method", "packages"),
    [("gptq", ("optimum", "gptqmodel")), ("awq", ("gptqmodel",)), ("quanto", ("optimum-quanto",))],
)
def test_the_packages_for_a_quantised_checkpoint_are_those_that_transformers_wants(
    method: str, packages: tuple[str, ...], tmp_path: Path
) -> None:
    folder = make_qwen2(tmp_path / "quantised")
    edit_json(folder / "config.json", quantization_config={"quant_method": method, "bits": 4})
    advice = refusal(folder).rpartition("pip install ")[2].split()
    assert set(packages) <= set(advice) <= {*packages, "accelerate"}
