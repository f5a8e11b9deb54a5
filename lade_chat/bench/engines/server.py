"""The engine's end of its process: loads the model, then answers a prompt a line."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import TypeAlias

import msgspec

from lade_chat.errors import LadeChatError, summary


class Wanted(msgspec.Struct, frozen=True):
    """The file that an engine loads, and how, as values that can be sent to a process."""

    gguf: str
    context: int | None
    threads: int


class Question(msgspec.Struct, frozen=True):
    """A prompt's ids, and the maximum number of new tokens."""

    ids: tuple[int, ...]
    max_new_tokens: int


class Answer(msgspec.Struct, frozen=True):
    """The reply's ids and its time, or the reason why there is none."""

    ids: tuple[int, ...] = ()
    seconds: float = 0.0
    error: str | None = None


Loaded: TypeAlias = Callable[[Sequence[int], int], Answer]
"""A loaded engine: function of a prompt's ids and the maximum number of new tokens."""


def main() -> None:
    """Serve stdin with the engine whose loader is the first argument, until it is closed."""
    # What libraries print must not come between the answers.
    with os.fdopen(os.dup(1), "wb", buffering=0) as out:
        os.dup2(2, 1)
        wanted = msgspec.json.decode(sys.stdin.buffer.readline(), type=Wanted)
        loaded: Loaded | None = None
        for line in sys.stdin.buffer:
            question = msgspec.json.decode(line, type=Question)
            try:
                loaded = loaded or _load(sys.argv[1], wanted)
                answer = loaded(question.ids, question.max_new_tokens)
            except Exception as error:  # engines fail in many ways, and each is a reason to be left out
                answer = Answer(error=str(error) if isinstance(error, LadeChatError) else summary(error))
            out.write(msgspec.json.encode(answer) + b"\n")


def _load(loader: str, wanted: Wanted) -> Loaded:
    module, _, function = loader.partition(":")
    loaded: Loaded = getattr(import_module(module), function)(wanted)
    return loaded
