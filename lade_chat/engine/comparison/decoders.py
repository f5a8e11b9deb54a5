"""The decoder of each method that can race."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from decoding import AutoregressiveDecoder, Decoder, JacobiDecoder
from lade_chat.engine.comparison.transformers_decoder import TransformersDecoder
from lade_chat.engine.reply import lookahead_config, lookahead_decoder
from lade_chat.loading.model import LoadedModel
from lade_chat.presentation.methods import FIXED, GENERATE, JACOBI, LOOKAHEAD, PLAIN, PROMPT_LOOKUP
from lade_chat.protocol.values import MethodSpec


def _lookahead(loaded: LoadedModel, method: MethodSpec) -> Decoder:
    return lookahead_decoder(loaded, lookahead_config(method.sizes))


def _generate(loaded: LoadedModel, method: MethodSpec, **settings: int) -> Decoder:
    return TransformersDecoder(loaded.model, **settings)


DECODERS: dict[str, Callable[[LoadedModel, MethodSpec], Decoder]] = {
    PLAIN: lambda loaded, method: AutoregressiveDecoder(loaded.model),
    LOOKAHEAD: _lookahead,
    FIXED: _lookahead,
    JACOBI: lambda loaded, method: JacobiDecoder(loaded.model),
    GENERATE: _generate,
    **{name: partial(_generate, prompt_lookup_num_tokens=tokens) for name, tokens in PROMPT_LOOKUP.items()},
}
"""By the names of ``lade_chat.presentation.methods``."""
