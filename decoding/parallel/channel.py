"""Channel: messages between rank 0 and one other rank, over torch.distributed.

Their contents are pickled: all ranks run the same program for the same user, and trust one another.
"""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import IntEnum
from itertools import takewhile
from typing import Any

import numpy as np
import torch
import torch.distributed as dist

from decoding.branches.candidate_tree import CandidateTree
from decoding.branches.window import geometry
from decoding.model.step_inputs import StepInputs
from decoding.step import Origin

BLOCK_BYTES = 512
"""Minimum size of a message, so that most fit into one."""
_LENGTH_BYTES = 8


@dataclass(frozen=True)
class Part:
    """One rank's part of a step.

    Attributes:
        nodes: its candidates by their numbers in the whole tree, parents before children; with each all its ancestors.
        tokens: their tokens.
        parents: the number of each one's parent in this part; the last token is number 0.
        start: its first column of the window.
        rows: the window's first row up to the last of its columns, and its own columns of the other rows.
        width: the number of likeliest next tokens to return for each row.
    """

    nodes: list[int]
    tokens: list[int]
    parents: list[int]
    start: int
    rows: list[list[int]]
    width: int

    @property
    def columns(self) -> int:
        """The number of columns of its own."""
        return len(self.rows[0]) - self.start if self.rows else 0

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "nodes": []}  # a rank keeps by numbers in its part: most messages fit into one block

    def tree(self) -> CandidateTree:
        """Its candidates."""
        tree = CandidateTree()
        for token, parent in zip(self.tokens, self.parents, strict=True):
            # Only rank 0, which proposed it, cares for a candidate's source.
            tree.grow(parent, token, 1 + (tree.depths[parent - 1] if parent else 0), Origin.CONTEXT)
        return tree

    def held(self, accepted: Sequence[int]) -> list[int]:
        """Return the accepted candidates, given by their numbers in the tree, by those that they have in this part."""
        own = {node: number for number, node in enumerate(self.nodes, start=1)}
        return [own[node] for node in takewhile(own.__contains__, accepted)]

    def inputs(self, unread: Sequence[int], tree: CandidateTree) -> StepInputs:
        """Return the inputs of this rank's forward pass, with depths counted from the first of the unread.

        The unread are the end of the text, the last token included; all the others see it.
        """
        last = len(unread) - 1
        first_of_window = len(unread) + len(tree)
        window = [token for row in self.rows for token in row]
        total = first_of_window + len(window)
        visible = np.zeros((total, total), dtype=np.bool_)
        visible[:last, :last] = np.tri(last, dtype=np.bool_)
        visible[last:, :last] = True
        visible[last:first_of_window, last:first_of_window] = tree.ancestry()
        depths = [*range(last + 1), *(last + depth for depth in tree.depths)]
        if window:
            window_depths, window_visible = geometry(len(self.rows), self.start, len(self.rows[0]))
            visible[first_of_window:, last] = True
            visible[first_of_window:, first_of_window:] = window_visible
            depths += (window_depths + last).tolist()
        return StepInputs(
            token_ids=[*unread, *tree.tokens, *window],
            depths=depths,
            mask=visible.tobytes(),
            logit_rows=[*range(last, first_of_window), *range(total - self.columns, total)],
        )

    def __len__(self) -> int:
        """Return the number of tokens of its forward pass beside those of the text."""
        return len(self.tokens) + sum(map(len, self.rows))


@dataclass(frozen=True)
class Instruction:
    """The outcome of a rank's last step, the text as it is now, and its part of the next step, if any.

    Attributes:
        number: the step's, to recognise late answers to other steps.
        accepted: the candidates of its last part to keep; None if that step was abandoned.
        shared: the number of tokens of its text that are still valid.
        tail: the tokens after them.
        part: None to prefill only.
    """

    number: int
    accepted: Sequence[int] | None
    shared: int
    tail: Sequence[int]
    part: Part | None = None


class MessageKind(IntEnum):
    """The kind of a message."""

    END = 0
    """Stop serving this model."""
    SAMPLER = 1
    """The sampler of the steps that follow."""
    STEP = 2
    """One rank's part of a step; without a part, a prefill, which has no answer."""
    ANSWER = 3
    ERROR = 4
    NOTE = 5
    """A message of the program around the decoders."""


class RankError(RuntimeError):
    """A rank failed to compute its part of a step; it still serves. The session is as it was before the step."""


class RankLostError(RuntimeError):
    """A rank is gone. The session is as it was before the step, and the other ranks can go on with it."""


def is_peer_lost(error: BaseException | None) -> bool:
    """Return True for gloo's error when the other end of a connection closes, and for one that it caused."""
    while error is not None:
        if isinstance(error, RuntimeError) and ("closed by peer" in str(error) or "reset by peer" in str(error)):
            return True
        error = error.__cause__
    return False


class Channel:
    """Messages in order, to and from one other rank, over gloo.

    Token ids are on the host, and a process that waits for a message over NCCL would keep its GPU busy meanwhile.

    Attributes:
        peer: the rank at the other end.
    """

    def __init__(self, peer: int, group: dist.ProcessGroup | None = None) -> None:
        """Take the other rank, by its global number, and a gloo group that both belong to; None for all."""
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

    def close(self) -> None:
        """Say END, and wait until the peer has received all that was sent, unless it is gone."""
        with suppress(RuntimeError):
            self.send(MessageKind.END)
            while self._sending:
                work, _ = self._sending.popleft()
                if work is not None:
                    work.wait()

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
