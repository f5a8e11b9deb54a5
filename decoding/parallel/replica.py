"""Replica: a rank that has read the text and computes its part of each step, and the loop in which ranks serve."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from decoding.model.prefix import KVPrefix
from decoding.parallel.channel import Channel, Instruction, MessageKind, Part
from decoding.prefilling import PREFILL_CHUNK
from decoding.runner import runner_of
from decoding.sampling.sampler import Choices, GreedySampler, Sampler

if TYPE_CHECKING:
    from transformers import PreTrainedModel

MAX_UNREAD_TOKENS = 16
"""A rank that is further behind prefills first: such a forward pass needs no mask."""


class Replica:
    """A model that has read the text but for its last tokens, at least one, and computes one rank's part of a step.

    Accepted candidates of other ranks are read in the next forward pass, together with the last token, so that no keys
    or values ever move from rank to rank.
    """

    def __init__(self, prefix: KVPrefix) -> None:
        self._prefix = prefix
        # Of the last step, until it is settled: the tokens read before it, and the tokens of the text read in it.
        self._before, self._read = 0, 0

    def unread(self, text: Sequence[int]) -> int:
        """Return the number of tokens of a text that are not read."""
        return len(text) - self._prefix.length

    def read(self, text: Sequence[int], max_unread: int = 1) -> None:
        """Prefill until ``max_unread`` tokens of the text are left."""
        while (behind := self.unread(text)) > max_unread:
            at = self._prefix.length
            self._prefix.next_logits(text[at : at + min(PREFILL_CHUNK, behind - 1)])

    def forward_branches(self, text: Sequence[int], part: Part, sampler: Sampler) -> Choices:
        """Run one forward pass over the end of the text and this rank's part; returns the choices at its rows."""
        self.read(text, MAX_UNREAD_TOKENS)
        tree, unread = part.tree(), text[self._prefix.length :]
        inputs = part.inputs(unread, tree)
        self._before, self._read = self._prefix.length, 0
        logits = self._prefix.branch_logits(inputs)
        self._read = len(unread)
        return sampler.sample_tree(logits, text, tree, part.width)

    def settle(self, accepted: Sequence[int]) -> None:
        """Keep the text that the last step read and the accepted candidates, by their numbers in this part."""
        if self._read:
            last = self._read - 1
            self._prefix.keep(self._before, [*range(self._read), *(last + number for number in accepted)])
            self._read = 0

    def abandon(self) -> None:
        """Drop the last step, if it was not settled."""
        if self._read:
            self._prefix.rewind(self._before)
            self._read = 0


def serve(model: PreTrainedModel, channel: Channel, *, compiled: bool | str = False) -> None:
    """Compute parts of steps until rank 0 releases this rank from the model, on this rank's own device.

    The model and ``compiled`` are those of rank 0's session. Raises RankLostError if rank 0 is gone.
    """
    server = _Server(model, compiled)
    for kind, content in channel.messages():
        try:
            answer = server.answer(kind, content)
        except Exception as error:  # rank 0 reports it
            channel.send(MessageKind.ERROR, (getattr(content, "number", 0), f"{type(error).__name__}: {error}"))
        else:
            if answer is not None:
                channel.send(MessageKind.ANSWER, answer)


class _Server(Replica):
    def __init__(self, model: PreTrainedModel, compiled: bool | str) -> None:
        prefix = runner_of(model).new_prefix(compiled=compiled)
        assert isinstance(prefix, KVPrefix), "a model without a KV cache takes no steps over several branches"
        super().__init__(prefix)
        self._sampler: Sampler = GreedySampler()
        self._text: list[int] = []
        self._candidates: list[int] = []

    def answer(self, kind: MessageKind, content: Any) -> tuple[int, Choices] | None:
        """Carry out a message. Return the step's number and choices, or None where there is no answer."""
        if kind is MessageKind.SAMPLER:
            self._sampler = content
            return None
        instruction: Instruction = content
        self._follow(instruction)
        if instruction.part is None:
            self.read(self._text)
            return None
        self._candidates = instruction.part.tokens
        choices = self.forward_branches(self._text, instruction.part, self._sampler)
        return instruction.number, choices

    def _follow(self, instruction: Instruction) -> None:
        """Settle the last step, and bring the text up to date."""
        if instruction.accepted is None:
            self.abandon()
        else:
            self.settle(instruction.accepted)
            self._text += [self._candidates[number - 1] for number in instruction.accepted]
        self._text = [*self._text[: instruction.shared], *instruction.tail]
        self._prefix.rewind(min(self._prefix.length, instruction.shared))
