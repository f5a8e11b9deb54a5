"""Serving as a worker: parts of steps computed for rank 0, which alone decides."""

from __future__ import annotations

import pickle

from transformers import PreTrainedModel

from decoding.model.prefix import KVPrefix
from decoding.parallel.channel import Channel, Kind, bytes_of
from decoding.parallel.messages import Instruction, words_of
from decoding.parallel.replica import Replica
from decoding.runner import runner_of
from decoding.sampling.sampler import Chooser, Greedy


def serve(model: PreTrainedModel, channel: Channel, *, compiled: bool | str = False) -> None:
    """Compute parts of steps until rank 0 says that this model is served no longer.

    Args:
        model: the same as rank 0's, on this rank's own device.
        channel: to rank 0.
        compiled: as rank 0's session.

    Raises:
        WorkerLostError: rank 0 is gone.
    """
    worker = _Worker(model, compiled)
    while True:
        kind, words = channel.receive()
        if kind is Kind.END:
            return
        try:
            answer = worker.answer(kind, words)
        except Exception as error:  # rank 0 tells people of it
            channel.send_bytes(Kind.ERROR, f"{type(error).__name__}: {error}".encode())
        else:
            if answer is not None:
                channel.send(Kind.ANSWER, answer)


class _Worker:
    def __init__(self, model: PreTrainedModel, compiled: bool | str) -> None:
        prefix = runner_of(model).new_prefix(compiled=compiled)
        assert isinstance(prefix, KVPrefix), "a model without a KV cache takes no steps over several branches"
        self._prefix, self._replica = prefix, Replica(prefix)
        self._chooser: Chooser = Greedy()
        self._text: list[int] = []
        self._candidates: list[int] = []

    def answer(self, kind: Kind, words: list[int]) -> list[int] | None:
        """Obey a message; None where there is nothing to answer."""
        if kind is Kind.CHOOSER:
            # From rank 0, which is trusted: it has loaded the model that this process runs.
            self._chooser = pickle.loads(bytes_of(words))
            return None
        instruction = Instruction.of_words(words)
        self._follow(instruction)
        if instruction.part is None:
            self._replica.read(self._text)
            return None
        self._candidates = instruction.part.tokens
        choices = self._replica.look_ahead(self._text, instruction.part, self._chooser)
        return words_of(instruction.number, choices, instruction.part.width)

    def _follow(self, instruction: Instruction) -> None:
        """Settle the last step, and make the text what it is now."""
        if instruction.accepted is None:
            self._replica.abandon()
        else:
            self._replica.settle(instruction.accepted)
            self._text += [self._candidates[number - 1] for number in instruction.accepted]
        self._text = [*self._text[: instruction.shared], *instruction.tail]
        self._prefix.rewind(min(self._prefix.length, instruction.shared))
