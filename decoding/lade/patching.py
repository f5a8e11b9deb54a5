"""Patches of transformers: the methods with which `GenerationMixin.generate` decodes prepared arguments.

And the output of the original implementation: the framed summary (``DEBUG=1``) and the reply as it comes (``CHAT=1``).
"""

from __future__ import annotations

import functools
import os
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from transformers import GenerationMixin, PreTrainedModel
from transformers.generation.streamers import BaseStreamer

from decoding.detokenizer import Detokenizer
from decoding.integrations.generate_call import GenerateCall
from decoding.lade.decoding import CONFIG_MAP, lookahead_config
from decoding.lookahead import LookaheadDecoder
from decoding.model.private_interfaces import OTHER_METHODS, SAMPLE_METHOD
from decoding.runner import lookahead_support
from decoding.step import Origin, Step

_TITLE = f"{'=' * 26}ACCELERATION===SUMMARY{'=' * 38}"
_RULE = "=" * 86
_BLUE, _PLAIN = "\033[34m", "\033[0m"
_OFF = ("", "0", "false", "no", "off")
_originals: dict[str, Callable[..., Any]] = {}


def augment_all() -> None:
    """Have `generate` of every model decode by lookahead; once is enough, and more does no harm."""
    augment_llama()
    augment_generate()


def augment_llama() -> None:
    """Do nothing: the models stay as they are. The original implementation replaced Llama's methods."""


def augment_generate() -> None:
    """Have `generate` of every model decode by lookahead: all that :func:`augment_all` does."""
    if _originals:
        return
    for name in (SAMPLE_METHOD, *OTHER_METHODS):
        _originals[name] = original = getattr(GenerationMixin, name)
        replacement = _by_lookahead(original) if name == SAMPLE_METHOD else _left_alone(original, OTHER_METHODS[name])
        setattr(GenerationMixin, name, replacement)


def restore() -> None:
    """Restore transformers' own methods. The configuration and the log stay for another `augment_all`."""
    for name, original in _originals.items():
        setattr(GenerationMixin, name, original)
    _originals.clear()


def _by_lookahead(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def decode(self: PreTrainedModel, input_ids: torch.LongTensor, **prepared: Any) -> Any:
        if not is_switched_on("USE_LADE", unset=True):
            return _by_the_original(original, self, input_ids, prepared)
        call, reason = _as_call(self, input_ids, prepared)
        if reason is not None:
            print_reason(str(reason))
            return _by_the_original(original, self, input_ids, prepared)

        printer = ReplyPrinter.wanted(self, input_ids[0].tolist())
        steps: list[Step] = []

        def on_step(step: Step) -> None:
            steps.append(step)
            if printer is not None:
                printer.put(step.tokens, step.origins)

        decoder, streamer = LookaheadDecoder(self, lookahead_config()), prepared.get("streamer")
        result = call.decode(decoder, streamer, has_prompt=True, on_step=on_step)
        if printer is not None:
            printer.end()
        tokens = sum(len(step.tokens) for step in steps)
        ratio = round(tokens / len(steps), 2)
        CONFIG_MAP.setdefault("log", []).append([tokens, len(steps), ratio])
        print_summary(tokens, len(steps), ratio)
        return result

    return decode


def _as_call(
    model: PreTrainedModel, input_ids: torch.LongTensor, prepared: Mapping[str, Any]
) -> tuple[GenerateCall, Exception | str | None]:
    """Return the call that `generate` prepared, and the reason why lookahead cannot serve it; None if it can."""
    given = {name: value for name, value in prepared.items() if name != "streamer"}
    call = GenerateCall.of(model, input_ids, {**given, "synced_gpus": given.get("synced_gpus") or None})
    return call, call.refusal() or lookahead_support(model).reason


def _by_the_original(
    original: Callable[..., Any], model: PreTrainedModel, input_ids: torch.LongTensor, prepared: Mapping[str, Any]
) -> Any:
    """Decode with transformers alone; ``CHAT`` still prints one text as it comes."""
    printer = ReplyPrinter.wanted(model, input_ids[0].tolist()) if len(input_ids) == 1 else None
    if printer is None:
        return original(model, input_ids, **prepared)
    streamer = PrintingStreamer(printer, prepared.get("streamer"))
    result = original(model, input_ids, **{**prepared, "streamer": streamer})
    print_summary(streamer.tokens, streamer.tokens, "N/A ")
    return result


def _left_alone(original: Callable[..., Any], reason: str) -> Callable[..., Any]:
    @functools.wraps(original)
    def decode(self: PreTrainedModel, *args: Any, **kwargs: Any) -> Any:
        if is_switched_on("USE_LADE", unset=True):
            print_reason(f"lookahead decoding serves no {reason}")
        return original(self, *args, **kwargs)

    return decode


def is_switched_on(name: str, *, unset: bool) -> bool:
    """Return True if an environment variable switches something on; ``unset`` if there is none."""
    value = os.environ.get(name)
    return unset if value is None else value.strip().lower() not in _OFF


def print_summary(tokens: int, steps: int, ratio: float | str) -> None:
    """Print the framed summary of a generation, if ``DEBUG`` asks for it."""
    _print(f"\n{_TITLE}\nGenerated tokens:  {tokens} Total steps:  {steps}  Compression ratio:  {ratio}\n{_RULE}\n")


def print_reason(reason: str) -> None:
    """Print why a call was left to the original method, if ``DEBUG`` asks for it."""
    _print(f"lade: left to the original: {reason}\n")


def _print(text: str) -> None:
    # Only the first of several processes prints.
    if CONFIG_MAP.get("DEBUG") and not CONFIG_MAP.get("LOCAL_RANK"):
        sys.stdout.write(text)
        sys.stdout.flush()


class ReplyPrinter:
    """Prints one reply as it comes; tokens that lookahead had guessed are blue where colours are wanted."""

    def __init__(self, tokenizer: Any, prompt: Sequence[int]) -> None:
        self._detokenizer = Detokenizer(tokenizer, prompt)
        coloured = sys.stdout.isatty() and "NO_COLOR" not in os.environ
        self._coloured = is_switched_on("COLOR_PRINT", unset=coloured)

    @classmethod
    def wanted(cls, model: Any, prompt: Sequence[int]) -> ReplyPrinter | None:
        """Return a printer if ``CHAT`` asks for one and the model has a ``tokenizer``, else None."""
        if not is_switched_on("CHAT", unset=False) or CONFIG_MAP.get("LOCAL_RANK"):
            return None
        tokenizer = getattr(model, "tokenizer", None)
        if tokenizer is None:
            warnings.warn("CHAT=1 prints nothing without a tokenizer: set model.tokenizer", stacklevel=4)
            return None
        return cls(tokenizer, prompt)

    def put(self, tokens: Sequence[int], origins: Sequence[Origin] = ()) -> None:
        """Print the text that these tokens complete."""
        for index, token in enumerate(tokens):
            piece = self._detokenizer.push(token)
            guessed = index < len(origins) and origins[index] is not Origin.PLAIN
            sys.stdout.write(f"{_BLUE}{piece}{_PLAIN}" if piece and guessed and self._coloured else piece)
        sys.stdout.flush()

    def end(self) -> None:
        """Print the text held back."""
        sys.stdout.write(self._detokenizer.finish())
        sys.stdout.flush()


class PrintingStreamer(BaseStreamer):
    """Prints the tokens that the original method generates, and hands them on to the caller's own streamer."""

    def __init__(self, printer: ReplyPrinter, own: BaseStreamer | None) -> None:
        self._printer, self._own = printer, own
        self.tokens = 0

    def put(self, value: torch.Tensor) -> None:
        tokens = value.reshape(-1).tolist()
        self.tokens += len(tokens)
        self._printer.put(tokens)
        if self._own is not None:
            self._own.put(value)

    def end(self) -> None:
        self._printer.end()
        if self._own is not None:
            self._own.end()
