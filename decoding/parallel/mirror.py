"""Mirror: a model split over several processes (tensor parallelism); each repeats what rank 0 does.

Each forward pass takes all ranks at once. Rank 0 decodes as it would alone, with any decoder, and announces every
forward pass and every change to a KV cache to the others beforehand.
"""

from __future__ import annotations

import weakref
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Self

import torch

from decoding.model.capabilities import ModelCapabilities
from decoding.model.prefix import KVPrefix, input_device
from decoding.model.step_inputs import StepInputs
from decoding.parallel.channel import Channel, MessageKind, RankLostError, is_peer_lost
from decoding.runner import runner_of

if TYPE_CHECKING:
    from transformers import PreTrainedModel

_WITHOUT_CACHE = {"input_ids", "logits_to_keep", "return_dict", "use_cache"}


class Mirror:
    """Rank 0's link to the processes that have the other parts of a model.

    From now on every prefix of the model is mirrored, and so is a forward pass over one text without a cache. With any
    cache but a prefix's the model refuses to run.

    Attributes:
        ranks: the number of processes that have a part of the model, rank 0's included.
    """

    def __init__(self, model: PreTrainedModel, channels: Sequence[Channel]) -> None:
        """Take rank 0's part of the model, and channels to ranks that :func:`serve_part` of it."""
        # The mask check runs the model on all ranks, each by itself.
        runner = runner_of(model)
        runner.current_support()
        self._channels, self.ranks = list(channels), 1 + len(channels)
        self._prefixes = 0
        self._dropped: list[int] = []
        self._announced = False
        self._hook = model.register_forward_pre_hook(self._before_forward, with_kwargs=True)
        runner.prefix_factory = partial(MirroredPrefix, self)

    def close(self) -> None:
        """Release the other ranks from this model; its prefixes must not be used any more."""
        self._hook.remove()
        for channel in self._channels:
            channel.close()

    def register(self, prefix: MirroredPrefix) -> int:
        """Return the number of a new prefix, the same on all ranks."""
        self._prefixes += 1
        # A prefix may be dropped at any moment, on any thread: the next message says so.
        weakref.finalize(prefix, self._dropped.append, self._prefixes).atexit = False
        return self._prefixes

    @contextmanager
    def announced(self) -> Iterator[None]:
        """Run a forward pass that the other ranks know of already."""
        self._announced = True
        try:
            yield
        except RuntimeError as error:
            if is_peer_lost(error):
                raise RankLostError("another rank's process is gone") from error
            raise
        finally:
            self._announced = False

    def _before_forward(self, model: torch.nn.Module, positional: tuple[Any, ...], named: dict[str, Any]) -> None:
        if self._announced:
            return
        ids, keep = named.get("input_ids"), named.get("logits_to_keep", 0)
        strange = {name for name, value in named.items() if value is not None} - _WITHOUT_CACHE
        if positional or strange or ids is None or len(ids) != 1 or named.get("use_cache") is not False:
            raise NotImplementedError("a model split over processes can only be run by the decoders of this library")
        self.announce("forward", 0, keep if isinstance(keep, int) else keep.cpu(), ids.cpu())

    def announce(self, action: str, number: int, *arguments: object) -> None:
        """Have the other ranks do the same to their part of a prefix, by its number and the name of one of its methods.

        ``forward`` stands for a forward pass over a text alone, without any cache.
        """
        dropped = [self._dropped.pop() for _ in range(len(self._dropped))]
        for channel in self._channels:
            channel.send(MessageKind.STEP, (action, number, dropped, arguments))


class MirroredPrefix(KVPrefix):
    """A prefix whose every change is announced to the other ranks first."""

    def __init__(self, mirror: Mirror, model: PreTrainedModel, capabilities: ModelCapabilities) -> None:
        super().__init__(model, capabilities)
        self._mirror, self._number = mirror, mirror.register(self)

    def next_logits(self, token_ids: Sequence[int]) -> torch.Tensor:
        self._mirror.announce("next_logits", self._number, list(token_ids))
        with self._mirror.announced():
            return super().next_logits(token_ids)

    def branch_logits(self, inputs: StepInputs) -> torch.Tensor:
        self._mirror.announce("branch_logits", self._number, inputs)
        with self._mirror.announced():
            return super().branch_logits(inputs)

    def keep(self, base: int, offsets: Sequence[int]) -> None:
        self._mirror.announce("keep", self._number, base, list(offsets))
        super().keep(base, offsets)

    def rewind(self, length: int) -> None:
        self._mirror.announce("rewind", self._number, length)
        super().rewind(length)

    def copy(self) -> Self:
        other = super().copy()
        other._number = self._mirror.register(other)
        self._mirror.announce("copy", other._number, self._number)
        return other


def serve_part(model: PreTrainedModel, channel: Channel) -> None:
    """Take part in rank 0's forward passes until it releases this rank. Raises RankLostError if rank 0 is gone."""
    runner = runner_of(model)
    runner.current_support()
    prefixes = defaultdict[int, KVPrefix](lambda: KVPrefix(runner.model, runner.capabilities))
    for _, (action, number, dropped, arguments) in channel.messages():
        for each in dropped:
            prefixes.pop(each, None)
        if action == "copy":
            prefixes[number] = prefixes[arguments[0]].copy()
        elif action == "forward":
            keep, ids = arguments
            device = input_device(runner.model)
            with torch.inference_mode():
                keep = keep if isinstance(keep, int) else keep.to(device)
                runner.model(input_ids=ids.to(device), use_cache=False, logits_to_keep=keep)
        else:
            getattr(prefixes[number], action)(*arguments)
