"""Arguments of the `model.generate` that is calling, of which transformers hands a callable only some.

`generate` keeps its streamer to itself: it has given it the prompt and will never end it, so whoever reads from it
would wait for ever. The tokenizer it drops on its way. There is no interface for either, so they are looked up in the
frame of the `generate` that is calling. Nothing of this is needed where `decoding.generate` has been given the
arguments itself: from a `custom_generate` folder, or called directly.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping
from typing import Any

from transformers import GenerationMixin, PreTrainedModel

NEEDED = ("streamer", "assistant_model", "synced_gpus")


def arguments_of_caller(model: PreTrainedModel) -> Mapping[str, Any] | None:
    """Return streamer, assistant_model, synced_gpus and tokenizer of the `generate` of this model that is calling.

    None where no such `generate` is calling.

    Raises:
        RuntimeError: this version of transformers has them elsewhere.
    """
    code = inspect.unwrap(GenerationMixin.generate).__code__
    frame = sys._getframe(1)
    while frame is not None and not (frame.f_code is code and frame.f_locals.get("self") is model):
        if frame.f_back is None:
            return None
        frame = frame.f_back
    found = frame.f_locals
    if not all(name in found for name in NEEDED):
        raise RuntimeError(
            "this version of transformers does not show its streamer: call decoding.generate(model, **inputs, …) with"
            " the arguments of model.generate instead"
        )
    # `generate` itself has taken it out of its keywords by now; the decorator around it (`torch.no_grad`) still has it.
    around = frame.f_back.f_locals.get("kwargs") if frame.f_back is not None else None
    tokenizer = around.get("tokenizer") if isinstance(around, Mapping) else None
    return {**{name: found[name] for name in NEEDED}, "tokenizer": tokenizer}
