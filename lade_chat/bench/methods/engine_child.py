"""Another inference engine in a child process, as methods of the benchmark; one that crashes is left out."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from importlib import import_module
from typing import TypeAlias

import msgspec

from lade_chat.bench.methods.all_methods import Method, Replier, Setup
from lade_chat.bench.results.measurements import TimedReply
from lade_chat.child_process import Child, claim_stdio
from lade_chat.errors import LadeChatError, summary


class Wanted(msgspec.Struct, frozen=True):
    """The file that an engine loads, and how, as values that can be sent to a process."""

    gguf: str
    context: int | None
    threads: int


class EngineAnswer(msgspec.Struct, frozen=True):
    """The reply's ids, its time and that after the first token, or the reason why there is no reply."""

    ids: tuple[int, ...] = ()
    seconds: float = 0.0
    decoding_seconds: float = 0.0
    error: str | None = None


LoadedEngine: TypeAlias = Callable[[Sequence[int], int], EngineAnswer]
"""A loaded engine: function of a prompt's ids and the maximum number of new tokens."""


def main() -> None:
    """Serve stdin until it is closed, with the engine that the arguments name: its loader, and what is wanted."""
    lines, answers = claim_stdio()
    loaded = cache(lambda: _load(sys.argv[1], msgspec.json.decode(sys.argv[2], type=Wanted)))
    for line in lines:
        ids, max_new_tokens = msgspec.json.decode(line, type=tuple[tuple[int, ...], int])
        try:
            answer = loaded()(ids, max_new_tokens)
        except Exception as error:  # engines fail in many ways, and each is a reason to be left out
            answer = EngineAnswer(error=str(error) if isinstance(error, LadeChatError) else summary(error))
        answers.write(msgspec.json.encode(answer) + b"\n")
        answers.flush()


def _load(loader: str, wanted: Wanted) -> LoadedEngine:
    module, _, function = loader.partition(":")
    loaded: LoadedEngine = getattr(import_module(module), function)(wanted)
    return loaded


def engine(setup: Setup, *, loaders: Mapping[str, str]) -> list[Method]:
    """Return an engine's methods, which decode greedily with this process's threads.

    Args:
        setup: the model and its file.
        loaders: by the methods' names, ``module:function``, called once with a :class:`Wanted`, unmeasured.
    """
    return [
        Method(name, learns=False, open=_opener(loader, setup), may_refuse=True) for name, loader in loaders.items()
    ]


def _opener(loader: str, setup: Setup) -> Callable[[int | None], Replier]:
    started = cache(lambda: _start(loader, setup))

    def opened(seed: int | None) -> Replier:
        if setup.sampling is not None:
            raise LadeChatError("only greedy decoding without a penalty is compared with other engines")
        return partial(_reply, started())

    return opened


def _start(loader: str, setup: Setup) -> Child:
    import torch

    assert setup.gguf is not None, "the plan requires a file"
    context = getattr(setup.model.config, "max_position_embeddings", None)
    wanted = msgspec.json.encode(Wanted(str(setup.gguf), context, torch.get_num_threads())).decode()
    return Child("lade_chat.bench.methods.engine_child:main", loader, wanted, logged=False)


def _reply(child: Child, ids: Sequence[int], max_new_tokens: int) -> TimedReply:
    """Answer a prompt. Raises LadeChatError if the engine refuses, or has crashed."""
    child.send(msgspec.json.encode((ids, max_new_tokens)) + b"\n")
    line = child.stdout.readline()
    if not line:
        raise LadeChatError(f"it {child.ended()}")
    answer = msgspec.json.decode(line, type=EngineAnswer)
    if answer.error is not None:
        raise LadeChatError(answer.error)
    return TimedReply(answer.ids, answer.seconds, None, max(0, len(answer.ids) - 1), answer.decoding_seconds)
