"""Finds a checkpoint's folder and checks its files before loading."""

from __future__ import annotations

import json
import math
import re
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from lade_chat.errors import HOW_TO_UNPICKLE, ModelError, summary
from lade_chat.gguf.files import SUFFIX, is_gguf, only_model_in, read_header
from lade_chat.gguf.models_of_programs import OLLAMA_PREFIX, find_in_ollama
from lade_chat.loading.precision import check_gguf_options, check_options
from lade_chat.paths import bundled_model_path, expanded
from lade_chat.protocol.values import ModelOptions

CONFIG = "config.json"
SAFE_WEIGHTS = ("model.safetensors", "model.safetensors.index.json")
PICKLE_WEIGHTS = ("pytorch_model.bin", "pytorch_model.bin.index.json")
TOKENIZER_FILES = (
    "tokenizer.json",
    "tokenizer.model",
    "spiece.model",
    "sentencepiece.bpe.model",
    "vocab.json",
    "vocab.txt",
    "tekken.json",
    "tiktoken.model",
    "tokenizer_config.json",
)
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?(:[\w.-]+)?")
"""A repository, and behind a colon which of its GGUF files to open."""


@dataclass(frozen=True, slots=True)
class Weights:
    """A checkpoint's weights, as its files declare them."""

    files: tuple[Path, ...]
    pickled: bool
    parameters: int
    """Number of parameters stored; estimated from the file sizes of a pickle."""
    dtype: str | None
    """safetensors' name of the dtype that most of them are stored in; None for a pickle."""
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """Of each tensor; empty for a pickle."""


def local_model(path: str) -> Path | None:
    """The folder or GGUF file that ``path`` names, or None if it can only be a Hub id. Raises ModelError otherwise."""
    if not path.strip():
        raise ModelError("The model path is empty: give a checkpoint's folder, a GGUF file or a Hub id (org/name).")
    if path.startswith(OLLAMA_PREFIX):
        return find_in_ollama(path.removeprefix(OLLAMA_PREFIX))
    try:
        place = expanded(path)
        is_folder, exists = place.is_dir(), place.exists()
    except (OSError, ValueError) as error:  # too long, or a NUL byte
        raise ModelError(f"{path[:80]} is no path ({summary(error, 40)}): give a checkpoint's folder.") from None
    if is_folder:
        has_weights = any((place / name).is_file() for name in (*SAFE_WEIGHTS, *PICKLE_WEIGHTS))
        return place if has_weights else only_model_in(place, path) or place
    if exists:
        if place.is_file() and is_gguf(place):
            return place
        raise ModelError(f"{path} is no GGUF file: give one, or the folder that holds {CONFIG} and the weights.")
    is_file_name = path.lower().endswith(SUFFIX) and ":" not in path
    looks_like_path = path.startswith((".", "/", "~")) or "\\" in path or path.count("/") > 1
    if looks_like_path or (is_file_name and "/" not in path) or not _HUB_ID.fullmatch(path):
        what = "file" if is_file_name else "folder"
        raise ModelError(f"There is no {what} {path}: give a checkpoint's folder, a GGUF file or a Hub id (org/name).")
    return None


def lasting_path(path: str) -> str:
    """A model's path as it is stored: absolute for a folder or a file. Raises ModelError if it names no model."""
    place = local_model(path)
    if place is None:
        return path
    if path.startswith(OLLAMA_PREFIX):
        return path
    if place.is_dir():
        read_config(place)
        return str(place.resolve())
    return str(place.parent.resolve() / place.name)  # of a link: parts of a file are found by its name


def no_folder(path: str) -> str:
    """Say that nothing here has this name; one without a slash may have been meant as a short name."""
    return f"There is no folder {'' if '/' in path else 'or short name '}{path}"


def read_config(folder: Path) -> dict[str, Any]:
    """The folder's config.json. Raises ModelError if it is missing or is no JSON object."""
    if not (folder / CONFIG).is_file():
        hint = ""
        if (folder / "adapter_config.json").is_file():
            hint = " It holds an adapter: merge it into its base model first."
        raise ModelError(f"{folder} holds no {CONFIG}, so it is no Hugging Face checkpoint.{hint}")
    return read_json(folder / CONFIG)


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object from a file. Raises ModelError if it cannot be read as one."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelError(f"{path} cannot be read as JSON ({summary(error)}): download it again.") from error
    except RecursionError:
        raise ModelError(f"{path} is nested too deeply to be read: download it again.") from None
    if not isinstance(content, dict):
        raise ModelError(f"{path} is not a JSON object: download it again.")
    return content


def check_tokenizer(folder: Path) -> None:
    """Raise ModelError if the folder has no tokenizer (transformers would make up an empty one) or a broken one."""
    if not any((folder / name).is_file() for name in TOKENIZER_FILES):
        raise ModelError(f"{folder} holds no tokenizer: tokenizer.json or tokenizer.model is missing.")
    # transformers silently ignores some of these if they are truncated, and the EOS tokens in them.
    for name in ("tokenizer_config.json", "special_tokens_map.json", "generation_config.json"):
        if (folder / name).is_file():
            content = read_json(folder / name)
            if name == "generation_config.json":
                _check_token_ids(folder / name, content)


def _check_token_ids(file: Path, content: dict[str, Any]) -> None:
    """Raise ModelError for a token id that is not a number: transformers compares them, and fails without a name."""
    for name in ("bos_token_id", "eos_token_id", "pad_token_id"):
        value = content.get(name)
        ids = value if isinstance(value, list) else [] if value is None else [value]
        if not all(type(id_) is int for id_ in ids):
            raise ModelError(f"{file} says {name}={value!r}, which must be a token's number: download it again.")


def check_weights(folder: Path, *, allow_pickle: bool) -> Weights:
    """Check the folder's weights. Raises ModelError if any are missing, truncated, or pickled without permission."""
    files = _weight_files(folder, SAFE_WEIGHTS)
    if files:
        numbers: Counter[str] = Counter()
        shapes: dict[str, tuple[int, ...]] = {}
        for file in files:
            for name, (dtype, shape) in _tensors(file).items():
                shapes[name] = shape
                numbers[dtype] += math.prod(shape)
        return Weights(files, False, numbers.total(), max(numbers, key=numbers.__getitem__, default=None), shapes)
    files = _weight_files(folder, PICKLE_WEIGHTS)
    if not files:
        raise ModelError(f"{folder} holds no weights: {SAFE_WEIGHTS[0]} (or its index and shards) is missing.")
    if not allow_pickle:
        raise ModelError(
            f"{files[0]} is a pickle, which can run code when it is read."
            f" If you trust where it came from, {HOW_TO_UNPICKLE}; better, convert it to safetensors."
        )
    return Weights(files, True, sum(file.stat().st_size for file in files) // 2, None)


def check_files(options: ModelOptions) -> None:
    """Check options and a local model without importing torch, which takes seconds. Raises ModelError."""
    check_options(options)
    place = bundled_model_path() if options.path is None else local_model(options.path)
    if place is None:
        return
    if place.is_file():
        check_gguf_options(options, options.path or place.name)
        read_header(place)
        return
    read_config(place)
    check_tokenizer(place)
    check_weights(place, allow_pickle=options.allow_pickle)


def weight_map(index: Path) -> dict[str, str]:
    """The shard of each tensor, as an index names them. Raises ModelError if it names none."""
    content = read_json(index)
    found = content.get("weight_map")
    if not isinstance(found, dict) or not found or not all(isinstance(name, str) for name in found.values()):
        raise ModelError(f"{index} names no weights: download it again.")
    if not isinstance(content.get("metadata"), dict):
        raise ModelError(
            f'{index} lacks the "metadata" that transformers wants in it: add "metadata": {{}}, or download it again.'
        )
    return found


def _weight_files(folder: Path, names: tuple[str, str]) -> tuple[Path, ...]:
    """The single file, or the shards in the index; empty if there is neither."""
    single, index = (folder / name for name in names)
    if single.is_file():
        return (single,)
    if not index.is_file():
        return ()
    shards = tuple(folder / name for name in sorted(set(weight_map(index).values())))
    missing = [shard.name for shard in shards if not shard.is_file()]
    if missing:
        raise ModelError(
            f"{folder} lacks {len(missing)} of {len(shards)} shards of its weights ({missing[0]} first):"
            " finish the download."
        )
    return shards


def _tensors(file: Path) -> dict[str, tuple[str, tuple[int, ...]]]:
    """Dtype and shape of each tensor in a safetensors file, from its header."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(file, framework="np") as tensors:
            slices = ((name, tensors.get_slice(name)) for name in tensors.keys())  # noqa: SIM118 (not a mapping)
            return {name: (tensor.get_dtype(), tuple(tensor.get_shape())) for name, tensor in slices}
    except (SafetensorError, OSError) as error:
        raise ModelError(f"{file} is truncated or corrupt ({summary(error)}): {remedy(file)}.") from error


def remedy(file: Path) -> str:
    """Say what to do about a file that cannot be read."""
    from decoding.gguf.header import LFS_POINTER

    with suppress(OSError), file.open("rb") as opened:
        if opened.read(len(LFS_POINTER)) == LFS_POINTER:
            return "it is a Git LFS pointer, and `git lfs pull` in its folder fetches the file"
    return "download it again"
