"""Opens a Llama saved by transformers without importing transformers' classes, which takes longer than importing torch.

Only for a folder like the bundled model's: a configuration with the usual entries, sentencepiece's tokenizer, and
exactly the tensors that the configuration asks for. A folder with anything unusual is left to transformers.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lade_chat.errors import ModelError
from lade_chat.loading.checkpoint import Weights, check_weights, read_config, read_json, remedy
from lade_chat.protocol.values import ModelOptions

if TYPE_CHECKING:
    import torch

    from decoding.native.skeleton import Skeleton

FIXED: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"],
    "attention_dropout": 0.0,
    "hidden_act": "silu",
    "model_type": "llama",
    "pretraining_tp": 1,
    "use_cache": True,
}
"""Entries of the configuration with the only value that is served."""
ENTRIES = FIXED.keys() | {
    *("attention_bias", "bos_token_id", "dtype", "eos_token_id", "head_dim", "hidden_size", "initializer_range"),
    *("intermediate_size", "max_position_embeddings", "mlp_bias", "num_attention_heads", "num_hidden_layers"),
    *("num_key_value_heads", "pad_token_id", "rms_norm_eps", "rope_parameters", "tie_word_embeddings"),
    *("transformers_version", "vocab_size"),
}
"""All that transformers writes for a Llama."""


def open_plain_llama(options: ModelOptions, folder: Path) -> Skeleton | None:
    """Return the folder's model without its weights; None if transformers has to open it, or to refuse it."""
    whole = options.quantize is None and options.device_map is None and options.tensor_parallel == 1
    if not whole or options.compiled or options.trust_remote_code:
        return None
    try:
        declared, weights = read_config(folder), check_weights(folder, allow_pickle=False)
        is_plain = declared.keys() == ENTRIES and all(declared[name] == value for name, value in FIXED.items())
        if not is_plain or not _has_llama_tokenizer(folder):
            return None
        return _skeleton(declared, weights)
    except (ModelError, ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError):
        return None  # transformers names what is wrong


def _skeleton(declared: dict[str, Any], weights: Weights) -> Skeleton | None:
    """Return a model of this configuration if the weights are exactly its own."""
    import torch

    from decoding.native.skeleton import PlainConfig, Skeleton

    rope, heads, keys = (declared[name] for name in ("rope_parameters", "num_attention_heads", "num_key_value_heads"))
    if rope.keys() != {"rope_theta", "rope_type"} or rope["rope_type"] != "default" or not rope["rope_theta"] > 0:
        return None
    if heads % keys or declared["hidden_size"] % heads or declared["num_hidden_layers"] > len(weights.shapes):
        return None
    padding = declared["pad_token_id"]
    if padding is not None and not 0 <= padding < declared["vocab_size"]:
        return None
    with torch.device("meta"):
        model = Skeleton(PlainConfig(**declared))
    wanted = {name: tuple(parameter.shape) for name, parameter in model.named_parameters()}
    return model if wanted == weights.shapes else None


def _has_llama_tokenizer(folder: Path) -> bool:
    """Return True if the tokenizer is the one of sentencepiece that the settings name, and generation has settings."""
    names = ("tokenizer_config.json", "tokenizer.model", "generation_config.json")
    if not all((folder / name).is_file() for name in names) or (folder / "tokenizer.json").is_file():
        return False
    return read_json(folder / names[0]).get("tokenizer_class") == "LlamaTokenizer"


def read_plain_llama(
    model: Skeleton, folder: Path, weights: Weights, dtype: torch.dtype, report: Callable[[int, int], None]
) -> None:
    """Read the weights into their places. Raises ModelError if a file is broken."""
    from safetensors import SafetensorError, safe_open
    from torch import nn
    from transformers import GenerationConfig

    done = 0
    for file in weights.files:
        try:
            with safe_open(file, framework="pt") as tensors:
                for name in tensors.keys():  # noqa: SIM118 (not a mapping)
                    module, _, kind = name.rpartition(".")
                    setattr(model.get_submodule(module), kind, nn.Parameter(tensors.get_tensor(name).to(dtype)))
                    done += 1
                    report(done, len(weights.shapes))
        except (SafetensorError, OSError) as error:
            raise ModelError(f"{file} is truncated or corrupt ({error}): {remedy(file)}.") from error
    model.tie_weights()
    model.generation_config = GenerationConfig.from_pretrained(folder)
