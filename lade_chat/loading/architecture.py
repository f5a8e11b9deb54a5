"""Reads a checkpoint's configuration and checks that it is a causal language model that can run here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lade_chat.errors import HOW_TO_TRUST, ModelError, summary
from lade_chat.loading.checkpoint import CONFIG, read_config
from lade_chat.loading.config_entries import check_declared, check_parsed

_DEFAULT_CONTEXT = 2048
_MAX_CONTEXT = 100_000_000
_CONTEXT_NAMES = ("max_position_embeddings", "n_positions", "seq_length", "max_seq_len", "n_ctx", "max_sequence_length")


def load_config(folder: Path, *, name: str = "", trust_remote_code: bool) -> Any:
    """Load the folder's transformers configuration. Raises ModelError if it is no causal LM's.

    ``name``: the model's name in errors; the folder if empty.
    """
    from transformers import AutoConfig

    declared, name = read_config(folder), name or str(folder)
    check_declared(name, declared)
    _check_code(name, declared, trust_remote_code=trust_remote_code)
    try:
        config = AutoConfig.from_pretrained(folder, trust_remote_code=trust_remote_code, local_files_only=True)
    except Exception as error:  # config classes validate, each in its own way
        raise ModelError(
            f"{folder / CONFIG} is not a valid configuration: {summary(error)}. Download it again."
        ) from error
    if not (trust_remote_code and _brings_code(declared)):
        _check_causal(name, config)
    check_parsed(name, config.get_text_config(decoder=True))
    config.return_dict = True  # decoding takes a model's output by its names
    return config


def check_before_download(config: Path, name: str, *, trust_remote_code: bool) -> None:
    """Raise ModelError if this config.json shows that the model called ``name`` is no causal LM.

    A model that brings its own code can only be checked once that is downloaded too.
    """
    if not (trust_remote_code and _brings_code(read_config(config.parent))):
        load_config(config.parent, name=name, trust_remote_code=False)


def _brings_code(declared: dict[str, Any]) -> bool:
    auto_map = declared.get("auto_map")
    return isinstance(auto_map, dict) and "AutoModelForCausalLM" in auto_map


def _check_code(name: str, declared: dict[str, Any], *, trust_remote_code: bool) -> None:
    """Raise ModelError if neither transformers nor trusted code knows the architecture."""
    import transformers
    from transformers import CONFIG_MAPPING
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

    kind = declared.get("model_type")
    if _brings_code(declared):
        if not trust_remote_code and kind not in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES:
            raise ModelError(
                f"{name} needs its own code to run (model type '{kind}'):"
                f" if you trust where it comes from, {HOW_TO_TRUST}."
            )
    elif not kind:
        raise ModelError(f"The {CONFIG} of {name} names no model_type: it is no transformers checkpoint.")
    elif kind not in CONFIG_MAPPING:
        raise ModelError(
            f"The model type '{kind}' of {name} is unknown to transformers {transformers.__version__}:"
            " a newer transformers may know it."
        )


_BIDIRECTIONAL_BY_DEFAULT = frozenset(
    {
        *("bert", "bert-generation", "big_bird", "camembert", "data2vec-text", "electra", "ernie", "megatron-bert"),
        *("reformer", "rembert", "roberta", "roberta-prelayernorm", "roc_bert", "roformer", "xlm-roberta"),
        *("xlm-roberta-xl", "xmod"),
    }
)
"""Listed by transformers as causal LMs, though bidirectional unless ``is_decoder`` is set. (GPT-NeoX's configuration
does not set it either, but nothing reads it there.)"""


def _check_causal(name: str, config: Any) -> None:
    """Raise ModelError unless the architecture writes text from left to right."""
    from transformers.models.auto.modeling_auto import (
        MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
        MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES,
    )

    classes = getattr(config, "architectures", None) or []
    known = {*MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.values(), *MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES.values()}
    causal = (
        config.model_type in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES
        and not getattr(config, "is_encoder_decoder", False)
        and (config.model_type not in _BIDIRECTIONAL_BY_DEFAULT or config.is_decoder)
        and (not classes or any(name in known for name in classes))
    )
    if not causal:
        what = f"{classes[0]} (model type '{config.model_type}')" if classes else f"model type '{config.model_type}'"
        raise ModelError(f"{name} is no causal language model but {what}: it cannot write replies.")


def plain_attention(config: Any) -> str | None:
    """Let transformers choose sdpa or eager attention; returns a notice if that overrides the checkpoint.

    Flash kernels do not support lookahead's masks.
    """
    wanted = None
    # A multimodal model has a separate configuration for its text part.
    for part in (config, config.get_text_config(decoder=True)):
        name = getattr(part, "_attn_implementation", None)
        if name not in (None, "eager", "sdpa"):
            wanted = name
            part._attn_implementation = None
    if wanted is None:
        return None
    return f"The checkpoint asks for {wanted}; it runs with sdpa attention, which takes lookahead's masks."


def context_window(config: Any) -> int:
    """The model's context window in tokens, prompt and reply together."""
    text = config.get_text_config(decoder=True)
    for name in _CONTEXT_NAMES:
        length = getattr(text, name, None)
        if isinstance(length, int) and 0 < length < _MAX_CONTEXT:
            return length
    return _DEFAULT_CONTEXT
