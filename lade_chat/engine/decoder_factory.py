"""The decoders that replies and comparisons are given, and how they sample: as asked, over the model's own values."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from typing import Any, TypeVar

import msgspec

from decoding import AutoregressiveDecoder, Decoder, JacobiDecoder, LookaheadConfig, LookaheadDecoder, SamplingConfig
from decoding.parallel import ParallelLookaheadDecoder, shared_step_cost_of
from lade_chat.engine.comparison.transformers_decoder import TransformersDecoder
from lade_chat.errors import LadeChatError
from lade_chat.loading.findings_cache import step_cost
from lade_chat.loading.model_loader import LoadedModel
from lade_chat.presentation.methods import FIXED, GENERATE, JACOBI, LOOKAHEAD, PLAIN, PROMPT_LOOKUP
from lade_chat.protocol.commands import Compare, Reply
from lade_chat.protocol.values import MethodSpec, Sampling, Sizes


def lookahead_decoder(loaded: LoadedModel, sizes: Sizes | None, *, apart: bool = False) -> LookaheadDecoder:
    """Return a lookahead decoder, whose steps are shared with the model's other ranks if it has any.

    ``apart``: give it its own copy of the cost of steps, which it updates. Raises LadeChatError for too large a window.
    """
    config, workers = lookahead_config(sizes), loaded.workers
    if workers is None or workers.ranks == 1:
        cost = step_cost(loaded) if apart else None
        return LookaheadDecoder(loaded.model, config, cost=cost and cost.copy())
    shared = shared_step_cost_of(loaded.model, workers, compiled=loaded.info.compiled) if sizes is None else None
    if shared is not None and apart:
        shared = shared.copy()
    return ParallelLookaheadDecoder(loaded.model, workers, config, cost=shared)


def lookahead_config(sizes: Sizes | None) -> LookaheadConfig:
    """The paper's algorithm with the sizes given, or automatic sizes. Raises LadeChatError for too large a window."""
    try:
        return LookaheadConfig.auto() if sizes is None else LookaheadConfig(*msgspec.structs.astuple(sizes))
    except ValueError as error:
        raise LadeChatError(f"The sizes cannot be followed: {error}.") from error


def reply_decoder(loaded: LoadedModel, sizes: Sizes | None, lookahead: bool) -> Decoder:
    """Return the decoder of a reply, with lookahead on or off."""
    return lookahead_decoder(loaded, sizes) if lookahead else AutoregressiveDecoder(loaded.model)


DECODERS: dict[str, Callable[[LoadedModel, MethodSpec], Decoder]] = {
    PLAIN: lambda loaded, method: AutoregressiveDecoder(loaded.model),
    **dict.fromkeys((LOOKAHEAD, FIXED), lambda loaded, method: lookahead_decoder(loaded, method.sizes, apart=True)),
    JACOBI: lambda loaded, method: JacobiDecoder(loaded.model),
    **dict.fromkeys(
        (GENERATE, *PROMPT_LOOKUP),
        lambda loaded, method: TransformersDecoder(
            loaded.model, prompt_lookup_num_tokens=PROMPT_LOOKUP.get(method.name)
        ),
    ),
}
"""Decoders of the methods that can be compared, by their names in ``lade_chat.presentation.methods``."""

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


def in_force(config: SamplingConfig | None) -> Sampling | None:
    """The values in force, to be shown; None for plain greedy decoding."""
    if config is None or (config.is_greedy and config.repetition_penalty == 1):
        return None
    seed = None if config.is_greedy else config.seed
    return Sampling(**{name: getattr(config, name) for name in _VALUES}, seed=seed)
