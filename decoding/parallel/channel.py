"""Channel: messages of whole numbers between rank 0 and one other rank, over torch.distributed."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from enum import IntEnum

import numpy as np
import torch
import torch.distributed as dist

BLOCK_WORDS = 64
"""The least size of a message, so that most need no second one for the rest."""
_HEAD_WORDS = 2


class Kind(IntEnum):
    """The kind of a message."""

    END = 0
    """Stop serving this model."""
    SAMPLER = 1
    """The sampler of the steps that follow."""
    PREFILL = 2
    """Prefill, without an answer."""
    STEP = 3
    """One rank's part of a step."""
    ANSWER = 4
    ERROR = 5
    NOTE = 6
    """A message of the program around the decoders."""


class RankError(RuntimeError):
    """A rank failed to compute its part of a step; it still serves. The session is as it was before the step."""


class RankLostError(RuntimeError):
    """A rank is gone. The session is as it was before the step, and the other ranks can go on with it."""


class Channel:
    """Messages in order, to and from one other rank, over gloo.

    Token ids are on the host, and a process that waits for a message over NCCL would keep its GPU busy meanwhile.

    Attributes:
        peer: the rank at the other end.
        exchanged_bytes: the bytes sent and received.
    """

    def __init__(self, peer: int, group: dist.ProcessGroup | None = None) -> None:
        """
        Args:
            peer: the other rank, by its global number.
            group: a gloo group that both belong to; None for all.
        """
        self.peer, self._group = peer, group
        self.exchanged_bytes = 0
        # Tensors that are still being sent have to stay in memory.
        self._sending: deque[tuple[dist.Work | None, torch.Tensor]] = deque()

    def send(self, kind: Kind, words: Sequence[int] = ()) -> None:
        """Send a message without waiting for it to arrive. Raises WorkerLostError if the peer is known to be gone."""
        whole = torch.zeros(max(BLOCK_WORDS, _HEAD_WORDS + len(words)), dtype=torch.int64)
        whole[:_HEAD_WORDS] = torch.tensor((int(kind), len(words)))
        whole[_HEAD_WORDS : _HEAD_WORDS + len(words)] = torch.tensor(words, dtype=torch.int64)
        while self._sending and (self._sending[0][0] is None or self._sending[0][0].is_completed()):
            self._sending.popleft()
        try:
            for part in whole.split([BLOCK_WORDS, len(whole) - BLOCK_WORDS]):
                if len(part):
                    self._sending.append((dist.isend(part, self.peer, self._group), part))
        except RuntimeError as error:
            raise self._lost() from error
        self.exchanged_bytes += whole.nbytes

    def receive(self) -> tuple[Kind, list[int]]:
        """Wait for the next message. Raises WorkerLostError if the peer has gone."""
        whole = self._received(BLOCK_WORDS)
        kind, length = whole[:_HEAD_WORDS]
        missing = _HEAD_WORDS + length - BLOCK_WORDS
        if missing > 0:
            whole += self._received(missing)
        return Kind(kind), whole[_HEAD_WORDS : _HEAD_WORDS + length]

    def send_bytes(self, kind: Kind, content: bytes) -> None:
        """As :meth:`send`, for bytes; read back by :func:`decode_bytes`."""
        padded = content + b"\0" * (-len(content) % 8)
        self.send(kind, [len(content), *np.frombuffer(padded, dtype=np.int64).tolist()])

    def wait_until_sent(self) -> None:
        """Wait until the peer has received everything sent."""
        try:
            while self._sending:
                work = self._sending.popleft()[0]
                if work is not None:
                    work.wait()
        except RuntimeError as error:
            raise self._lost() from error

    def _received(self, words: int) -> list[int]:
        part = torch.empty(words, dtype=torch.int64)
        try:
            dist.recv(part, self.peer, self._group)
        except RuntimeError as error:
            raise self._lost() from error
        self.exchanged_bytes += part.nbytes
        received: list[int] = part.tolist()
        return received

    def _lost(self) -> RankLostError:
        return RankLostError(f"the process of rank {self.peer} is gone")


def decode_bytes(words: Sequence[int]) -> bytes:
    """Read what :meth:`Channel.send_bytes` sent."""
    return np.asarray(words[1:], dtype=np.int64).tobytes()[: words[0]]


def channels_to_ranks(group: dist.ProcessGroup | None = None) -> list[Channel]:
    """Return rank 0's channels to the other ranks of a gloo group, in their order; None for all ranks."""
    ranks = dist.get_process_group_ranks(group) if group is not None else range(dist.get_world_size())
    return [Channel(rank, group) for rank in ranks if rank != dist.get_rank()]
