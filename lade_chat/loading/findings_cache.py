"""Findings about models on this machine, kept in the user's cache folder so that no start pays for them again.

Everything can be found again, so errors in reading or writing the files are ignored.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lade_chat.paths import atomic_write

if TYPE_CHECKING:
    import torch

MAX_ENTRIES = 50
"""Entries of a file; the oldest is dropped first."""
_CHECK_VERSION = 2
"""Increment when steps over several branches or their check change, to check again."""
SAMPLES = 16
"""Values of each weight that a fingerprint is made of."""
VOCABULARY_STRIDE = 16
_IRRELEVANT_KEYS = ("_name_or_path", "transformers_version")


def cache_file(name: str) -> Path:
    """Return the path of a file of findings, which may not exist."""
    from platformdirs import user_cache_path

    return user_cache_path("lade-chat", appauthor=False) / f"{name}.json"


def read(name: str) -> dict[str, Any]:
    """Return a file's entries, the oldest first; none if it cannot be read."""
    try:
        entries = json.loads(cache_file(name).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return entries if isinstance(entries, dict) else {}


def write(name: str, key: str, value: Any) -> None:
    """Add an entry to a file as the newest."""
    entries = read(name)
    entries.pop(key, None)
    entries[key] = value
    with suppress(OSError):
        atomic_write(cache_file(name), json.dumps(dict(list(entries.items())[-MAX_ENTRIES:]), indent=1).encode())


def digest_of(model: Any) -> str:
    """Return the model's class with a digest of its configuration, its attention and the classes of its modules."""
    config = model.config
    shape = {name: value for name, value in config.to_dict().items() if name not in _IRRELEVANT_KEYS}
    kinds = sorted({f"{type(module).__module__}.{type(module).__qualname__}" for module in model.modules()})
    described = json.dumps([shape, getattr(config, "_attn_implementation", None), kinds], sort_keys=True, default=str)
    return f"{type(model).__name__} {sha256(described.encode()).hexdigest()[:16]}"


def fingerprint(model: Any, tokenizer: Any) -> str:
    """Return 32 hexadecimal digits that are the same wherever and in whichever dtype the model was loaded.

    A few values of every weight stand for all, since training changes all, and some tokens for the vocabulary. Values
    are rounded to bfloat16, the coarsest of the usual dtypes. Split or packed weights count by name and shape.
    """
    digest = sha256()
    for name, weight in sorted(model.named_parameters()):
        digest.update(f"{name} {tuple(weight.shape)}\n".encode())
        digest.update(_sample(weight))
    vocabulary = len(tokenizer)
    some = tokenizer.convert_ids_to_tokens(list(range(0, vocabulary, VOCABULARY_STRIDE)))
    digest.update(json.dumps([vocabulary, some]).encode())
    return digest.hexdigest()[:32]


def _sample(weight: torch.Tensor) -> bytes:
    import torch

    if hasattr(weight, "to_local"):
        return b""  # indexing a split weight would wait for the other ranks
    try:
        flat = weight.detach().reshape(-1)
        places = torch.linspace(0, max(flat.numel() - 1, 0), SAMPLES, dtype=torch.float64).long()
        return bytes(flat[places.to(flat.device)].to("cpu", torch.bfloat16).view(torch.uint8).numpy())
    except (NotImplementedError, RuntimeError, TypeError):
        return b""


def lookahead_support(model: Any) -> tuple[bool, str | None]:
    """Return the model's support for lookahead, and the reason if there is none.

    Its masks are checked once for each architecture, configuration, dtype and version of the libraries. Code that
    came with a checkpoint is always checked, since it may change without a sign.
    """
    import decoding

    is_library_code = type(model).__module__.startswith("transformers.models.")
    key = f"{digest_of(model)} | {model.device.type} | {model.dtype} | {_versions()}" if is_library_code else None
    known = key is not None and read("mask-checks").get(key) is True
    support = decoding.lookahead_support(model, checked=known)
    if support.supported and key is not None and not known:
        write("mask-checks", key, True)
    return support.supported, support.reason


def native_support(model: Any, weights: str) -> bool:
    """Return True if the model's steps run in C, as compared once with transformers for the same ``weights``."""
    import decoding
    from decoding.native.kernels import native_kernels

    kernels = native_kernels()
    if kernels is None:
        return False
    key = f"{digest_of(model)} | {weights} | {model.dtype} | {Path(kernels.library._name).name} | {_versions()}"
    known = read("native-checks").get(key) is True
    supported = decoding.native_support(model, checked=known).supported
    if supported and not known:
        write("native-checks", key, True)
    return supported


def _versions() -> str:
    import torch
    import transformers

    return f"torch {torch.__version__} | transformers {transformers.__version__} | check {_CHECK_VERSION}"


def device_name(device: torch.device) -> str:
    """Return the device with the name of its processor."""
    import platform

    import torch

    if device.type == "cuda":
        return f"{device} {torch.cuda.get_device_name(device)}"
    # Machines of several kinds may share a home folder. On Linux only /proc/cpuinfo names the processor.
    with suppress(OSError), open("/proc/cpuinfo", encoding="utf-8", errors="replace") as lines:
        names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
        if name := next(names, ""):
            return f"{device} {name}, {os.cpu_count()} cores"
    return f"{device} {platform.processor() or platform.machine()}, {os.cpu_count()} cores"
