"""Runs another inference engine in a child process, as a method of the benchmark; one that crashes is left out."""

from __future__ import annotations

import signal
import subprocess
import sys
import weakref
from collections.abc import Callable, Mapping, Sequence
from functools import cache

import msgspec

from lade_chat.bench.engines.server import Answer, Question, Wanted
from lade_chat.bench.methods.method import Method, Replier, Setup
from lade_chat.bench.results.values import Reply
from lade_chat.errors import LadeChatError

_BOOT = "import sys; sys.path[:] = {path!r}; from lade_chat.bench.engines.server import main; main()"
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
