"""The bundled model's shape: a small Llama."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from transformers import LlamaConfig, LlamaForCausalLM

from assets.recipe.tokenizer import BOS_ID, EOS_ID


@dataclass(frozen=True)
class Shape:
    """The sizes that are free to choose; heads are 32 wide."""

    vocabulary: int = 4096
    hidden: int = 320
    layers: int = 4
    heads: int = 10
    kv_heads: int = 5
    mlp: int = 768


QUICK = Shape(vocabulary=1024, hidden=96, layers=2, heads=3, kv_heads=1, mlp=192)


def build(shape: Shape, vocabulary: int, end_id: int, seed: int) -> LlamaForCausalLM:
    """A fresh model of this shape with seeded weights."""
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=vocabulary, hidden_size=shape.hidden, num_hidden_layers=shape.layers,
        intermediate_size=shape.mlp,
        num_attention_heads=shape.heads, num_key_value_heads=shape.kv_heads, max_position_embeddings=2048,
        tie_word_embeddings=True, bos_token_id=BOS_ID, eos_token_id=[end_id, EOS_ID], pad_token_id=EOS_ID,
    )  # fmt: skip
    return LlamaForCausalLM(config)
