"""lade: the interface of the original implementation, so that its users change one import.

    from decoding import lade
    lade.augment_all()
    lade.config_lade(LEVEL=5, WINDOW_SIZE=7, GUESS_SET_SIZE=7, DEBUG=0)

From then on `model.generate(**inputs)` is sped up for every causal language model of transformers, greedy and sampled,
with every logits processor, stopping criterion and streamer. ``USE_LADE=0`` in the environment, looked up at every
call, has the original decode. So does whatever lookahead decoding cannot serve (beams, batches, …). With ``DEBUG=1`` a
line after every `generate` says how many steps it took, or why it was left to the original.

This is the only module that patches transformers: the methods by which `GenerationMixin.generate` decodes, which are
called with everything prepared.
"""

from __future__ import annotations

import functools
import os
import sys
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import torch
from transformers import GenerationMixin, PreTrainedModel

from decoding.arguments import InputIds, as_ids
from decoding.config import LookaheadConfig
from decoding.gate import vocabulary_size
from decoding.handed_over import HandedOver
from decoding.lookahead import LookaheadDecoder
from decoding.prefix import input_device
from decoding.step import Step
from decoding.streaming import Feed
from decoding.support import lookahead_support

_SERVED = "_sample"
"""Greedy decoding goes by this method too."""
_UNSERVED = {"_beam_search": "beam search", "_assisted_decoding": "an assistant or prompt lookup"}
_MEANINGLESS = {
    "ALWAYS_FWD_ONE": "a step is one forward pass always",
    "SPLIT_FLAG": "a step is never split",
    "DIST_WORKERS": "a text is decoded by one process",
    "backend": "a text is decoded by one process",
    "USE_FLASH": "the attention is the model's own; sdpa and eager take lookahead's masks",
}


@dataclass(frozen=True)
class _Settings:
    window_size: int | None = None
    ngram_size: int | None = None
    guess_set_size: int | None = None
    debug: bool = False

    def lookahead(self) -> LookaheadConfig:
        """What was asked for; where nothing was, what suits the machine. Raises ValueError: a size is out of range."""
        names = ("window_size", "ngram_size", "guess_set_size")
        asked = {name: getattr(self, name) for name in names if getattr(self, name) is not None}
        return LookaheadConfig(**asked) if asked else LookaheadConfig.auto()


_settings = _Settings()
_originals: dict[str, Callable[..., Any]] = {}
_history: list[list[int]] = []
_warned: set[str] = set()


def augment_all() -> None:
    """Have `generate` of every model decode by lookahead; once is enough, and more does no harm."""
    if _originals:
        return
    for name in (_SERVED, *_UNSERVED):
        _originals[name] = original = getattr(GenerationMixin, name)
        replacement = _by_lookahead(original) if name == _SERVED else _left_alone(original, _UNSERVED[name])
        setattr(GenerationMixin, name, replacement)


def restore() -> None:
    """Give transformers its own methods back. What was configured and logged stays for another `augment_all`."""
    for name, original in _originals.items():
        setattr(GenerationMixin, name, original)
    _originals.clear()


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
    """Configure, and begin the log anew. What is left out stays as it was; without any size, each step is budgeted.

    Args:
        WINDOW_SIZE, LEVEL, GUESS_SET_SIZE: W, N and G of :class:`LookaheadConfig`.
        DEBUG: whether a line is printed after every `generate`.
        POOL_FROM_PROMPT: n-grams of the prompt are candidates here always.
        ALWAYS_FWD_ONE, SPLIT_FLAG, DIST_WORKERS, backend, USE_FLASH: without meaning here; a warning says so, once.

    Raises:
        ValueError: a size is out of range.
    """
    global _settings
    sizes = {"window_size": WINDOW_SIZE, "ngram_size": LEVEL, "guess_set_size": GUESS_SET_SIZE}
    given: dict[str, Any] = {name: size for name, size in sizes.items() if size is not None}
    settings = replace(_settings, **given, debug=_settings.debug if DEBUG is None else bool(DEBUG))
    # A size out of range is told here, and not in the middle of `generate`.
    settings.lookahead()
    _settings = settings
    _history.clear()

    asked = {"ALWAYS_FWD_ONE": ALWAYS_FWD_ONE, "SPLIT_FLAG": SPLIT_FLAG, "backend": backend, "USE_FLASH": USE_FLASH}
    for name, value in {**asked, "DIST_WORKERS": DIST_WORKERS if DIST_WORKERS != 1 else None}.items():
        if value is not None:
            _warn_once(name, _MEANINGLESS[name])
    if POOL_FROM_PROMPT is not None and not POOL_FROM_PROMPT:
        _warn_once("POOL_FROM_PROMPT=False", "n-grams of the prompt are candidates always")


def log_history(clear: bool = False) -> None:
    """Print how many tokens lookahead has generated since the last `config_lade`, and in how many steps.

    Args:
        clear: forget them then.
    """
    generated, steps = (sum(column) for column in zip(*_history, strict=True)) if _history else (0, 0)
    _tell(f"{len(_history)} generations, {_compression(generated, steps)}")
    if clear:
        _history.clear()


def save_log(path: str | os.PathLike[str]) -> None:
    """Write the log, a list of [tokens generated, steps] for each `generate`, to be read with `torch.load`."""
    torch.save(_history, Path(path))


class LookaheadDecoding:
    """Lookahead decoding with W, N and G as in the paper, without patching anything."""

    def __init__(self, model: PreTrainedModel, W: int = 15, N: int = 5, G: int = 5) -> None:  # noqa: N803
        """
        Args:
            model: any causal language model of transformers.
            W, N, G: window size, n-gram size and guess set size.
        """
        self._decoder = LookaheadDecoder(model, LookaheadConfig(W, N, G))

    def generate(self, input_ids: InputIds, max_new_tokens: int = 256) -> torch.LongTensor:
        """The likeliest continuation, up to one of the end-of-sequence ids of the model's generation config.

        Args:
            input_ids: one text, shape (n,) or (1, n).

        Returns:
            The ids, prompt included. Shape (1, n + new).
        """
        model = self._decoder.model
        prompt = as_ids(input_ids, vocabulary_size(model))
        device = input_ids.device if isinstance(input_ids, torch.Tensor) else input_device(model)
        eos = getattr(model.generation_config, "eos_token_id", None)
        steps = self._decoder.generate(prompt, max_new_tokens=max_new_tokens, eos_token_ids=eos)
        new = [token for step in steps for token in step.tokens]
        ids = torch.tensor([[*prompt, *new]], device=device)
        return cast(torch.LongTensor, ids)


def _by_lookahead(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def decode(self: PreTrainedModel, input_ids: torch.LongTensor, **prepared: Any) -> Any:
        if not _wanted():
            return original(self, input_ids, **prepared)
        given = dict(prepared)
        processors, criteria = given.pop("logits_processor"), given.pop("stopping_criteria")
        config, streamer = given.pop("generation_config"), given.pop("streamer", None)
        given["synced_gpus"] = given.get("synced_gpus") or None
        handed_over = HandedOver(self, input_ids, processors, criteria, config, given)
        reason = handed_over.refusal() or lookahead_support(self).reason
        if reason is not None:
            _debug(f"left to the original: {reason}")
            return original(self, input_ids, **prepared)

        feed = None if streamer is None else Feed(streamer, input_ids[0].tolist(), prompt_told=True)
        steps: list[Step] = []

        def on_step(step: Step) -> None:
            steps.append(step)
            if feed is not None:
                feed.put(step.tokens)

        result = handed_over.decode(LookaheadDecoder(self, _settings.lookahead()), on_step=on_step)
        if feed is not None:
            feed.end()
        generated = sum(len(step.tokens) for step in steps)
        _history.append([generated, len(steps)])
        _debug(_compression(generated, len(steps)))
        return result

    return decode


def _left_alone(original: Callable[..., Any], reason: str) -> Callable[..., Any]:
    @functools.wraps(original)
    def decode(self: PreTrainedModel, *args: Any, **kwargs: Any) -> Any:
        if _wanted():
            _debug(f"left to the original: lookahead decoding serves no {reason}")
        return original(self, *args, **kwargs)

    return decode


def _wanted() -> bool:
    return os.environ.get("USE_LADE", "1").strip().lower() not in ("", "0", "false", "no", "off")


def _compression(generated: int, steps: int) -> str:
    return f"{generated} tokens in {steps} steps, compression ratio {generated / steps if steps else 0:.2f}"


def _debug(line: str) -> None:
    if _settings.debug:
        _tell(line)


def _tell(line: str) -> None:
    sys.stdout.write(f"lade: {line}\n")


def _warn_once(flag: str, why: str) -> None:
    if flag not in _warned:
        _warned.add(flag)
        warnings.warn(f"{flag} has no meaning here: {why}", stacklevel=3)
