"""OpenVINO: plain greedy decoding from a prompt's ids, with the KV cache as the model's states."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from openvino import Core

from lade_chat.bench.engines.openvino_model import convert
from lade_chat.bench.engines.server import Answer, Loaded, Wanted
from lade_chat.errors import LadeChatError

PRECISIONS = {"float32": "f32", "bfloat16": "bf16", "float16": "f16"}
"""OpenVINO's names of the dtypes that it computes in."""


def load(wanted: Wanted) -> Loaded:
    """Convert and compile the checkpoint, in the dtype of this package's methods."""
    if wanted.checkpoint is None or wanted.dtype not in PRECISIONS:
        raise LadeChatError(f"only checkpoints are converted, in {', '.join(PRECISIONS)}")
    precision = PRECISIONS[wanted.dtype]
    settings = {
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_NUM_THREADS": wanted.threads,
        "INFERENCE_PRECISION_HINT": precision,
        # By default the cache would be quantised.
        "KV_CACHE_PRECISION": precision,
    }
    model = convert(Path(wanted.checkpoint), wanted.quantize or precision)
    return partial(_answer, Core().compile_model(model, "CPU", settings).create_infer_request(), wanted.eos_token_ids)


def _answer(request: Any, eos_token_ids: Sequence[int], ids: Sequence[int], max_new_tokens: int) -> Answer:
    request.reset_state()
    started = perf_counter()
    tokens: list[int] = []
    seen, new, row = 0, np.array([ids]), np.zeros(1, np.int32)
    while len(tokens) < max_new_tokens and (not tokens or tokens[-1] not in eos_token_ids):
        positions = np.arange(seen, seen + new.shape[1])[None]
        logits = request.infer(
            {"input_ids": new, "position_ids": positions, "beam_idx": row}, share_inputs=True, share_outputs=True
        )[0]
        tokens.append(int(logits[0, -1].argmax()))
        seen, new = seen + new.shape[1], np.array([tokens[-1:]])
    return Answer(tuple(tokens), perf_counter() - started)
