"""Arguments of the calling `model.generate` that transformers does not pass to a `custom_generate` callable.

`generate` passes the prompt to its streamer, but neither passes the streamer on nor ends it, so that its reader would
wait for ever; and it drops the tokenizer. There is no interface for either, so this module reads them from the frame of
the caller, the only place that does so. It is not needed if `decoding.generate` has got the arguments itself: from a
`custom_generate` folder, or called directly.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Mapping
from typing import Any

from transformers import GenerationMixin, PreTrainedModel

NEEDED = ("streamer", "assistant_model", "synced_gpus")


def arguments_of_caller(model: PreTrainedModel) -> Mapping[str, Any] | None:
    """Return streamer, assistant_model, synced_gpus and tokenizer of the calling `generate` of this model.

    None if no such `generate` is calling.

    Raises:
        RuntimeError: in this version of transformers the caller has no such variables.
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
    # `generate` has removed it from its keywords by now; the decorator around it (`torch.no_grad`) still has it.
    around = frame.f_back.f_locals.get("kwargs") if frame.f_back is not None else None
    tokenizer = around.get("tokenizer") if isinstance(around, Mapping) else None
    return {**{name: found[name] for name in NEEDED}, "tokenizer": tokenizer}
