"""Workers: rank 0's hold of the other ranks, each with a replica of the model."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from typing import TypeVar

from decoding.drafting.tree import CandidateTree
from decoding.drafting.window import JacobiWindow
from decoding.parallel.channel import Channel, Kind, WorkerError, WorkerLostError, bytes_of
from decoding.parallel.merge import merge
from decoding.parallel.messages import Instruction, choices_of
from decoding.parallel.part import Part
from decoding.parallel.replica import Replica
from decoding.parallel.split import Share, split
from decoding.sampling.sampler import Choices, Chooser, Greedy

_Result = TypeVar("_Result")

MAX_TOKENS_BEHIND = 8
"""Tokens that workers let plain steps run ahead before they read them."""


class Workers:
    """The ranks that serve, and what each of them has read. Rank 0 alone decides; they are told.

    Attributes:
        share_tokens: in the last step, the tokens of the largest forward pass of any rank.
    """

    def __init__(self, channels: Sequence[Channel]) -> None:
        """
        Args:
            channels: to ranks that :func:`~decoding.parallel.serve` the same model.
        """
        self._workers = [_Worker(channel) for channel in channels]
        self._gone_bytes = 0
        self._chooser: Chooser | None = None
        self._steps = 0
        # Of the last step.
        self._own: Replica | None = None
        self._shares: list[Share] = []
        self.share_tokens = 0

    @property
    def ranks(self) -> int:
        """How many ranks there are, rank 0 included."""
        return 1 + len(self._workers)

    @property
    def exchanged_bytes(self) -> int:
        """What rank 0 has sent and received so far."""
        return self._gone_bytes + sum(worker.channel.exchanged_bytes for worker in self._workers)

    def follow(self, text: list[int], max_behind: int = 0) -> None:
        """Have those read on who lack more than so many tokens of the text; nobody waits for it.

        Raises:
            WorkerLostError: a worker is gone.
        """
        for worker in tuple(self._workers):
            if worker.behind(text) > max_behind:
                self._tell(worker, self._steps, text, None)
                worker.read = len(text) - 1

    def look_ahead(
        self,
        own: Replica,
        own_unread: int,
        text: list[int],
        candidates: CandidateTree,
        window: JacobiWindow,
        chooser: Chooser,
        width: int,
    ) -> Choices:
        """Both branches after a text, each rank its share of them.

        Args:
            own: rank 0's replica.
            own_unread: how many tokens of the text it has not read.
            text: up to the last token.
            width: how many of each row's likeliest tokens are wanted.

        Returns:
            What is chosen at all rows, as a chooser would on one rank. Where the ranks disagree on a token, as
            rounding may have it in a near tie, rank 0's word counts and ``candidates`` is cut off there.

        Raises:
            WorkerLostError: a worker is gone. WorkerError: a worker failed. Nothing has changed.
            ValueError: the chooser cannot be sent.
        """
        self._send_chooser(chooser)
        workers = tuple(self._workers)
        unread = [own_unread, *(1 + worker.behind(text) for worker in workers)]
        shares = split(candidates, window, unread)
        parts = [share.part(candidates, window, width) for share in shares]
        self.share_tokens = max(map(sum, zip(unread, map(len, parts), strict=True)))
        self._steps += 1
        for worker, part in zip(workers, parts[1:], strict=True):
            self._tell(worker, self._steps, text, part)
        found = [own.look_ahead(text, parts[0], chooser)]
        try:
            found += [self._answer(worker) for worker in workers]
        except BaseException:
            own.abandon()
            raise
        self._own, self._shares = own, shares
        return merge(candidates, window, shares, parts, found)

    def settle(self, accepted: Sequence[int]) -> None:
        """Have every rank keep what it has read of the accepted candidates, given by their numbers in the tree."""
        assert self._own is not None, "there was no step to settle"
        kept = [_held(share, accepted) for share in self._shares]
        self._own.settle(kept[0])
        for worker, numbers in zip(self._workers, kept[1:], strict=True):
            worker.settle(numbers)

    def close(self) -> None:
        """Have them serve this model no longer."""
        for worker in tuple(self._workers):
            try:
                worker.channel.send(Kind.END)
                worker.channel.wait_until_sent()
            except WorkerLostError:
                self._drop(worker)

    def _send_chooser(self, chooser: Chooser) -> None:
        if chooser is self._chooser or (isinstance(chooser, Greedy) and isinstance(self._chooser, Greedy)):
            return
        try:
            content = pickle.dumps(chooser)
        except (AttributeError, TypeError, pickle.PicklingError) as error:
            raise ValueError(f"a logits processor cannot be sent to the workers: {error}") from error
        for worker in tuple(self._workers):
            self._guarded(worker, lambda channel: channel.send_bytes(Kind.CHOOSER, content))
        self._chooser = chooser

    def _tell(self, worker: _Worker, number: int, text: list[int], part: Part | None) -> None:
        words = worker.instruction(number, text, part).words()
        self._guarded(worker, lambda channel: channel.send(Kind.READ if part is None else Kind.STEP, words))

    def _answer(self, worker: _Worker) -> Choices:
        while True:
            kind, words = self._guarded(worker, lambda channel: channel.receive())
            if kind is Kind.ERROR:
                raise WorkerError(f"the worker of rank {worker.channel.peer} failed: {bytes_of(words).decode()}")
            if kind is Kind.ANSWER and words[0] == self._steps:
                return choices_of(words)

    def _guarded(self, worker: _Worker, use: Callable[[Channel], _Result]) -> _Result:
        try:
            return use(worker.channel)
        except WorkerLostError:
            self._drop(worker)
            raise

    def _drop(self, worker: _Worker) -> None:
        self._workers.remove(worker)
        self._gone_bytes += worker.channel.exchanged_bytes


class _Worker:
    """What rank 0 knows of one worker."""

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        # The text that it knows, and how much of it it has read.
        self._text: list[int] = []
        self.read = 0
        # Its part of the last step, and what of that it is to keep; None if that step came to nothing.
        self._part: Part | None = None
        self._accepted: list[int] | None = None

    def behind(self, text: list[int]) -> int:
        """How many tokens of a text it has yet to read, the last one not counted."""
        return len(text) - 1 - min(self.read, self._shared(text))

    def instruction(self, number: int, text: list[int], part: Part | None) -> Instruction:
        """What makes the text its own, and has it do its part."""
        shared = self._shared(text)
        instruction = Instruction(number, self._accepted, shared, text[shared:], part)
        self.read = min(self.read, shared)
        self._text[shared:] = instruction.tail
        self._part, self._accepted = part, None
        return instruction

    def settle(self, accepted: Sequence[int]) -> None:
        """Note what of the last step it is to keep."""
        assert self._part is not None
        self._accepted = list(accepted)
        # It read what it had not, the last token included.
        self.read = len(self._text) + len(accepted)
        self._text += [self._part.tokens[number - 1] for number in accepted]

    def _shared(self, text: list[int]) -> int:
        limit = min(len(self._text), len(text) - 1)
        if self._text[:limit] == text[:limit]:
            return limit
        return next(index for index in range(limit) if self._text[index] != text[index])


def _held(share: Share, accepted: Sequence[int]) -> list[int]:
    """Of the accepted candidates those that a share holds, by their numbers in its part."""
    local = {node: number for number, node in enumerate(share.nodes, start=1)}
    held: list[int] = []
    for node in accepted:
        if node not in local:
            break
        held.append(local[node])
    return held
