"""Quantised weights: the same text with lookahead on and off, through the library and through the chat."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from pathlib import Path

import pytest
import torch
from torch.nn import functional
from transformers import AutoModelForCausalLM, AutoTokenizer

from decoding import AutoregressiveDecoder, LookaheadConfig, LookaheadDecoder, lookahead_support
from decoding.model.linear_kernels import linear
from lade_chat.paths import bundled_model_path
from tests.checkpoints import edit_json, make_qwen2
from tests.costs import NEARLY_FREE, budgeted
from tests.loads import load, refusal
from tests.models import tokens_of

needs_torchao = pytest.mark.skipif(
    importlib.util.find_spec("torchao") is None, reason="torchao is not installed: pip install '.[quantised]'"
)
QUESTION = "Count from 3 to 30."
LENGTH = 32


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundled model with its weights in eight bits, as `save_pretrained` leaves it."""
    from torchao.quantization import Int8WeightOnlyConfig
    from transformers import TorchAoConfig

    source, target = bundled_model_path(), tmp_path_factory.mktemp("quantised") / "int8"
    config = TorchAoConfig(quant_type=Int8WeightOnlyConfig(version=2))
    model = AutoModelForCausalLM.from_pretrained(source, dtype=torch.float32, quantization_config=config)
    model.save_pretrained(target)
    for name in ("tokenizer.model", "tokenizer_config.json", "chat_template.jinja"):
        shutil.copy(source / name, target)
    return target


def ids_of(folder):
    question = [{"role": "user", "content": QUESTION}]
    tokenizer = AutoTokenizer.from_pretrained(folder)
    return tokenizer.apply_chat_template(question, add_generation_prompt=True, return_dict=False)


@needs_torchao
def test_the_text_is_the_same_on_and_off(folder):
    model, ids = AutoModelForCausalLM.from_pretrained(folder), ids_of(folder)
    weight = model.model.layers[0].mlp.gate_proj.weight
    assert type(weight).__name__ == "Int8Tensor"
    assert weight.qdata.dtype == torch.int8
    assert lookahead_support(model).supported
    expected = tokens_of(AutoregressiveDecoder(model).generate(ids, max_new_tokens=LENGTH))
    for decoder in (LookaheadDecoder(model, LookaheadConfig(7, 5, 7)), budgeted(model, NEARLY_FREE)):
        steps = list(decoder.generate(ids, max_new_tokens=LENGTH))
        assert tokens_of(steps) == expected
        assert len(steps) < 0.75 * LENGTH


@needs_torchao
def test_its_products_are_left_to_the_library_that_quantised_them(folder):
    model = AutoModelForCausalLM.from_pretrained(folder)
    layers = [layer for layer in model.modules() if type(getattr(layer, "weight", None)).__name__ == "Int8Tensor"]
    assert layers
    for layer in layers:
        rows = torch.randn(1, 4, layer.in_features)
        assert torch.equal(linear(rows, layer.weight, layer.bias), functional.linear(rows, layer.weight, layer.bias))


@needs_torchao
def test_weights_quantised_in_place_are_multiplied_as_such(folder):
    from torchao.quantization import Int8WeightOnlyConfig, quantize_

    model, ids = AutoModelForCausalLM.from_pretrained(bundled_model_path(), dtype=torch.float32), ids_of(folder)
    quantize_(model, Int8WeightOnlyConfig(version=2))
    expected = tokens_of(AutoregressiveDecoder(model).generate(ids, max_new_tokens=30))
    assert tokens_of(budgeted(model, NEARLY_FREE).generate(ids, max_new_tokens=30)) == expected


@needs_torchao
def test_the_chat_loads_a_quantised_checkpoint(folder):
    loaded = load(folder)
    assert type(loaded.model.model.layers[0].mlp.gate_proj.weight).__name__ == "Int8Tensor"
    assert loaded.info.lookahead_supported
    assert loaded.info.notices == ()


def test_a_quantised_checkpoint_without_its_library_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = make_qwen2(tmp_path / "qwen2")
    edit_json(folder / "config.json", quantization_config={"quant_method": "compressed-tensors"})
    monkeypatch.setitem(sys.modules, "compressed_tensors", None)
    message = refusal(folder)
    assert "quantised with compressed-tensors" in message
    assert "pip install compressed-tensors" in message
