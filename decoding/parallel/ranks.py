"""PeerRanks: the other ranks as rank 0 sees them, each with a replica of the model."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from decoding.parallel.channel import Channel, Instruction, MessageKind, Part, RankError, RankLostError
from decoding.parallel.replica import Replica
from decoding.parallel.split import merge, split
from decoding.planning.planner import StepPlan
from decoding.sampling.sampler import Choices, GreedySampler, Sampler
from decoding.session import shared_length

MAX_TOKENS_BEHIND = 8
"""Tokens that plain steps may run ahead of the other ranks."""


class PeerRanks:
    """The ranks that serve, and how far each has read the text. Rank 0 alone decides.

    Attributes:
        share_tokens: in the last step, the tokens of the largest forward pass of any rank.
    """

    def __init__(self, channels: Sequence[Channel]) -> None:
        """Take channels to ranks that :func:`~decoding.parallel.serve` the same model."""
        self._others = [_Rank(channel) for channel in channels]
        self._sampler: Sampler | None = None
        self._steps = 0
        # Rank 0's replica, and its part of the last step.
        self._own: tuple[Replica, Part] | None = None
        self.share_tokens = 0

    @property
    def ranks(self) -> int:
        """The number of ranks, rank 0 included."""
        return 1 + len(self._others)

    def follow(self, text: list[int], max_behind: int = 0) -> None:
        """Prefill on the ranks that lack more than ``max_behind`` tokens; nobody waits. Raises RankLostError."""
        for rank in tuple(self._others):
            if rank.behind(text) > max_behind:
                self._tell(rank, self._steps, text, None)
                rank.cached = len(text) - 1

    def forward_branches(self, own: Replica, text: list[int], plan: StepPlan, sampler: Sampler, width: int) -> Choices:
        """Run both branches after a text, a share of them on each rank, of which rank 0's replica is one.

        Returns:
            The tokens chosen at all rows, as on one rank. Where ranks disagree on a token, as rounding allows in a
            near tie, rank 0's choice counts and the plan's candidates are cut off there.

        Raises:
            RankLostError: a rank is gone. RankError: a rank failed. The session is unchanged.
            ValueError: the sampler cannot be sent.
        """
        self._send_sampler(sampler)
        others, candidates, window = tuple(self._others), plan.candidates, plan.window
        unread = [own.unread(text), *(1 + rank.behind(text) for rank in others)]
        parts = split(candidates, window, unread, width)
        self.share_tokens = max(map(sum, zip(unread, map(len, parts), strict=True)))
        self._steps += 1
        for rank, part in zip(others, parts[1:], strict=True):
            self._tell(rank, self._steps, text, part)
        try:
            found = [own.forward_branches(text, parts[0], sampler), *(self._answer(rank) for rank in others)]
        except BaseException:
            own.abandon()
            raise
        self._own = own, parts[0]
        return merge(candidates, window, parts, found)

    def settle(self, accepted: Sequence[int]) -> None:
        """Have every rank keep the accepted candidates that it has read, given by their numbers in the tree."""
        assert self._own is not None, "there was no step to settle"
        own, part = self._own
        own.settle(part.held(accepted))
        for rank in self._others:
            rank.settle(accepted)

    def close(self) -> None:
        """Release the ranks from serving this model."""
        for rank in self._others:
            rank.channel.close()

    def _send_sampler(self, sampler: Sampler) -> None:
        if sampler is self._sampler or (
            isinstance(sampler, GreedySampler) and isinstance(self._sampler, GreedySampler)
        ):
            return
        try:
            for rank in tuple(self._others):
                with self._guarded(rank) as channel:
                    channel.send(MessageKind.SAMPLER, sampler)
        except (AttributeError, TypeError, pickle.PicklingError) as error:
            raise ValueError(f"a logits processor cannot be sent to the other ranks: {error}") from error
        self._sampler = sampler

    def _tell(self, rank: _Rank, number: int, text: list[int], part: Part | None) -> None:
        instruction = rank.instruction(number, text, part)
        with self._guarded(rank) as channel:
            channel.send(MessageKind.STEP, instruction)

    def _answer(self, rank: _Rank) -> Choices:
        while True:
            with self._guarded(rank) as channel:
                kind, content = channel.receive()
            if kind not in (MessageKind.ANSWER, MessageKind.ERROR) or content[0] != self._steps:
                # Of a step that was given up, or of a prefill, which is tried again in this step.
                continue
            if kind is MessageKind.ERROR:
                raise RankError(f"rank {rank.channel.peer} failed: {content[1]}")
            choices: Choices = content[1]
            return choices

    @contextmanager
    def _guarded(self, rank: _Rank) -> Iterator[Channel]:
        """Use a rank's channel; the rank counts no more if it is lost."""
        try:
            yield rank.channel
        except RankLostError:
            self._others.remove(rank)
            raise


class _Rank:
    """One other rank, as far as rank 0 knows it."""

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        # The text that it knows, and the number of tokens read.
        self._text: list[int] = []
        self.cached = 0
        # Its part of the last step, and the candidates of it to keep; None if that step was abandoned.
        self._part: Part | None = None
        self._accepted: list[int] | None = None

    def behind(self, text: list[int]) -> int:
        """Return the number of tokens of a text that it has yet to read, without the last one."""
        return len(text) - 1 - min(self.cached, shared_length(self._text, text[:-1]))

    def instruction(self, number: int, text: list[int], part: Part | None) -> Instruction:
        """Return the instruction that brings it up to date and gives it its part."""
        shared = shared_length(self._text, text[:-1])
        instruction = Instruction(number, self._accepted, shared, text[shared:], part)
        self.cached = min(self.cached, shared)
        self._text[shared:] = instruction.tail
        self._part, self._accepted = part, None
        return instruction

    def settle(self, accepted: Sequence[int]) -> None:
        """Note the candidates of the last step that it keeps, of those accepted."""
        assert self._part is not None
        self._accepted = self._part.held(accepted)
        # In that step it also read the rest of the text.
        self.cached = len(self._text) + len(self._accepted)
        self._text += [self._part.tokens[number - 1] for number in self._accepted]
