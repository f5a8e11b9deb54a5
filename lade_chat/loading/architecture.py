"""Reads a checkpoint's configuration and decides whether it is a causal language model that can run here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lade_chat.errors import ModelError, summary
from lade_chat.loading.checkpoint import CONFIG, read_config

_DEFAULT_CONTEXT = 2048
_LONGEST_CONTEXT = 100_000_000
_CONTEXT_NAMES = ("max_position_embeddings", "n_positions", "seq_length", "max_seq_len", "n_ctx", "max_sequence_length")


def load_config(folder: Path, *, name: str = "", trust_remote_code: bool) -> Any:
    """The folder's configuration as transformers has it. Raises ModelError if it is no causal LM's.

    ``name``: what errors call the model; the folder, if it is empty.
    """
    from transformers import AutoConfig

    declared, name = read_config(folder), name or str(folder)
    _check_code(name, declared, trust_remote_code=trust_remote_code)
    try:
        config = AutoConfig.from_pretrained(folder, trust_remote_code=trust_remote_code, local_files_only=True)
    except Exception as error:  # config classes validate, each in its own way
        raise ModelError(f"{folder / CONFIG} is not a valid configuration: {summary(error)}") from error
    if not (trust_remote_code and _brings_code(declared)):
        _check_causal(name, config)
    return config


def check_before_download(config: Path, name: str, *, trust_remote_code: bool) -> None:
    """Whether the model called ``name``, of which only this config.json is here, is a causal LM. Raises ModelError.

    One whose own code may be run can only be told when that is here too.
    """
    if not (trust_remote_code and _brings_code(read_config(config.parent))):
        load_config(config.parent, name=name, trust_remote_code=False)


def _brings_code(declared: dict[str, Any]) -> bool:
    auto_map = declared.get("auto_map")
    return isinstance(auto_map, dict) and "AutoModelForCausalLM" in auto_map


def _check_code(name: str, declared: dict[str, Any], *, trust_remote_code: bool) -> None:
    """Raises ModelError if neither transformers nor code that may be run knows the architecture."""
    import transformers
    from transformers import CONFIG_MAPPING
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

    kind = declared.get("model_type")
    if _brings_code(declared):
        if not trust_remote_code and kind not in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES:
            raise ModelError(
                f"{name} needs its own code to run (model type '{kind}'):"
                " if you trust where it comes from, pass --trust-remote-code."
            )
    elif not kind:
        raise ModelError(f"The {CONFIG} of {name} names no model_type: it is no transformers checkpoint.")
    elif kind not in CONFIG_MAPPING:
        raise ModelError(
            f"The model type '{kind}' of {name} is unknown to transformers {transformers.__version__}:"
            " a newer transformers may know it."
        )


_DECODERS_IF_TOLD = frozenset(
    {
        *("bert", "bert-generation", "big_bird", "camembert", "data2vec-text", "electra", "ernie", "megatron-bert"),
        *("reformer", "rembert", "roberta", "roberta-prelayernorm", "roc_bert", "roformer", "xlm-roberta"),
        *("xlm-roberta-xl", "xmod"),
    }
)
"""They read in both directions unless their configuration says otherwise, and count as causal language models all the
same. (GPT-NeoX's configuration says that it is no decoder either, and nothing reads that.)"""


def _check_causal(name: str, config: Any) -> None:
    """Raises ModelError unless the architecture writes text from left to right."""
    from transformers.models.auto.modeling_auto import (
        MODEL_FOR_CAUSAL_LM_MAPPING_NAMES,
        MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES,
    )

    classes = getattr(config, "architectures", None) or []
    known = {*MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.values(), *MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES.values()}
    causal = (
        config.model_type in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES
        and not getattr(config, "is_encoder_decoder", False)
        and (config.model_type not in _DECODERS_IF_TOLD or config.is_decoder)
        and (not classes or any(name in known for name in classes))
    )
    if not causal:
        what = f"{classes[0]} (model type '{config.model_type}')" if classes else f"model type '{config.model_type}'"
        raise ModelError(f"{name} is no causal language model but {what}: it cannot write replies.")


def plain_attention(config: Any) -> str | None:
    """Lets transformers choose sdpa, or eager where the model has no sdpa; returns a notice if that changes anything.

    Lookahead gives its own masks, which the flash kernels do not take.
    """
    wanted = None
    # A model that reads pictures too has a configuration for its text part.
    for part in (config, config.get_text_config(decoder=True)):
        name = getattr(part, "_attn_implementation", None)
        if name not in (None, "eager", "sdpa"):
            wanted = name
            part._attn_implementation = None
    if wanted is None:
        return None
    return f"The checkpoint asks for {wanted}; it runs with sdpa attention, which takes lookahead's masks."


def context_window(config: Any) -> int:
    """How many tokens the model can take, prompt and reply together."""
    text = config.get_text_config()
    for name in _CONTEXT_NAMES:
        length = getattr(text, name, None)
        if isinstance(length, int) and 0 < length < _LONGEST_CONTEXT:
            return length
    return _DEFAULT_CONTEXT
