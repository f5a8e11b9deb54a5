"""Other ranks for tests, and this process as rank 0: one in a process of its own, or many in threads."""

from __future__ import annotations

import os
import pickle
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from queue import SimpleQueue
from typing import Any, TypeAlias

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from transformers import AutoModelForCausalLM
from transformers.distributed.configuration_utils import DistributedConfig

from decoding.parallel import Channel, PeerRanks, RankLostError, channels_to_ranks, serve, serve_part
from decoding.parallel.channel import MessageKind
from tests.models import random_model

Job = Callable[[Channel], None]
START = "fork" if sys.platform == "linux" else "spawn"
"""A process that is forked has imported torch and transformers, which takes six seconds of a processor."""


class Rank:
    """One process that does jobs, one after the other; started at need, and again when it was killed."""

    def __init__(self) -> None:
        self._process: Any = None

    def begin(self, job: Job) -> Channel:
        """Have it begin a job, which is to end as rank 0 says END; returns the channel to it."""
        if self._process is None or not self._process.is_alive():
            self.close()
            store = dist.TCPStore("127.0.0.1", 0, 2, is_master=True, wait_for_workers=False)
            self._process = mp.get_context(START).Process(target=_work, args=(store.port,), daemon=True)
            self._process.start()
            _join(store, 0)
            (self._channel,) = channels_to_ranks()
        self._channel.send(MessageKind.NOTE, job)
        return self._channel

    def kill(self) -> None:
        """End the process as a crash does."""
        if self._process is not None:
            self._process.kill()
            self._process.join()

    def close(self) -> None:
        """End the process, if there is one, and leave its group."""
        self.kill()
        if self._process is not None:
            self._process = None
            dist.destroy_process_group()


Messages: TypeAlias = "SimpleQueue[tuple[MessageKind, bytes]]"


class LocalChannel(Channel):
    """A channel to or from a thread of this process."""

    def __init__(self, peer: int, outgoing: Messages, incoming: Messages) -> None:
        super().__init__(peer)
        self._outgoing, self._incoming = outgoing, incoming

    def send(self, kind: MessageKind, content: object = None) -> None:
        message = pickle.dumps(content)
        self._outgoing.put((kind, message))

    def receive(self) -> tuple[MessageKind, Any]:
        kind, message = self._incoming.get()
        return kind, pickle.loads(message)


@contextmanager
def workers_in_threads(models: Sequence[Any]) -> Iterator[PeerRanks]:
    """A worker for each of these equal models, none of which may be used elsewhere."""
    channels, threads = [], []
    for rank, model in enumerate(models, start=1):
        outgoing: Messages = SimpleQueue()
        incoming: Messages = SimpleQueue()
        channels.append(LocalChannel(rank, outgoing, incoming))
        worker = LocalChannel(0, incoming, outgoing)
        threads.append(threading.Thread(target=serve, args=(model, worker), daemon=True))
        threads[-1].start()
    workers = PeerRanks(channels)
    try:
        yield workers
    finally:
        workers.close()
        for thread in threads:
            thread.join()


def serve_replica(family: str, channel: Channel) -> None:
    serve(random_model(family, layers=3), channel)


def serve_part_of(folder: str, channel: Channel) -> None:
    serve_part(part_of(folder), channel)


def part_of(folder: str) -> Any:
    """This rank's part of a float64 model; all ranks have to call this."""
    parallel = DistributedConfig(tp_size=2, tp_plan="auto")
    return AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float64, distributed_config=parallel).eval()


def _work(port: int) -> None:
    torch.set_num_threads(1)
    _join(dist.TCPStore("127.0.0.1", port, 2, is_master=False), 1)
    channel = Channel(0)
    with suppress(RankLostError):
        while True:
            kind, job = channel.receive()
            if kind is MessageKind.NOTE:
                job(channel)


def _join(store: dist.Store, rank: int) -> None:
    os.environ.update(RANK=str(rank), WORLD_SIZE="2", LOCAL_RANK=str(rank))
    dist.init_process_group("gloo", store=store, rank=rank, world_size=2, timeout=timedelta(hours=1))
