"""A rank without a screen: loads the model that rank 0's engine loads, and shares its steps."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from lade_chat.child_processes import end_with_parent, limit_spinning
from lade_chat.engine.ranks import torchrun
from lade_chat.errors import one_line, summary
from lade_chat.protocol.values import ModelOptions

if TYPE_CHECKING:
    from decoding.parallel import Channel
    from lade_chat.loading.model_loader import LoadedModel

POLL_SECONDS = 0.2
FAILED = "failed"
"""The store's key for the line that says why a rank did not load its part of a model."""


class Assignment(msgspec.Struct, frozen=True):
    """The model that a worker loads."""

    options: ModelOptions
    threads: int = 1


def join(store: torchrun.RankStore, rank: int, ranks: int) -> None:
    """Join torch's default process group, as all ranks have to; without torchrun all are on this machine."""
    from datetime import timedelta

    import torch
    import torch.distributed as dist

    # transformers reads these to split a model.
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(ranks))
    os.environ.setdefault("LOCAL_RANK", str(rank))
    backend = "cpu:gloo,cuda:nccl" if torch.cuda.is_available() and dist.is_nccl_available() else "gloo"
    # A chat may be idle for days between two steps.
    dist.init_process_group(backend, store=store, rank=rank, world_size=ranks, timeout=timedelta(days=365))


def arrived(rank: int) -> str:
    """The store's key for a rank that is ready to join."""
    return f"arrived/{rank}"


def run_worker() -> None:
    """Run a rank that rank 0 has started, until either ends it. Arguments: port, rank, number of ranks."""
    end_with_parent()
    limit_spinning()
    port, rank, ranks = map(int, sys.argv[1:])
    from torch.distributed import TCPStore  # type: ignore[attr-defined]

    store = TCPStore("127.0.0.1", port, is_master=False)
    store.set(arrived(rank), "1")
    _serve(store, rank, ranks)
    os._exit(0)


def run_under_torchrun() -> None:
    """Run a rank other than 0 that torchrun has started: serve each of rank 0's engines until rank 0 ends."""
    limit_spinning()
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    stderr, parent = _leave_terminal(), os.getppid()
    threading.Thread(target=_end_with_parent, args=(parent,), daemon=True).start()
    try:
        _serve_engines(torchrun.store())
    except RuntimeError as error:
        if os.getppid() == parent:  # otherwise nobody can read it
            os.write(stderr, f"error: rank {torchrun.rank()}: {summary(error)}\n".encode())
    os._exit(1)


def _leave_terminal() -> int:
    """Discard library output to the terminal, where rank 0 draws. Returns a copy of stderr."""
    stderr, nothing = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        if os.isatty(stream):
            os.dup2(nothing, stream)
    os.close(nothing)
    return stderr


def _serve_engines(store: torchrun.RankStore) -> None:
    from torch.distributed import PrefixStore, destroy_process_group  # type: ignore[attr-defined]

    engine = 1
    while True:
        while not store.check([f"{torchrun.ENGINES}/{engine}"]):
            if store.check([torchrun.OVER]):
                os._exit(0)
            time.sleep(POLL_SECONDS)
        own = PrefixStore(f"lade-chat/{engine}", store)
        own.set(arrived(torchrun.rank()), "1")
        _serve(own, torchrun.rank(), torchrun.world_size())
        destroy_process_group()
        engine += 1


def _serve(store: torchrun.RankStore, rank: int, ranks: int) -> None:
    """Join, and carry out assignments until rank 0 releases this rank or ends."""
    join(store, rank, ranks)
    from decoding.parallel import Channel, RankLostError
    from decoding.parallel.channel import MessageKind

    channel = Channel(0)
    with suppress(RankLostError):
        for kind, content in channel.messages():
            if kind is MessageKind.NOTE:
                _carry_out(msgspec.json.decode(content, type=Assignment), channel, rank, store)


def _carry_out(assignment: Assignment, channel: Channel, rank: int, store: torchrun.RankStore) -> None:
    """Load the model, tell rank 0 the problem with it, or None, and share its steps.

    Raises RankLostError if this rank cannot load its part of a model: the others load theirs in step with it, take no
    message meanwhile, and notice only that it leaves.
    """
    from decoding.parallel import RankLostError, serve, serve_part
    from decoding.parallel.channel import MessageKind, is_peer_lost

    try:
        loaded = _load(assignment, rank)
    except Exception as error:  # rank 0 reports it
        if assignment.options.tensor_parallel > 1:
            if not is_peer_lost(error):
                store.set(FAILED, f"The process of rank {rank} could not load the model: {one_line(error)}")
            raise RankLostError(f"rank {rank} leaves") from error
        channel.send(MessageKind.NOTE, msgspec.json.encode(one_line(error)))
        return
    channel.send(MessageKind.NOTE, msgspec.json.encode(None))
    if assignment.options.tensor_parallel > 1:
        serve_part(loaded.model, channel)
    else:
        serve(loaded.model, channel, compiled=loaded.info.compiled)


def _load(assignment: Assignment, rank: int) -> LoadedModel:
    import torch

    from lade_chat.loading.model_loader import load, with_compiled_steps

    torch.set_num_threads(assignment.threads)
    options = assignment.options
    replicas = options.tensor_parallel == 1
    if replicas and torch.cuda.is_available() and (options.device or "cuda").startswith("cuda"):
        options = msgspec.structs.replace(options, device=f"cuda:{rank % torch.cuda.device_count()}")
    loaded = load(options, lambda *progress: None)
    return with_compiled_steps(loaded) if options.compiled else loaded


def _end_with_parent(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(POLL_SECONDS)
    os._exit(1)
