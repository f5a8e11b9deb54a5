"""Fingerprint of a model and its tokenizer, by which replies of the very same model are recognised."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import torch

SAMPLES = 16
"""Values of each weight that are looked at."""
VOCABULARY_STRIDE = 16


def fingerprint(model: Any, tokenizer: Any) -> str:
    """Return 32 hexadecimal digits that are the same wherever and in whichever dtype the model was loaded.

    A few values of every weight stand for all, since training changes all, and some tokens for the vocabulary. Values
    are rounded to bfloat16, the coarsest of the usual dtypes. Split or packed weights count by name and shape.
    """
    digest = hashlib.sha256()
    for name, weight in sorted(model.named_parameters()):
        digest.update(f"{name} {tuple(weight.shape)}\n".encode())
        digest.update(_sample(weight))
    vocabulary = len(tokenizer)
    some = tokenizer.convert_ids_to_tokens(list(range(0, vocabulary, VOCABULARY_STRIDE)))
    digest.update(json.dumps([vocabulary, some]).encode())
    return digest.hexdigest()[:32]


@torch.inference_mode()
def _sample(weight: torch.Tensor) -> bytes:
    if hasattr(weight, "to_local"):
        return b""  # indexing a split weight would wait for the other ranks
    try:
        flat = weight.detach().reshape(-1)
        places = torch.linspace(0, max(flat.numel() - 1, 0), SAMPLES, dtype=torch.float64).long()
        return bytes(flat[places.to(flat.device)].to("cpu", torch.bfloat16).view(torch.uint8).numpy())
    except (NotImplementedError, RuntimeError, TypeError):
        return b""
