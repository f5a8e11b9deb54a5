"""RankGroup: rank 0's handle on the other ranks: starts them, has them load the model, and shares steps with them."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from dataclasses import replace
from threading import Thread

import msgspec
import torch
import torch.distributed as dist

from decoding.parallel import Channel, Mirror, PeerRanks, RankLostError, channels_to_ranks
from decoding.parallel.channel import MessageKind, is_peer_lost
from lade_chat.child_processes import Child
from lade_chat.engine.ranks import torchrun
from lade_chat.engine.ranks.worker import FAILED, Assignment, arrived, join
from lade_chat.errors import DeviceError, LadeChatError, one_line
from lade_chat.loading.model_loader import LoadedModel, Report, load, with_compiled_steps
from lade_chat.loading.saved_step_cost import keep_step_cost
from lade_chat.protocol.values import ModelOptions

START_SECONDS = 300.0
POLL_SECONDS = 0.05
_ALONE = " Decoding in one process."


class RankGroup:
    """The other ranks, none at first. Use from one thread at a time."""

    def __init__(self) -> None:
        self._size = self._asked = 1
        self._children: list[Child] = []
        self._store: torchrun.RankStore | None = None
        self._channels: list[Channel] = []
        self._loading: list[Channel] = []
        self._serving: list[Channel] = []
        self._threads: int | None = None
        self._assigning: Thread | None = None
        self._trouble: str | None = None
        self._workers: PeerRanks | None = None
        self._split = False

    def assign(self, options: ModelOptions) -> None:
        """Have so many ranks load the model in the background. Raises LadeChatError if there cannot be so many."""
        self._wait_until_assigned()
        size = self._asked = options.processes
        _check_devices(options, size)
        is_lost = self._workers is not None and self._workers.ranks <= len(self._serving)
        if size != self._size or self._split or is_lost or len(self._channels) < self._size - 1:
            self.close()
        self._split = options.tensor_parallel > 1
        if size > 1:
            assignment = msgspec.json.encode(Assignment(options, self._share_threads(size)))
            # Starting them takes seconds, in which this process loads the model too.
            self._assigning = Thread(
                target=self._assign, args=(size, assignment, self._split), name="ranks", daemon=True
            )
            self._assigning.start()
        if self._split:
            # Every rank loads its part in step with the others.
            self._wait_until_assigned()
            if self._trouble is not None:
                raise LadeChatError(self._trouble)

    @contextlib.contextmanager
    def loading(self) -> Iterator[None]:
        """Load within: where that fails because another rank does not load its part, LadeChatError says why not."""
        try:
            yield
        except LadeChatError as error:
            if self._split and is_peer_lost(error):
                raise LadeChatError(self._why_lost()) from error
            raise

    def attach(self, loaded: LoadedModel) -> LoadedModel:
        """Return the model shared with all ranks that have loaded it; notices name those that failed to."""
        if self._size == 1 and self._assigning is None:
            return loaded
        self._wait_until_assigned()
        problems = [problem for channel in self._loading if (problem := self._problem(channel)) is not None]
        problems += [] if self._trouble is None else [self._trouble]
        self._loading = []
        info = msgspec.structs.replace(loaded.info, notices=(*loaded.info.notices, *problems))
        if self._split:
            if problems:
                raise LadeChatError(self._why_lost())
            mirror = Mirror(loaded.model, self._serving)
            return replace(loaded, info=msgspec.structs.replace(info, tensor_parallel=mirror.ranks))
        self._workers = PeerRanks(self._serving)
        info = msgspec.structs.replace(info, lookahead_workers=self._workers.ranks)
        return replace(loaded, info=info, workers=self._workers)

    def attach_all(self, loaded: LoadedModel) -> LoadedModel:
        """Like :meth:`attach`, for measurements: raises LadeChatError if any rank is missing."""
        known, asked = len(loaded.info.notices), self._asked
        loaded = self.attach(loaded)
        if max(loaded.info.lookahead_workers, loaded.info.tensor_parallel) < asked:
            raise LadeChatError(loaded.info.notices[known].removesuffix(_ALONE))
        return loaded

    def close(self) -> None:
        """End the ranks that were started here."""
        if self._threads is not None:
            torch.set_num_threads(self._threads)
            self._threads = None
        if self._channels:
            dist.destroy_process_group()
        self._channels, self._loading, self._serving, self._size = [], [], [], 1
        self._workers, self._split = None, False
        for child in self._children:
            child.kill()
            child.ended()
        self._children = []

    def use_threads(self) -> None:
        """Limit the calling thread to this rank's share of the processor; OpenMP's setting is per thread."""
        if self._threads is not None:
            torch.set_num_threads(max(1, self._threads // self._size))

    def _assign(self, size: int, assignment: bytes, split: bool) -> None:
        self._trouble = None
        try:
            if not self._channels:
                self._start(size)
            self._release()
            self._send_all(assignment)
        except Exception as error:  # on a thread of its own: reported when the model is attached
            why = f"could not start: {one_line(error).rstrip('.')}."
            self._trouble = f"The other processes {why}" if split else f"The lookahead workers {why}{_ALONE}"

    def _wait_until_assigned(self) -> None:
        if self._assigning is not None:
            self._assigning.join()
            self._assigning = None

    def _start(self, size: int) -> None:
        from torch.distributed import PrefixStore, TCPStore  # type: ignore[attr-defined]

        store: torchrun.RankStore
        if torchrun.is_under_torchrun():
            shared = torchrun.store()
            engine = shared.add(torchrun.ENGINES, 1)
            shared.set(f"{torchrun.ENGINES}/{engine}", "1")
            store = PrefixStore(f"lade-chat/{engine}", shared)
        else:
            if os.name != "posix":
                raise LadeChatError("they need Linux or macOS")
            store = TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
            for rank in range(1, size):
                arguments = map(str, (store.port, rank, size))
                self._children.append(Child("lade_chat.engine.ranks.worker:run_worker", *arguments))
        try:
            self._wait_for(store, size)
            join(store, 0, size)
        except BaseException:
            self.close()
            raise
        self._store, self._channels, self._size = store, channels_to_ranks(), size

    def _wait_for(self, store: torchrun.RankStore, size: int) -> None:
        deadline = time.monotonic() + START_SECONDS
        keys = [arrived(rank) for rank in range(1, size)]
        while not store.check(keys):
            ended = next((child for child in self._children if not child.is_running), None)
            if ended is not None:
                raise LadeChatError(f"one {ended.ended()}")
            if time.monotonic() > deadline:
                raise LadeChatError(f"they were not there after {START_SECONDS:.0f} seconds")
            time.sleep(POLL_SECONDS)

    def _why_lost(self) -> str:
        """Say why a rank that loads a part of the model is gone."""
        if self._store is not None and self._store.check([FAILED]):
            return str(self._store.get(FAILED).decode())
        ended = next((child for child in self._children if not child.is_running), None)
        return f"Another process, with a part of the model, {'is gone' if ended is None else ended.ended()}."

    def _release(self) -> None:
        for channel in self._loading:
            self._problem(channel)
        for channel in self._serving:
            with contextlib.suppress(RankLostError):
                channel.send(MessageKind.END)
        self._loading, self._serving = [], []

    def _send_all(self, assignment: bytes) -> None:
        for channel in tuple(self._channels):
            try:
                channel.send(MessageKind.NOTE, assignment)
                self._loading.append(channel)
            except RankLostError as error:
                self._channels.remove(channel)
                self._trouble = f"A lookahead worker is missing: {error}."

    def _problem(self, channel: Channel) -> str | None:
        """Wait until a rank has loaded the model; returns a line that says why it could not."""
        try:
            while (message := channel.receive())[0] is not MessageKind.NOTE:
                pass  # a late answer to a step
        except RankLostError as error:
            self._channels.remove(channel)
            return f"A lookahead worker is missing: {error}."
        problem = msgspec.json.decode(message[1], type=str | None)
        if problem is None:
            self._serving.append(channel)
            return None
        return f"The lookahead worker of rank {channel.peer} could not load the model: {problem}"

    def _share_threads(self, size: int) -> int:
        """Divide the processor's threads among the ranks; torchrun's own setting stays."""
        if not torchrun.is_under_torchrun() and self._threads is None:
            self._threads = torch.get_num_threads()
            torch.set_num_threads(max(1, self._threads // size))
        return torch.get_num_threads()


def _check_devices(options: ModelOptions, size: int) -> None:
    if size == 1:
        return
    wanted = options.device or ("cuda" if torch.cuda.is_available() else "cpu")
    if torchrun.is_under_torchrun() or not wanted.startswith("cuda") or not torch.cuda.is_available():
        return
    if wanted != "cuda" or torch.cuda.device_count() < size:
        raise DeviceError(
            f"{size} lookahead workers need a GPU each, and there are {torch.cuda.device_count()}"
            f" (--device {wanted}): choose fewer workers, or --device cpu."
        )


def load_on_all(options: ModelOptions, report: Report, ranks: RankGroup) -> LoadedModel:
    """Load the model on all ranks, compile its steps if asked to, and look up their cost if lookahead needs it."""
    ranks.assign(options)
    with ranks.loading():
        loaded = load(options, report)
    if options.compiled:
        report("compile", 0, 1)
        loaded = with_compiled_steps(loaded)
        report("compile", 1, 1)
    loaded = ranks.attach(loaded)
    if options.step_cost and loaded.info.lookahead_supported:
        # Elsewhere it can wait until the first token was shown.
        measured = options.compiled or options.processes > 1
        report("cost", 0, 1)
        keep_step_cost(loaded, measured=measured)
        report("cost", 1, 1)
    return loaded
