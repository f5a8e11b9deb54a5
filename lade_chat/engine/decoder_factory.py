"""The decoders that replies and comparisons are given."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from decoding import AutoregressiveDecoder, Decoder, JacobiDecoder, LookaheadConfig, LookaheadDecoder
from decoding.parallel import ParallelLookaheadDecoder, shared_step_cost_of
from lade_chat.engine.comparison.transformers_decoder import TransformersDecoder
from lade_chat.errors import LadeChatError
from lade_chat.loading.model_loader import LoadedModel
from lade_chat.loading.saved_step_cost import step_cost
from lade_chat.presentation.methods import FIXED, GENERATE, JACOBI, LOOKAHEAD, PLAIN, PROMPT_LOOKUP
from lade_chat.protocol.values import MethodSpec, Sizes


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
