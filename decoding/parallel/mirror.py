"""Mirror: a model split over several processes (tensor parallelism), each of which repeats what rank 0 does.

Each forward pass takes all ranks at once. Rank 0 decodes as it would alone, with any decoder, and announces every
forward pass and every change to a KV cache to the others beforehand.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import IntEnum
from functools import partial
from typing import Any

import numpy as np
import torch
from transformers import PreTrainedModel

from decoding.model.capabilities import ModelCapabilities
from decoding.model.inputs import StepInputs
from decoding.model.prefix import KVPrefix, input_device
from decoding.parallel.channel import Channel, Kind, RankLostError
from decoding.runner import ModelRunner, runner_of

_WITHOUT_CACHE = {"input_ids", "logits_to_keep", "return_dict", "use_cache"}


class _Action(IntEnum):
    READ = 0
    BRANCH = 1
    KEEP = 2
    REWIND = 3
    COPY = 4
    FORWARD = 5
    """A forward pass over a text alone, without any cache."""


class Mirror:
    """Rank 0's link to the processes that have the other parts of a model.

    From now on every prefix of the model is mirrored, and so is a forward pass over one text without a cache. With any
    other cache than a prefix's the model refuses to run.

    Attributes:
        ranks: the number of processes that have a part of the model, rank 0's included.
    """

    def __init__(self, model: PreTrainedModel, channels: Sequence[Channel]) -> None:
        """
        Args:
            model: rank 0's part.
            channels: to ranks that :func:`serve_part` of it.
        """
        # The mask check runs the model on all ranks, each by itself.
        runner = runner_of(model)
        runner.current_support()
        self._channels, self.ranks = list(channels), 1 + len(channels)
        self._prefixes = 0
        self._dropped: list[int] = []
        self._announced = False
        self._hook = model.register_forward_pre_hook(self._before_forward, with_kwargs=True)
        runner.prefix_factory = partial(MirroredPrefix, self)

    @property
    def exchanged_bytes(self) -> int:
        """The bytes of rank 0's messages; the exchange within forward passes is not counted."""
        return sum(channel.exchanged_bytes for channel in self._channels)

    def close(self) -> None:
        """Release the other ranks from this model; its prefixes must not be used any more."""
        self._hook.remove()
        for channel in self._channels:
            try:
                channel.send(Kind.END)
                channel.wait_until_sent()
            except RankLostError:
                continue

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
            # gloo's own words when the other end of a connection closes.
            if "closed by peer" in str(error) or "reset by peer" in str(error):
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
        rows = [keep] if isinstance(keep, int) else keep.tolist()
        self.announce(_Action.FORWARD, 0, [isinstance(keep, int), len(rows), *rows, *ids[0].tolist()])

    def announce(self, action: _Action, number: int, words: Sequence[int]) -> None:
        """Have the other ranks do the same to their part of a prefix."""
        dropped = [self._dropped.pop() for _ in range(len(self._dropped))]
        for channel in self._channels:
            channel.send(Kind.STEP, [action, number, len(dropped), *dropped, *words])


class MirroredPrefix(KVPrefix):
    """A prefix whose every change is announced to the other ranks first."""

    def __init__(
        self,
        mirror: Mirror,
        model: PreTrainedModel,
        capabilities: ModelCapabilities,
        source: MirroredPrefix | None = None,
    ) -> None:
        super().__init__(
            model,
            capabilities,
            runner_of(model).linear_kernels,
            None if source is None else source._cache.copy(),
            None if source is None else source._read_lengths.copy(),
        )
        self._mirror, self._number = mirror, mirror.register(self)
        if source is not None:
            mirror.announce(_Action.COPY, self._number, [source._number])

    def next_logits(self, token_ids: Sequence[int]) -> torch.Tensor:
        self._mirror.announce(_Action.READ, self._number, token_ids)
        with self._mirror.announced():
            return super().next_logits(token_ids)

    def branch_logits(self, inputs: StepInputs) -> torch.Tensor:
        self._mirror.announce(_Action.BRANCH, self._number, _encode_inputs(inputs))
        with self._mirror.announced():
            return super().branch_logits(inputs)

    def keep(self, base: int, offsets: Sequence[int]) -> None:
        self._mirror.announce(_Action.KEEP, self._number, [base, *offsets])
        super().keep(base, offsets)

    def rewind(self, length: int) -> None:
        self._mirror.announce(_Action.REWIND, self._number, [length])
        super().rewind(length)

    def copy(self) -> MirroredPrefix:
        return MirroredPrefix(self._mirror, self._model, self._capabilities, self)


def serve_part(model: PreTrainedModel, channel: Channel) -> None:
    """Take part in rank 0's forward passes until it releases this rank from the model.

    Args:
        model: this rank's part.
        channel: to rank 0.

    Raises:
        WorkerLostError: rank 0 is gone.
    """
    runner, prefixes = runner_of(model), dict[int, KVPrefix]()
    runner.current_support()
    while True:
        kind, words = channel.receive()
        if kind is Kind.END:
            return
        action, number, count = _Action(words[0]), words[1], words[2]
        for dropped in words[3 : 3 + count]:
            prefixes.pop(dropped, None)
        _do(action, number, words[3 + count :], prefixes, runner)


def _do(action: _Action, number: int, words: list[int], prefixes: dict[int, KVPrefix], runner: ModelRunner) -> None:
    if action is _Action.COPY:
        source = prefixes.get(words[0])
        prefixes[number] = _new_prefix(runner) if source is None else source.copy()
        return
    if action is _Action.FORWARD:
        whole, rows = words[0], words[2 : 2 + words[1]]
        ids = torch.tensor([words[2 + words[1] :]], device=input_device(runner.model))
        keep = rows[0] if whole else torch.tensor(rows, device=ids.device)
        with torch.inference_mode():
            runner.model(input_ids=ids, use_cache=False, logits_to_keep=keep)
        return
    if number not in prefixes:
        prefixes[number] = _new_prefix(runner)
    prefix = prefixes[number]
    if action is _Action.READ:
        prefix.next_logits(words)
    elif action is _Action.BRANCH:
        prefix.branch_logits(_decode_inputs(words))
    elif action is _Action.KEEP:
        prefix.keep(words[0], words[1:])
    else:
        prefix.rewind(words[0])


def _new_prefix(runner: ModelRunner) -> KVPrefix:
    return KVPrefix(runner.model, runner.capabilities, runner.linear_kernels)


def _encode_inputs(inputs: StepInputs) -> list[int]:
    total, bits = len(inputs), np.packbits(inputs.visible)
    packed = np.frombuffer(bits.tobytes() + b"\0" * (-len(bits) % 8), dtype=np.int64).tolist()
    return [total, *inputs.token_ids, *inputs.depths.tolist(), len(inputs.logit_rows), *inputs.logit_rows, *packed]


def _decode_inputs(words: Sequence[int]) -> StepInputs:
    total = words[0]
    reads = words[1 + 2 * total]
    at = 2 + 2 * total
    bits = np.asarray(words[at + reads :], dtype=np.int64).view(np.uint8)
    return StepInputs(
        token_ids=list(words[1 : 1 + total]),
        depths=np.asarray(words[1 + total : 1 + 2 * total], dtype=np.int64),
        visible=np.unpackbits(bits, count=total * total).astype(np.bool_).reshape(total, total),
        logit_rows=list(words[at : at + reads]),
    )
