"""The gate: what a model's configuration and signature say of how it can be decoded, before anything is run."""

from __future__ import annotations

import inspect
import warnings
from dataclasses import dataclass
from typing import Any

import torch
from transformers import PreTrainedModel
from transformers.cache_utils import (
    DummyLayer,
    DynamicCache,
    DynamicIndexedLayer,
    DynamicLayer,
    DynamicSlidingWindowLayer,
)

from decoding.inputs import Reaches, reaches_of

CACHE_LAYERS = (DynamicLayer, DynamicSlidingWindowLayer, DynamicIndexedLayer, DummyLayer)
"""Kinds of a model's own cache layers that are nothing but keys and values, token by token."""
MASKED_ATTENTION = ("eager", "sdpa", "flex_attention")
"""Attention implementations that honour a mask of any shape."""
OWN_WAYS = {
    "cpmant": "it puts tokens of its own before every text",
    "moshi": "what it sees is cut short by its own cache, not by a mask",
}
"""Model types that read right only as `generate` has them read, and why."""
REREADING = ("phi3", "phi4_multimodal", "phimoe")
"""Model types that `generate` has read the whole text anew once it has outgrown their original positions."""
SELECTING = ("index_topk", "keep_window_size")
"""Names by which configurations tell past how many tokens attention picks some of them by a score. Scores may be equal,
and then which are picked depends on where they stand in the cache."""
_SDPA = "load it with sdpa, or call model.set_attn_implementation('sdpa')"


@dataclass(frozen=True)
class Gate:
    """How a model can be run.

    Attributes:
        rewindable: its state is a KV cache, of which any prefix can be kept. If not, it can only read on.
        reaches: the masks that a step over several branches needs; None where it cannot take such a step.
        reason: why not, as the end of a sentence about the model.
        position_limit: positions from here on are never looked ahead into: the model has none, or changes there.
        learnt_positions: how many positions it has embeddings for; None where it computes them.
        one_prefill: a prompt is read in one piece: the rotary embedding depends on the length of a forward, or the
            model reads in both directions.
        reread_after: a longer text than this is read otherwise than a shorter one, from its first token on; None where
            there is no such length.
    """

    rewindable: bool
    reaches: Reaches | None
    reason: str | None
    position_limit: int | None
    learnt_positions: int | None
    one_prefill: bool
    reread_after: int | None = None

    def keepable(self, cached: int, length: int) -> int:
        """How many of the ``cached`` tokens read are still good for a text of this length: all of them or none."""
        switch = self.reread_after
        return cached if switch is None or (cached > switch) == (length > switch) else 0

    def room_after(self, length: int) -> int | None:
        """How many tokens can be emitted after a text of this length; None for any number."""
        # The last token emitted is not read, so that it needs no position.
        return None if self.learnt_positions is None else self.learnt_positions - length + 1


def gate_of(model: PreTrainedModel) -> Gate:
    """Look at a model without running it."""
    config = model.config.get_text_config(decoder=True)
    rope = _rope_of(config)
    by_length = _depends_on_length(rope)
    stateful = _why_not_rewindable(model)
    reaches: Reaches | None = None
    reason = stateful or _why_no_branches(model)
    if reason is None:
        try:
            reaches = reaches_of(model.config)
        except NotImplementedError as error:
            reason = str(error)
    return Gate(
        rewindable=stateful is None,
        reaches=reaches,
        reason=reason,
        position_limit=_position_limit(config, rope if by_length else {}),
        learnt_positions=_learnt_positions(model),
        one_prefill=by_length or _reads_both_ways(model),
        reread_after=_reread_after(model) if by_length else None,
    )


def depends_on_length(model: PreTrainedModel) -> bool:
    """Return whether the model's rotary embedding is another for long texts than for short ones."""
    return _depends_on_length(_rope_of(model.config.get_text_config(decoder=True)))


def vocabulary_size(model: PreTrainedModel) -> int:
    """How many token ids the model has embeddings for."""
    weight = model.get_input_embeddings().weight
    assert isinstance(weight, torch.Tensor)
    return weight.shape[0]


def attention_of(model: PreTrainedModel) -> str:
    """The name of the attention that the model's text part runs with."""
    name: str = model.config.get_text_config(decoder=True)._attn_implementation
    return name


def accepted_arguments(model: PreTrainedModel) -> frozenset[str]:
    """The names of the arguments that the model's forward takes."""
    return frozenset(inspect.signature(model.forward).parameters)


def warn_of_dropout(model: PreTrainedModel) -> None:
    """Warn if the model drops something out at random, so that no two answers are alike."""
    if model.training and any(isinstance(part, torch.nn.Dropout) and part.p > 0 for part in model.modules()):
        warnings.warn(
            "the model is in training mode, and its dropout changes every answer: call model.eval()", stacklevel=4
        )


def _rope_of(config: Any) -> Any:
    return getattr(config, "rope_parameters", None) or getattr(config, "rope_scaling", None) or {}


def _depends_on_length(rope: Any) -> bool:
    return "longrope" in str(rope) or "dynamic" in str(rope)


def _why_not_rewindable(model: PreTrainedModel) -> str | None:
    if getattr(model.config, "is_encoder_decoder", False):
        return "it is an encoder-decoder, not a causal language model"
    if "past_key_values" not in accepted_arguments(model):
        return "it keeps no KV cache, or one of a kind of its own"
    if model.config.model_type in OWN_WAYS:
        return OWN_WAYS[model.config.model_type]
    try:
        layers = DynamicCache(config=model.config).layers
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        return f"its KV cache is of a kind not known here ({type(error).__name__})"
    strange = sorted({type(layer).__name__ for layer in layers if type(layer) not in CACHE_LAYERS})
    if strange:
        return f"its state is recurrent, convolutional or compressed, and cannot be rewound ({', '.join(strange)})"
    return None


def _why_no_branches(model: PreTrainedModel) -> str | None:
    missing = {"position_ids", "attention_mask"} - accepted_arguments(model)
    if missing:
        return f"its forward takes no {' and no '.join(sorted(missing))}"
    attention = attention_of(model)
    if attention not in MASKED_ATTENTION:
        return f"its attention ({attention}) takes no mask over several branches; {_SDPA}"
    if attention == "flex_attention" and model.device.type == "cpu":
        # Tried with torch 2.13: half a minute for every new length, float64 refused, and crashes under a mask.
        return f"its attention ({attention}) is compiled anew for every step on a CPU; {_SDPA}"
    return None


def _learnt_positions(model: PreTrainedModel) -> int | None:
    """The rows of a position embedding (OPT and its kin have two more than they have positions)."""
    limit = getattr(model.config.get_text_config(decoder=True), "max_position_embeddings", None)
    tables = (module for module in model.modules() if isinstance(module, torch.nn.Embedding))
    rows = {table.num_embeddings for table in tables if table is not model.get_input_embeddings()}
    return limit if isinstance(limit, int) and rows & {limit, limit + 2} else None


def _reads_both_ways(model: PreTrainedModel) -> bool:
    """Whether it may be an encoder that was not told to be a decoder, going by what its attention says of itself."""
    if getattr(model.config, "is_decoder", None) is not False:
        return False
    return not any(getattr(module, "is_causal", False) for module in model.modules())


def _reread_after(model: PreTrainedModel) -> int | None:
    """Their `prepare_inputs_for_generation` drops the cache there: it was read with the factors for short texts."""
    if model.config.model_type not in REREADING:
        return None
    limit = getattr(model.config, "original_max_position_embeddings", None)
    return limit if isinstance(limit, int) else None


def _position_limit(config: Any, length_dependent_rope: Any) -> int | None:
    limits = [getattr(config, name, None) for name in ("max_position_embeddings", *SELECTING)]
    limits.append(getattr(config, "original_max_position_embeddings", None) if length_dependent_rope else None)
    if isinstance(length_dependent_rope, dict):
        limits.append(length_dependent_rope.get("original_max_position_embeddings"))
    known = [limit for limit in limits if isinstance(limit, int) and limit > 0]
    return min(known, default=None)
