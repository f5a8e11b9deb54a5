"""ModelCapabilities: the ways in which a model can be decoded, derived from its configuration and signature alone."""

from __future__ import annotations

import inspect
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from transformers.cache_utils import (
    DummyLayer,
    DynamicCache,
    DynamicIndexedLayer,
    DynamicLayer,
    DynamicSlidingWindowLayer,
    LinearAttentionAndFullAttentionLayer,
    LinearAttentionAndSlidingWindowAttentionLayer,
    LinearAttentionLayer,
)

from decoding.model.private_interfaces import attention_implementation
from decoding.model.rotary import LengthDependence, length_dependence_of
from decoding.model.step_inputs import AttentionPatterns, attention_patterns_of

if TYPE_CHECKING:
    from transformers import PreTrainedModel

CACHE_LAYERS = (DynamicLayer, DynamicSlidingWindowLayer, DynamicIndexedLayer, DummyLayer)
"""Cache layers of transformers that hold keys and values for each token, and nothing else."""
STATE_LAYERS = (
    LinearAttentionLayer,
    LinearAttentionAndFullAttentionLayer,
    LinearAttentionAndSlidingWindowAttentionLayer,
)
"""Cache layers with a recurrent or convolutional state, beside keys and values or in their place."""
CACHE_ARGUMENTS = ("past_key_values", "cache_params")
"""Names of the cache argument of forward methods."""
MASKED_ATTENTION = ("eager", "sdpa", "flex_attention")
"""Attention implementations that honour a mask of any shape."""
UNSUPPORTED_TYPES = {
    "cpmant": "it puts tokens of its own before every text",
    "moshi": "what it sees is cut short by its own cache, not by a mask",
}
"""Model types whose forward pass is correct only when called by `generate`, and the reason."""
REREAD_TYPES = ("phi3", "phi4_multimodal", "phimoe")
"""Model types for which `generate` drops the cache once a text outgrows their original positions."""
SELECTION_LIMITS = ("index_topk", "keep_window_size")
"""Settings for the number of tokens past which attention selects some of them by a score. With equal scores the
selection depends on their order in the cache."""
LIMIT_NAMES = ("max_position_embeddings", "max_target_positions", "max_seq_len")
"""Settings for the number of positions that a decoder was made for, by any name; the first that is set counts."""
FIXED_TABLES = {"mpt": 0, "prophetnet": 2, "whisper": 0, "xlm": 1}
"""Model types whose positions end with their setting, which their modules do not show, and how many of them each text
needs beside those of its tokens."""
COMPUTED_TABLES = ("embed_positions", "pos_encoding")
"""Buffers that hold a computed position embedding, a row for each position (GPT-J, CodeGen, CTRL)."""
_SDPA = "load it with sdpa, or call model.set_attn_implementation('sdpa')"


@dataclass(frozen=True)
class ModelCapabilities:
    """The ways in which a model can be run.

    Attributes:
        rewindable: True for a KV cache, which can be cut back to any prefix; False for a recurrent state.
        attention_patterns: the masks that a step over several branches needs; None if it cannot take such a step.
        reason: the reason why not, as the end of a sentence about the model.
        position_limit: the first position that lookahead must not use, where positions end or embeddings change.
        positions: the number of positions that the model has, learnt or in a computed table; None if they never end.
        lengths: the text lengths at which the rotary frequencies change; None if they never do.
        reads_ahead: True if a token's states depend on later tokens of the same forward pass.
        reread_after: the length past which a text is prefilled again from its first token; None for never.
        ties_after: the length past which sparse attention selects tokens by scores that may be tied but for rounding.
            Longer texts are reproducible only with forward passes of equal shapes, so they are decoded plainly from
            the prompt on. None for models without such a selection.
        one_chain: True for a recurrent state that can be kept and restored, so that a step may verify one chain of
            candidates, if it passes :mod:`decoding.recurrent.chain_prefix`.
    """

    rewindable: bool
    attention_patterns: AttentionPatterns | None
    reason: str | None
    position_limit: int | None
    positions: int | None
    lengths: LengthDependence | None = None
    reads_ahead: bool = False
    reread_after: int | None = None
    ties_after: int | None = None
    one_chain: bool = False

    @property
    def one_prefill(self) -> bool:
        """True if a prompt has to be read in one forward pass: in several its states would differ."""
        return self.lengths is not None or self.reads_ahead or self.ties_after is not None

    def needs_plain_decoding(self, length: int) -> bool:
        """Return True if a text of up to ``length`` tokens must be decoded plainly; see ``ties_after``."""
        return self.ties_after is not None and length > self.ties_after

    def room_after(self, length: int) -> int | None:
        """Return the number of tokens that can be emitted after a text of this length; None for no limit."""
        # The last token emitted is never read, so it needs no position.
        return None if self.positions is None else self.positions - length + 1


def capabilities_of(model: PreTrainedModel) -> ModelCapabilities:
    """Return a model's capabilities, without running it."""
    config = model.config.get_text_config(decoder=True)
    lengths = length_dependence_of(config)
    stateful, one_chain = _why_not_rewindable(model), _has_known_state(model)
    # Doge's experts are routed by other tokens of the forward pass.
    mixes_tokens = model.config.model_type == "doge" and bool(getattr(model.config, "is_moe", False))
    attention_patterns: AttentionPatterns | None = None
    reason = None if one_chain else stateful or _why_no_branches(model)
    if reason is None and not one_chain:
        try:
            attention_patterns = attention_patterns_of(model.config)
        except NotImplementedError as error:
            reason = str(error)
    return ModelCapabilities(
        rewindable=stateful is None,
        attention_patterns=attention_patterns,
        reason=reason,
        position_limit=_position_limit(config, lengths),
        positions=_positions(model),
        lengths=lengths,
        reads_ahead=_is_bidirectional(model) or mixes_tokens,
        reread_after=None if lengths is None else _reread_after(model),
        ties_after=_ties_after(config),
        one_chain=one_chain,
    )


def cache_argument(model: PreTrainedModel) -> str | None:
    """Return the name of the cache argument of the model's forward; None if it has no such argument."""
    accepted = accepted_arguments(model)
    return next((name for name in CACHE_ARGUMENTS if name in accepted), None)


def vocabulary_size(model: PreTrainedModel) -> int:
    """Return the number of token ids that the model has embeddings for."""
    embedding: Any = model.get_input_embeddings()
    weight = getattr(embedding, "weight", None)  # a packed one has no such tensor
    return int(embedding.num_embeddings if weight is None else weight.shape[0])


def accepted_arguments(model: PreTrainedModel) -> frozenset[str]:
    """Return the names of the arguments that the model's forward takes."""
    return frozenset(inspect.signature(model.forward).parameters)


def warn_of_dropout(model: PreTrainedModel) -> None:
    """Warn if dropout is active, which makes every answer random."""
    if model.training and any(isinstance(part, torch.nn.Dropout) and part.p > 0 for part in model.modules()):
        warnings.warn(
            "the model is in training mode, and its dropout changes every answer: call model.eval()", stacklevel=3
        )


def warn_of_length(model: PreTrainedModel, length: int, *, ends: bool) -> None:
    """Warn if a text is longer than those that the model was made for; it ``ends`` there without positions for more."""
    limit = _made_for(model)
    # The last token is never read. The same words for every length, so that one warning is shown.
    if limit is not None and limit < length - 1:
        after = "it ends there" if ends else "what comes after may be of no use"
        warnings.warn(f"the text may reach the {limit} tokens that the model was made for: {after}", stacklevel=4)


def _why_not_rewindable(model: PreTrainedModel) -> str | None:
    if getattr(model.config, "is_encoder_decoder", False):
        return "it is an encoder-decoder, not a causal language model"
    if "past_key_values" not in accepted_arguments(model):
        return "it keeps no KV cache, or one of a kind of its own"
    if model.config.model_type in UNSUPPORTED_TYPES:
        return UNSUPPORTED_TYPES[model.config.model_type]
    kinds = _cache_layers(model)
    if not isinstance(kinds, set):
        return f"its KV cache is of a kind not known here ({type(kinds).__name__})"
    window = getattr(model.config, "sliding_window", None)
    if _ties_after(model.config) is not None and isinstance(window, int):
        return "its attention picks tokens by a score within a sliding window, by their place in its own cache"
    strange = sorted(kind.__name__ for kind in kinds - {*CACHE_LAYERS})
    if strange:
        return f"its state is recurrent, convolutional or compressed, and cannot be rewound ({', '.join(strange)})"
    return None


def _has_known_state(model: PreTrainedModel) -> bool:
    """Return True if it has a recurrent state, in a cache whose layers are all known."""
    if getattr(model.config, "is_encoder_decoder", False) or cache_argument(model) is None:
        return False
    kinds = _cache_layers(model)
    return isinstance(kinds, set) and not kinds.isdisjoint(STATE_LAYERS) and kinds <= {*CACHE_LAYERS, *STATE_LAYERS}


def _cache_layers(model: PreTrainedModel) -> set[type] | Exception:
    """Return the kinds of the layers of transformers' own cache for it, or the error that making one raised."""
    try:
        return {type(layer) for layer in DynamicCache(config=model.config).layers}
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        return error


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


def _positions(model: PreTrainedModel) -> int | None:
    """Return the rows of a position embedding, learnt (OPT has two more than it has positions) or computed."""
    limit = _made_for(model)
    if limit is None:
        return None
    if (needed := FIXED_TABLES.get(model.config.model_type)) is not None:
        return limit - needed
    tables = (module for module in model.modules() if isinstance(module, torch.nn.Embedding))
    learnt = {table.num_embeddings for table in tables if table is not model.get_input_embeddings()}
    buffers = ((name.rpartition(".")[2], buffer) for name, buffer in model.named_buffers())
    computed = {len(buffer) for name, buffer in buffers if name in COMPUTED_TABLES and buffer.dim() == 2}
    return limit if learnt & {limit, limit + 2} or limit in computed else None


def _made_for(model: PreTrainedModel) -> int | None:
    """Return the number of positions that the model was made for; None if its configuration names none."""
    config = model.config.get_text_config(decoder=True)
    limits = (getattr(config, name, None) for name in LIMIT_NAMES)
    # XLNet's is -1.
    return next((limit for limit in limits if isinstance(limit, int) and limit > 0), None)


def _is_bidirectional(model: PreTrainedModel) -> bool:
    """Return True if it may be an encoder not configured as a decoder: none of its attention is causal."""
    if getattr(model.config, "is_decoder", None) is not False:
        return False
    return not any(getattr(module, "is_causal", False) for module in model.modules())


def _reread_after(model: PreTrainedModel) -> int | None:
    """Return the length past which `prepare_inputs_for_generation` drops the cache, computed for short texts."""
    if model.config.model_type not in REREAD_TYPES:
        return None
    limit = getattr(model.config, "original_max_position_embeddings", None)
    return limit if isinstance(limit, int) else None


def _ties_after(config: Any) -> int | None:
    """Return Doge's limit: its first layer scores tokens by embedding alone, so that repetitions tie."""
    kept, window = getattr(config, "keep_window_size", None), getattr(config, "sliding_window", None)
    if not isinstance(kept, int) or kept <= 0:
        return None
    # A sliding window no longer than that leaves nothing to select.
    return None if isinstance(window, int) and window <= kept else kept


def _position_limit(config: Any, lengths: LengthDependence | None) -> int | None:
    limits = [getattr(config, name, None) for name in ("max_position_embeddings", *SELECTION_LIMITS)]
    limits.append(None if lengths is None else lengths.first_change)
    known = [limit for limit in limits if isinstance(limit, int) and limit > 0]
    return min(known, default=None)
