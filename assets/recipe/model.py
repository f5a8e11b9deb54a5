"""The bundled model: a small Llama's shape, its weights built afresh, and the folder that ships."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

import torch
from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM

from assets.recipe import tokenizer
from assets.recipe.conversation import thinned
from assets.recipe.tokenizer import BOS_ID, EOS_ID, ChatTokenizer

LOG, TRAINING = "log.jsonl", "training.json"
_POINTS = 60


@dataclass(frozen=True)
class Shape:
    """The sizes that are free to choose; heads are 32 wide."""

    vocabulary: int = 4096
    hidden: int = 320
    layers: int = 8
    heads: int = 10
    kv_heads: int = 5
    mlp: int = 768


@dataclass
class State:
    """The progress of a run: steps, seconds, tokens read and learnt from, next conversation, loss."""

    step: int = 0
    seconds: float = 0.0
    tokens: int = 0
    learnt: int = 0
    next_index: int = 0
    loss: float = float("nan")


class Point(NamedTuple):
    """The loss (nats per token, a running mean) by the step after which so many tokens were read."""

    step: int
    tokens: int
    loss: float


QUICK = Shape(vocabulary=1024, hidden=96, layers=2, heads=3, kv_heads=1, mlp=192)


def build(shape: Shape, vocabulary: int, end_id: int, seed: int) -> LlamaForCausalLM:
    """A fresh model of this shape with seeded weights."""
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=vocabulary, hidden_size=shape.hidden, num_hidden_layers=shape.layers, intermediate_size=shape.mlp,
        num_attention_heads=shape.heads, num_key_value_heads=shape.kv_heads, max_position_embeddings=2048,
        tie_word_embeddings=True, bos_token_id=BOS_ID, eos_token_id=[end_id, EOS_ID], pad_token_id=EOS_ID,
    )  # fmt: skip
    return LlamaForCausalLM(config)


def export(model: LlamaForCausalLM, state: State, work: Path, out: Path) -> None:
    """Write the model, with tokenizer and log from `work`, as a Hugging Face folder, file by file in one move each.

    Weights are stored in bfloat16, in which they lose nothing that training could see, but the configuration
    says float32, so that they load for float32 arithmetic: on a CPU that is faster for so small a model. How the
    training went, its loss curve thinned, is kept beside them.
    """
    model.generation_config = GenerationConfig(
        bos_token_id=BOS_ID, eos_token_id=[ChatTokenizer(work).end_id, EOS_ID], pad_token_id=EOS_ID, do_sample=False
    )
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent) as scratch:
        folder = Path(scratch)
        model.bfloat16().save_pretrained(folder)
        configuration = json.loads((folder / "config.json").read_text(encoding="utf-8")) | {"dtype": "float32"}
        (folder / "config.json").write_text(json.dumps(configuration, indent=2) + "\n", encoding="utf-8")
        shutil.copy(work / "tokenizer.model", folder)
        tokenizer.write_configuration(folder)
        points = read_curve(work / LOG, Point(state.step, state.tokens, state.loss))
        told = asdict(state) | {"curve": [(step, tokens, round(loss, 4)) for step, tokens, loss in points]}
        (folder / TRAINING).write_text(json.dumps(told) + "\n", encoding="utf-8")
        for file in sorted(folder.iterdir()):
            file.chmod(0o644)
            os.replace(file, out / file.name)


def read_curve(log: Path, last: Point) -> list[Point]:
    """The log's points up to the last one, thinned; where training went back and on again, what it did last."""
    points: list[Point] = []
    for entry in map(json.loads, log.read_text(encoding="utf-8").splitlines() if log.exists() else []):
        point = Point(entry["step"], entry["tokens"], entry["loss"])
        points = [before for before in points if before.step < point.step] + [point]
    return thinned([*(point for point in points if point.step < last.step), last], _POINTS)
