"""Another inference engine in a child process, as methods of the benchmark; one that crashes is left out."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import TypeAlias

import msgspec

from lade_chat.bench.methods.method import Method, Replier, Setup
from lade_chat.bench.results.values import Reply
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


_BOOT = "import sys; sys.path[:] = {path!r}; from lade_chat.bench.methods.engine_process import main; main()"
"""Unlike ``-m``: the same sys.path as here, without the working directory."""


def engine(setup: Setup, *, loaders: Mapping[str, str]) -> list[Method]:
    """Return an engine's methods, which decode greedily with this process's threads.

    Args:
        setup: the model and its file.
        loaders: by the methods' names, ``module:function``, called with a :class:`Wanted` before the first reply, which
            is not measured.
    """
    return [
        Method(name, learns=False, open=_opener(loader, setup), may_refuse=True) for name, loader in loaders.items()
    ]


def _opener(loader: str, setup: Setup) -> Callable[[int | None], Replier]:
    started = cache(lambda: EngineProcess(loader, _wanted(setup)))

    def opened(seed: int | None) -> Replier:
        if setup.sampling is not None:
            raise LadeChatError("only greedy decoding without a penalty is compared with other engines")
        return started().reply

    return opened


def _wanted(setup: Setup) -> Wanted:
    import torch

    assert setup.gguf is not None, "the plan requires a file"
    return Wanted(
        gguf=str(setup.gguf),
        context=getattr(setup.model.config, "max_position_embeddings", None),
        threads=torch.get_num_threads(),
    )


class EngineProcess:
    """A process that answers prompts with an engine; it ends with this object."""

    def __init__(self, loader: str, wanted: Wanted) -> None:
        self._child = subprocess.Popen(
            [sys.executable, "-c", _BOOT.format(path=sys.path), loader],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl+C in the terminal must not reach it
        )
        weakref.finalize(self, _end, self._child)
        self._send(wanted)

    def reply(self, ids: Sequence[int], max_new_tokens: int) -> Reply:
        """Answer a prompt. Raises LadeChatError if the engine refuses, or has crashed."""
        self._send(Question(tuple(ids), max_new_tokens))
        assert self._child.stdout is not None
        line = self._child.stdout.readline()
        if not line:
            code = self._child.wait()
            raise LadeChatError(f"it crashed: {signal.strsignal(-code) if code < 0 else f'exit code {code}'}")
        answer = msgspec.json.decode(line, type=Answer)
        if answer.error is not None:
            raise LadeChatError(answer.error)
        return Reply(answer.ids, answer.seconds)

    def _send(self, message: Wanted | Question) -> None:
        assert self._child.stdin is not None
        try:
            self._child.stdin.write(msgspec.json.encode(message) + b"\n")
            self._child.stdin.flush()
        except OSError:
            pass  # it has crashed, as the missing answer will tell


def _end(child: subprocess.Popen[bytes]) -> None:
    child.kill()
    child.communicate()
