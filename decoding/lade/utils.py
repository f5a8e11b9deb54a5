"""Configuration, log and model loading, with the names and arguments of the original implementation."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase

from decoding.arguments import as_count, shown
from decoding.lade.decoding import CONFIG_MAP, lookahead_config
from decoding.lade.patching import augment_all as augment_all
from decoding.lade.patching import augment_generate as augment_generate
from decoding.lade.patching import augment_llama as augment_llama

warned: set[str] = set()
"""Arguments that a warning has been given for."""


def config_lade(
    WINDOW_SIZE: int | None = None,  # noqa: N803
    LEVEL: int | None = None,  # noqa: N803
    DEBUG: int | bool | None = None,  # noqa: N803
    GUESS_SET_SIZE: int | None = None,  # noqa: N803
    ALWAYS_FWD_ONE: int | bool | None = None,  # noqa: N803
    SPLIT_FLAG: int | bool | None = None,  # noqa: N803
    DIST_WORKERS: int | None = None,  # noqa: N803
    POOL_FROM_PROMPT: int | bool | None = None,  # noqa: N803
    backend: str | None = None,
    USE_FLASH: int | bool | None = None,  # noqa: N803
) -> None:
    """Configure, and clear the log. Arguments left out keep their values; without any size, each step is budgeted.

    Args:
        WINDOW_SIZE, LEVEL, GUESS_SET_SIZE: W, N and G of :class:`LookaheadConfig`.
        DEBUG: print a summary after every `generate`.
        DIST_WORKERS: several processes do not share a text here; with more than one, each decodes on the device of
            its ``LOCAL_RANK``, and the first alone prints.
        POOL_FROM_PROMPT: n-grams of the prompt are candidates here always.
        ALWAYS_FWD_ONE, SPLIT_FLAG, backend, USE_FLASH: without meaning here; a warning says so, once.

    Raises:
        ValueError: a size is out of range, or ``DIST_WORKERS`` or the environment's ``LOCAL_RANK`` is not a number; the
            configuration is as it was.
    """
    given = {name: value for name, value in locals().items() if value is not None and name != "backend"}
    if DIST_WORKERS is not None:
        given["DIST_WORKERS"] = as_count(DIST_WORKERS, "DIST_WORKERS", least=0)
    rank = os.environ.get("LOCAL_RANK", "0")
    if not rank.isdecimal():
        raise ValueError(f"LOCAL_RANK must be the number of this process, not {rank!r}")
    lookahead_config({**CONFIG_MAP, **given})  # reports a size out of range here, not in the middle of `generate`
    CONFIG_MAP.update({**given, "log": []})
    CONFIG_MAP.pop("LOCAL_RANK", None)
    if distributed():
        CONFIG_MAP["LOCAL_RANK"] = int(rank)
        if torch.cuda.is_available():
            torch.cuda.set_device(CONFIG_MAP["LOCAL_RANK"])

    several = (DIST_WORKERS or 1) > 1
    unserved = (
        ("ALWAYS_FWD_ONE", ALWAYS_FWD_ONE is not None, "a step is one forward pass always"),
        ("SPLIT_FLAG", SPLIT_FLAG, "a step is never split"),
        ("DIST_WORKERS", several, "a text is decoded by one process, so every rank decodes the whole of it"),
        ("backend", backend is not None, "a text is decoded by one process"),
        ("USE_FLASH", USE_FLASH, "the attention is the model's own; sdpa and eager take lookahead's masks"),
        ("POOL_FROM_PROMPT=False", POOL_FROM_PROMPT in (False, 0), "n-grams of the prompt are candidates always"),
    )
    for name, asked, why in unserved:
        if asked and name not in warned:
            warned.add(name)
            warnings.warn(f"{name} has no meaning here: {why}", stacklevel=2)


def get_device() -> int:
    """Return this process's place among those of ``DIST_WORKERS``: the index of its GPU, 0 where it is alone."""
    return int(CONFIG_MAP.get("LOCAL_RANK", 0))


def distributed() -> bool:
    """Return True if ``DIST_WORKERS`` asked for more than one process."""
    return int(CONFIG_MAP.get("DIST_WORKERS", 1)) > 1


def log_history(clear: bool = False) -> None:
    """Print how many tokens were generated since the last `config_lade`, in how many steps; ``clear`` forgets them."""
    log = CONFIG_MAP.get("log", [])
    generated, steps = sum(entry[0] for entry in log), sum(entry[1] for entry in log)
    ratio = generated / steps if steps else 0
    sys.stdout.write(f"LADE LOG - OVERALL GEN:  {generated}  STEPS:  {steps}  AVG COMPRESS RATIO:  {ratio}\n")
    if clear:
        CONFIG_MAP["log"] = []


def save_log(log_dir: str | os.PathLike[str]) -> None:
    """Write the log to this file, a list of [tokens, steps, ratio] for each `generate`; `torch.load` reads it."""
    torch.save(CONFIG_MAP.get("log", []), Path(log_dir))


def get_model(
    model_path: str,
    quant: str | None,
    dtype: torch.dtype | str | None,
    device: str | int | torch.device,
    cache_dir: str | None,
    use_ds: bool,
    native_offload: bool = False,
) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    """Load a causal language model and its tokenizer, which becomes the model's ``tokenizer``.

    Args:
        model_path: a folder or an id of the Hugging Face Hub.
        dtype: of the weights; None for the checkpoint's own.
        device: where the model goes.
        cache_dir: where downloads are kept; None or empty for the usual place.
        quant, use_ds, native_offload: quantisation, DeepSpeed and offloading: not supported here.

    Returns:
        The model, in eval mode, and the tokenizer.

    Raises:
        NotImplementedError: one of these is asked for.
    """
    for name, value in {"quant": quant, "use_ds": use_ds, "native_offload": native_offload}.items():
        if value:
            raise NotImplementedError(f"{name}={shown(value)} is not served: load such a model with transformers")
    tokenizer = AutoTokenizer.from_pretrained(model_path, cache_dir=cache_dir or None)
    model: Any = AutoModelForCausalLM.from_pretrained(model_path, dtype=dtype or "auto", cache_dir=cache_dir or None)
    model.to(device).eval()
    model.tokenizer = tokenizer
    return model, tokenizer
