"""A model with its own configuration and tokenizer, and random weights."""

from __future__ import annotations

import copy
from dataclasses import replace

import msgspec

from lade_chat.errors import OutOfMemoryError, does_not_fit_message, is_out_of_memory
from lade_chat.loading.model import LoadedModel


def with_random_weights(loaded: LoadedModel, seed: int) -> LoadedModel:
    """Return a model of the same size, device and dtype with random weights, renamed.

    Such a model's text is nearly unpredictable when sampled, and soon repeats itself when greedy. Raises
    OutOfMemoryError if two models do not fit.
    """
    import torch

    model = loaded.model
    try:
        with torch.random.fork_rng():
            torch.manual_seed(seed)
            drawn = type(model)(copy.deepcopy(model.config))
        drawn = drawn.to(device=model.device, dtype=model.dtype).eval()
    except (MemoryError, RuntimeError) as error:
        if not is_out_of_memory(error):
            raise
        raise OutOfMemoryError(does_not_fit_message("A second model with random weights")) from error
    drawn.generation_config = model.generation_config
    info = msgspec.structs.replace(loaded.info, name=f"{loaded.info.name} with random weights")
    return replace(loaded, model=drawn, info=info)
