"""Output of the original implementation: the framed summary (``DEBUG=1``) and the reply as it comes (``CHAT=1``)."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Sequence
from typing import Any

import torch
from transformers.generation.streamers import BaseStreamer

from decoding.detokenizer import Detokenizer
from decoding.lade.decoding import CONFIG_MAP
from decoding.step import Origin

_TITLE = f"{'=' * 26}ACCELERATION===SUMMARY{'=' * 38}"
_RULE = "=" * 86
_BLUE, _PLAIN = "\033[34m", "\033[0m"
_OFF = ("", "0", "false", "no", "off")


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
