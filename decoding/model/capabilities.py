"""The capabilities: what a model's configuration and signature say of how it can be decoded, before anything is run."""

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

from decoding.model.inputs import AttentionPatterns, attention_patterns_of
from decoding.model.rotary import LengthDependence, length_dependence_of
from decoding.model.transformers_private import attention_implementation

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
MIXING = {"doge": "is_moe"}
"""Model types whose experts' routing mixes the tokens of a forward pass, and the setting that gives them experts."""
SELECTING = ("index_topk", "keep_window_size")
"""Names by which configurations tell past how many tokens attention picks some of them by a score. Scores may be equal,
and then which are picked depends on where they stand in the cache."""
_SDPA = "load it with sdpa, or call model.set_attn_implementation('sdpa')"


@dataclass(frozen=True)
class ModelCapabilities:
    """How a model can be run.

    Attributes:
        rewindable: its state is a KV cache, of which any prefix can be kept. If not, it can only read on.
        attention_patterns: the masks that a step over several branches needs; None where it cannot take such a step.
        reason: why not, as the end of a sentence about the model.
        position_limit: positions from here on are never looked ahead into: the model has none, or changes there.
        learnt_positions: how many positions it has embeddings for; None where it computes them.
        lengths: the lengths of text at which the rotary frequencies change; None where they never do.
        reads_ahead: what a token's states are depends on the tokens behind it in a forward pass.
        reread_after: when a text outgrows this length it is read anew from its first token; None where it never is.
        ties_after: past this many tokens attention picks some of them by a score that may be equal but for rounding,
            so that a text that outgrows it is the same only if every forward pass has the same shape: it is decoded
            plainly from its prompt on. None where there is no such number.
    """

    rewindable: bool
    attention_patterns: AttentionPatterns | None
    reason: str | None
    position_limit: int | None
    learnt_positions: int | None
    lengths: LengthDependence | None = None
    reads_ahead: bool = False
    reread_after: int | None = None
    ties_after: int | None = None

    @property
    def one_prefill(self) -> bool:
        """Whether a prompt has to be read in one piece: in several its states would be others."""
        return self.lengths is not None or self.reads_ahead or self.ties_after is not None

    def read_anew(self, cached: int, length: int) -> bool:
        """Whether a text that has grown to this length is now read anew, ``cached`` tokens of it having been read."""
        return self.reread_after is not None and cached <= self.reread_after < length

    def decoded_plainly(self, length: int) -> bool:
        """Whether a text of which so many tokens will be read at most is decoded plainly from its prompt on."""
        return self.ties_after is not None and length > self.ties_after

    def room_after(self, length: int) -> int | None:
        """How many tokens can be emitted after a text of this length; None for any number."""
        # The last token emitted is not read, so that it needs no position.
        return None if self.learnt_positions is None else self.learnt_positions - length + 1


def capabilities_of(model: PreTrainedModel) -> ModelCapabilities:
    """Look at a model without running it."""
    config = model.config.get_text_config(decoder=True)
    lengths = length_dependence_of(config)
    stateful = _why_not_rewindable(model)
    attention_patterns: AttentionPatterns | None = None
    reason = stateful or _why_no_branches(model)
    if reason is None:
        try:
            attention_patterns = attention_patterns_of(model.config)
        except NotImplementedError as error:
            reason = str(error)
    return ModelCapabilities(
        rewindable=stateful is None,
        attention_patterns=attention_patterns,
        reason=reason,
        position_limit=_position_limit(config, lengths),
        learnt_positions=_learnt_positions(model),
        lengths=lengths,
        reads_ahead=_reads_both_ways(model) or _mixes_tokens(model),
        reread_after=None if lengths is None else _reread_after(model),
        ties_after=_ties_after(config),
    )


def depends_on_length(model: PreTrainedModel) -> bool:
    """Return whether the model's rotary embedding is another for long texts than for short ones."""
    return length_dependence_of(model.config.get_text_config(decoder=True)) is not None


def vocabulary_size(model: PreTrainedModel) -> int:
    """How many token ids the model has embeddings for."""
    weight = model.get_input_embeddings().weight
    assert isinstance(weight, torch.Tensor)
    return weight.shape[0]


def accepted_arguments(model: PreTrainedModel) -> frozenset[str]:
    """The names of the arguments that the model's forward takes."""
    return frozenset(inspect.signature(model.forward).parameters)


def warn_of_dropout(model: PreTrainedModel) -> None:
    """Warn if the model drops something out at random, so that no two answers are alike."""
    if model.training and any(isinstance(part, torch.nn.Dropout) and part.p > 0 for part in model.modules()):
        warnings.warn(
            "the model is in training mode, and its dropout changes every answer: call model.eval()", stacklevel=4
        )


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
    window = getattr(model.config, "sliding_window", None)
    if _ties_after(model.config) is not None and isinstance(window, int):
        return "its attention picks tokens by a score within a sliding window, by their place in its own cache"
    strange = sorted({type(layer).__name__ for layer in layers if type(layer) not in CACHE_LAYERS})
    if strange:
        return f"its state is recurrent, convolutional or compressed, and cannot be rewound ({', '.join(strange)})"
    return None


def _why_no_branches(model: PreTrainedModel) -> str | None:
    missing = {"position_ids", "attention_mask"} - accepted_arguments(model)
    if missing:
        return f"its forward takes no {' and no '.join(sorted(missing))}"
    attention = attention_implementation(model)
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


def _mixes_tokens(model: PreTrainedModel) -> bool:
    """Whether its experts are routed by what other tokens of the forward pass say."""
    flag = MIXING.get(model.config.model_type)
    return flag is not None and bool(getattr(model.config, flag, False))


def _ties_after(config: Any) -> int | None:
    """Doge's first layer scores a token by its embedding alone, so that every repetition of one has an equal score."""
    kept, window = getattr(config, "keep_window_size", None), getattr(config, "sliding_window", None)
    if not isinstance(kept, int) or kept <= 0:
        return None
    # Within a sliding window that is no longer there is nothing to pick.
    return None if isinstance(window, int) and window <= kept else kept


def _position_limit(config: Any, lengths: LengthDependence | None) -> int | None:
    limits = [getattr(config, name, None) for name in ("max_position_embeddings", *SELECTING)]
    limits.append(None if lengths is None else lengths.first_change)
    known = [limit for limit in limits if isinstance(limit, int) and limit > 0]
    return min(known, default=None)
