"""Sampling of replies: as asked, over the model's own values; and the seed, drawn here if none is given."""

from __future__ import annotations

import secrets
from copy import copy
from dataclasses import replace
from typing import Any, TypeVar

import msgspec

from decoding import SamplingConfig
from lade_chat.errors import LadeChatError
from lade_chat.protocol.commands import Compare, Reply
from lade_chat.protocol.values import Sampling

CommandT = TypeVar("CommandT", Reply, Compare)

_SHAPING = ("temperature", "top_p", "top_k", "min_p", "typical_p")
"""Values that only matter when sampling: any of them switches sampling on over a greedy generation config."""
_VALUES = (*_SHAPING, "repetition_penalty")


def with_seed(command: CommandT) -> CommandT:
    """The command with a seed drawn where sampling has none, so that both sides of a comparison share it."""
    sampling = command.options.sampling
    if sampling is None or sampling.seed is not None:
        return command
    seeded = msgspec.structs.replace(sampling, seed=secrets.randbelow(2**32))
    return msgspec.structs.replace(command, options=msgspec.structs.replace(command.options, sampling=seeded))


def sampling_config(sampling: Sampling | None, model: Any) -> SamplingConfig | None:
    """The decoder's configuration; None for greedy decoding. Raises LadeChatError if a value is out of range.

    ``sampling``: the values requested. ``model``: a transformers model, whose generation config applies if ``sampling``
    says so.
    """
    if sampling is None:
        return None
    given = {name: value for name in _VALUES if (value := getattr(sampling, name)) is not None}
    try:
        base = SamplingConfig(seed=sampling.seed)
        if sampling.from_model and (own := getattr(model, "generation_config", None)) is not None:
            if not given.keys().isdisjoint(_SHAPING):
                own = copy(own)
                own.do_sample = True
            base = SamplingConfig.from_generation_config(own, sampling.seed)
        return replace(base, **given)
    except (NotImplementedError, TypeError, ValueError) as error:
        whose = "The model's generation config" if sampling.from_model else "The sampling"
        raise LadeChatError(f"{whose} cannot be followed: {error}.") from error


def sampling_in_force(config: SamplingConfig | None) -> Sampling | None:
    """The values in force, to be shown; None for plain greedy decoding."""
    if config is None or (config.is_greedy and config.repetition_penalty == 1):
        return None
    seed = None if config.is_greedy else config.seed
    return Sampling(**{name: getattr(config, name) for name in _VALUES}, seed=seed)
