"""Grown checkpoints: a small model's weights embedded in a larger shape, which gives its text at the larger speed."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lade_chat.bench.grown.shapes import Shape, fitted, has_bias, shape_named, shape_of
from lade_chat.errors import LadeChatError
from lade_chat.loading.checkpoint import CONFIG, SAFE_WEIGHTS, bundled_model_path, check_files, check_weights

if TYPE_CHECKING:
    import torch

    from lade_chat.bench.grown.tensors import Grower

DTYPES = ("bfloat16", "float32", "float16")
CARD = "README.md"
_VERSION = 1
"""Increment when grown models change, to make those in the cache folder anew."""
_KEPT = ("*token*", "*.jinja", "vocab*", "merges.txt", "generation_config.json", "spiece.model")
"""Files that a grown model shares with its source."""


def grow(source: Path, shape: Shape, folder: Path, dtype: str = "bfloat16") -> str:
    """Write a checkpoint of this shape whose logits are those of the source; return its description.

    Args:
        source: the folder of a Llama- or Qwen2-like checkpoint with a tokenizer.
        folder: a new folder; its parent holds the unfinished checkpoint meanwhile.
        dtype: of :data:`DTYPES`; only float32 keeps the logits to about 1e-5, since scaled weights are rounded.

    Raises:
        LadeChatError: the source is of another kind, does not fit, or the folder exists or cannot be written.
    """
    import torch
    from transformers import AutoModelForCausalLM

    from lade_chat.bench.grown.tensors import Grower
    from lade_chat.loading.tokenization import load_tokenizer

    if dtype not in DTYPES:
        raise LadeChatError(f"A grown model is written in one of {', '.join(DTYPES)}, not '{dtype}'.")
    if folder.exists():
        raise LadeChatError(f"{folder} exists already: remove it, or choose another folder.")
    check_files(str(source), allow_pickle=False)
    model: Any = AutoModelForCausalLM.from_pretrained(source, dtype=torch.float32, local_files_only=True).eval()
    shape, note = fitted(shape, shape_of(model.config))
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
            unfinished = Path(scratch) / "model"
            unfinished.mkdir()
            for file in {file for pattern in _KEPT for file in source.glob(pattern)}:
                shutil.copy(file, unfinished)
            if shape.architecture != model.config.model_type and not (source / "tokenizer_config.json").is_file():
                # The architecture would decide what a lone tokenizer file is.
                load_tokenizer(source, model.config, trust_remote_code=False).save_pretrained(unfinished)
            with torch.inference_mode():
                parameters = _write(Grower(model, shape), unfinished, getattr(torch, dtype))
            _config(model.config, shape, dtype).save_pretrained(unfinished)
            words = (
                f"{shape.layers} layers, {shape.hidden:,} wide, {parameters / 1e6:,.0f}M parameters"
                f"{', ' + note if note else ''}: the text is the small model's, easier to guess than a large one's"
            )
            (unfinished / CARD).write_text(f"Grown from {_name(source)}: {words}.\n", encoding="utf-8")
            os.replace(unfinished, folder)
    except OSError as error:
        raise LadeChatError(f"The grown model cannot be written to {folder}: {error.strerror or error}.") from error
    return words


def grown(source: Path, like: str, dtype: str) -> tuple[Path, str]:
    """Return the folder of a model grown to a published shape, kept in the cache folder, and its description.

    Raises what :func:`grow` raises.
    """
    from platformdirs import user_cache_path

    shape, weights = shape_named(like), check_weights(source, allow_pickle=False)
    stamps = [(file.name, file.stat().st_size, file.stat().st_mtime_ns) for file in weights.files]
    described = repr((str(source.resolve()), (source / CONFIG).read_bytes(), stamps, shape, dtype, _VERSION))
    digest = sha256(described.encode()).hexdigest()[:12]
    kept = user_cache_path("lade-chat", appauthor=False) / "grown" / digest
    folder = kept / f"{_name(source)}-grown-to-{like.strip().lower()}"
    if not folder.is_dir():
        grow(source, shape, folder, dtype)
    return folder, (folder / CARD).read_text(encoding="utf-8").strip()


def _name(source: Path) -> str:
    return "bundled" if source == bundled_model_path() else source.resolve().name


def _config(source: Any, shape: Shape, dtype: str) -> Any:
    from transformers import LlamaConfig, Qwen2Config

    kind: Any = {"llama": LlamaConfig, "qwen2": Qwen2Config}[shape.architecture]
    kept = ("hidden_act", "rope_parameters", "tie_word_embeddings", "bos_token_id", "eos_token_id", "pad_token_id")
    return kind(
        **{name: getattr(source, name) for name in kept},
        **({"attention_bias": has_bias(source)} if shape.architecture == "llama" else {}),
        vocab_size=shape.vocabulary, hidden_size=shape.hidden, intermediate_size=shape.mlp,
        num_hidden_layers=shape.layers, num_attention_heads=shape.heads, num_key_value_heads=shape.kv_heads,
        head_dim=shape.head_dim, max_position_embeddings=max(shape.context, source.max_position_embeddings),
        rms_norm_eps=source.rms_norm_eps * source.hidden_size / shape.hidden, dtype=dtype,
        architectures=[{"llama": "LlamaForCausalLM", "qwen2": "Qwen2ForCausalLM"}[shape.architecture]],
    )  # fmt: skip


def _write(grower: Grower, folder: Path, dtype: torch.dtype) -> int:
    """Write one shard after another, so that memory holds one at a time; return the number of parameters."""
    from safetensors.torch import save_file

    names: dict[str, str] = {}
    parameters = size = 0
    for number, tensors in enumerate(grower.shards()):
        file = f"model-{number:05}.safetensors"
        written = {name: tensor.to(dtype).contiguous() for name, tensor in tensors.items()}
        save_file(written, folder / file, metadata={"format": "pt"})
        (folder / file).chmod(0o644)
        names |= dict.fromkeys(written, file)
        parameters += sum(tensor.numel() for tensor in written.values())
        size += sum(tensor.nbytes for tensor in written.values())
    index = {"metadata": {"total_size": size}, "weight_map": names}
    (folder / SAFE_WEIGHTS[1]).write_text(json.dumps(index, indent=1), encoding="utf-8")
    return parameters
