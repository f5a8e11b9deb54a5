"""The axes of the identity grid: ways to decode, ways to choose tokens, and models on which candidates are accepted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import transformers as hf

from decoding import AutoregressiveDecoder, Decoder, JacobiDecoder, LookaheadConfig, LookaheadDecoder, Session
from tests.costs import DEAR, NEARLY_FREE, budgeted
from tests.models import checked_once, config_of, random_prompt, tokens_of

DECODERS: dict[str, Callable[[Any], Decoder]] = {
    "fixed": lambda model: LookaheadDecoder(model, LookaheadConfig(4, 3, 4)),
    "bigrams": lambda model: LookaheadDecoder(model, LookaheadConfig(3, 2, 3)),
    "no window": lambda model: LookaheadDecoder(model, LookaheadConfig(0, 5, 5)),
    "no candidates": lambda model: LookaheadDecoder(model, LookaheadConfig(5, 4, 0)),
    "large": lambda model: LookaheadDecoder(model, LookaheadConfig(15, 5, 15)),
    "automatic": lambda model: budgeted(model, NEARLY_FREE),
    "automatic, dear": lambda model: budgeted(model, DEAR),
    "jacobi": lambda model: JacobiDecoder(model, 7),
}
METHODS: dict[str, Callable[[Any], Decoder]] = {
    "plain": AutoregressiveDecoder,
    "jacobi": JacobiDecoder,
    "lookahead": lambda model: LookaheadDecoder(model, LookaheadConfig(3, 3, 3)),
}
"""One decoder of each kind."""
SETTINGS: dict[str, dict[str, Any]] = {
    "as it is": {},
    "cold": {"temperature": 0.3},
    "hot": {"temperature": 1.5},
    "top-k": {"temperature": 0.8, "top_k": 5},
    "top-p": {"temperature": 1.2, "top_p": 0.8},
    "top-k and top-p": {"temperature": 0.7, "top_k": 6, "top_p": 0.9},
    "min-p": {"min_p": 0.1},
    "typical": {"typical_p": 0.7},
    "epsilon": {"epsilon_cutoff": 0.02},
    "eta": {"eta_cutoff": 0.02},
    "penalty": {"repetition_penalty": 1.3},
    "no trigram twice": {"no_repeat_ngram_size": 3},
    "bad words": {"bad_words_ids": [[4], [5, 6]]},
    "biases": {"logit_bias": {5: 4, 3: -2.0}, "sequence_bias": {(5, 6): 3.0}},
    "suppressed": {"suppress_tokens": [7, 8]},
    "greedy": {"temperature": 0},
    "greedy with a penalty": {"temperature": 0, "repetition_penalty": 1.2, "no_repeat_ngram_size": 3},
    "greedy with bans": {"temperature": 0, "bad_words_ids": [[4], [5, 6]], "sequence_bias": {(5, 7): 3.0}},
}
ALL_AT_ONCE: dict[str, Any] = {
    **SETTINGS["top-k"],
    **SETTINGS["penalty"],
    **SETTINGS["biases"],
    **SETTINGS["suppressed"],
    "top_p": 0.95,
    "no_repeat_ngram_size": 4,
}
FEW = 12
"""Tokens of the models here: so few that what was said before is often drawn again, and candidates are accepted."""
PROMPT = [token % FEW for token in random_prompt(19)]


def with_few_tokens(family: str) -> Any:
    """A float64 model of random weights that knows few tokens, of two layers: full and sliding, where it has both."""
    torch.manual_seed(1)
    config = config_of(family, layers=2)
    config.vocab_size = FEW
    model = hf.AutoModelForCausalLM.from_config(config).eval().double()
    model.generation_config.eos_token_id = None
    return checked_once(model, "few tokens", family)


def said(decoder: Decoder, ids: list[int], session: Session | None = None, count: int = 12) -> list[int]:
    """The decoder's next tokens."""
    return tokens_of(decoder.generate(ids, max_new_tokens=count, session=session))
