"""Channel: messages between rank 0 and one other rank, over torch.distributed.

Their contents are pickled: all ranks run the same program for the same user, and trust one another.
"""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Iterator
from enum import IntEnum
from typing import Any

import torch
import torch.distributed as dist

BLOCK_BYTES = 512
"""The least size of a message, so that most need no second one for the rest."""
_LENGTH_BYTES = 8


class MessageKind(IntEnum):
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
    """

    def __init__(self, peer: int, group: dist.ProcessGroup | None = None) -> None:
        """
        Args:
            peer: the other rank, by its global number.
            group: a gloo group that both belong to; None for all.
        """
        self.peer, self._group = peer, group
        # Tensors that are still being sent have to stay in memory.
        self._sending: deque[tuple[dist.Work | None, torch.Tensor]] = deque()

    def send(self, kind: MessageKind, content: object = None) -> None:
        """Send a message without waiting for it to arrive.

        Raises:
            RankLostError: the peer is known to be gone.
            AttributeError, TypeError, pickle.PicklingError: the content cannot be sent.
        """
        message = pickle.dumps((int(kind), content))
        message = (len(message).to_bytes(_LENGTH_BYTES, "little") + message).ljust(BLOCK_BYTES, b"\0")
        whole = torch.frombuffer(bytearray(message), dtype=torch.uint8)
        while self._sending and (self._sending[0][0] is None or self._sending[0][0].is_completed()):
            self._sending.popleft()
        try:
            for part in whole.split([BLOCK_BYTES, len(whole) - BLOCK_BYTES]):
                if len(part):
                    self._sending.append((dist.isend(part, self.peer, self._group), part))
        except RuntimeError as error:
            raise self._lost() from error

    def receive(self) -> tuple[MessageKind, Any]:
        """Wait for the next message; returns its kind and content. Raises RankLostError if the peer has gone."""
        block = self._received(BLOCK_BYTES)
        length = int.from_bytes(block[:_LENGTH_BYTES], "little")
        missing = _LENGTH_BYTES + length - BLOCK_BYTES
        if missing > 0:
            block += self._received(missing)
        kind, content = pickle.loads(block[_LENGTH_BYTES : _LENGTH_BYTES + length])
        return MessageKind(kind), content

    def messages(self) -> Iterator[tuple[MessageKind, Any]]:
        """Yield messages as they come until the peer says END. Raises RankLostError if the peer has gone."""
        while (message := self.receive())[0] is not MessageKind.END:
            yield message

    def wait_until_sent(self) -> None:
        """Wait until the peer has received everything sent."""
        try:
            while self._sending:
                work = self._sending.popleft()[0]
                if work is not None:
                    work.wait()
        except RuntimeError as error:
            raise self._lost() from error

    def _received(self, count: int) -> bytes:
        part = torch.empty(count, dtype=torch.uint8)
        try:
            dist.recv(part, self.peer, self._group)
        except RuntimeError as error:
            raise self._lost() from error
        return part.numpy().tobytes()

    def _lost(self) -> RankLostError:
        return RankLostError(f"the process of rank {self.peer} is gone")


def channels_to_ranks(group: dist.ProcessGroup | None = None) -> list[Channel]:
    """Return rank 0's channels to the other ranks of a gloo group, in their order; None for all ranks."""
    ranks = dist.get_process_group_ranks(group) if group is not None else range(dist.get_world_size())
    return [Channel(rank, group) for rank in ranks if rank != dist.get_rank()]
