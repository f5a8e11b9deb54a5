"""Rotary embeddings whose frequencies depend on the length of the text.

Two kinds of rotary embedding choose their frequencies by the length of the text in a forward pass. With *dynamic NTK*
every length past the original one has its own; *longrope* (Su) has one set for short texts and one for long ones. So a
token's cached keys depend on the length of the text with which it was read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from threading import RLock
from typing import Any
from weakref import WeakKeyDictionary

from torch import nn

_locks: WeakKeyDictionary[nn.Module, RLock] = WeakKeyDictionary()
"""One for each model, held while its modules have the original frequencies."""


@dataclass(frozen=True)
class LengthDependence:
    """The lengths at which a model's rotary frequencies change.

    Attributes:
        scaled_after: lengths past which every length has its own frequencies (dynamic NTK).
        switched_after: lengths past which another set of frequencies applies (longrope).
    """

    scaled_after: frozenset[int]
    switched_after: frozenset[int]

    @property
    def first_change(self) -> int:
        """The greatest length with the original frequencies everywhere."""
        return min(self.scaled_after | self.switched_after)

    def frequencies(self, length: int) -> tuple[int, ...]:
        """Return a value that identifies the frequencies of a forward pass up to this text length."""
        scaled = (max(length, limit) for limit in sorted(self.scaled_after))
        return (*scaled, *(int(length > limit) for limit in sorted(self.switched_after)))


def length_dependence_of(config: Any) -> LengthDependence | None:
    """Return the length dependence of a text configuration; None if frequencies are the same at every length."""
    scaled, switched = set(), set()
    for rope in _rope_parameters(config):
        kind = str(rope.get("rope_type", rope.get("type")))
        if "dynamic" in kind:
            scaled.add(_length(config, "max_position_embeddings") or 0)
        elif kind == "longrope":
            name = "original_max_position_embeddings"
            known = _length(rope, name) or _length(config, name) or _length(config, "max_position_embeddings")
            switched.add(known or 0)
    return LengthDependence(frozenset(scaled), frozenset(switched)) if scaled or switched else None


class ReadLengths:
    """The frequencies with which each token of a prefix was read."""

    def __init__(self, dependence: LengthDependence | None) -> None:
        self._dependence = dependence
        self._runs: list[tuple[int, tuple[int, ...]]] = []
        """Runs of tokens read with the same frequencies: the start of each, and the frequencies."""

    def note(self, start: int, length: int) -> None:
        """Record that the tokens from ``start`` on were read in a forward pass that ended a text of this length.

        Older records of them are dropped, so that rewinding needs no call.
        """
        if self._dependence is None:
            return
        while self._runs and self._runs[-1][0] >= start:
            self._runs.pop()
        frequencies = self._dependence.frequencies(length)
        if not self._runs or self._runs[-1][1] != frequencies:
            self._runs.append((start, frequencies))

    def matching_prefill(self, length: int, held: int) -> int:
        """Return how many of the first ``held`` tokens have the states of a prefill of a text of this length."""
        if self._dependence is None:
            return held
        wanted = self._dependence.frequencies(length)
        return min(held, next((start for start, frequencies in self._runs if frequencies != wanted), held))

    def copy(self) -> ReadLengths:
        """Return an independent copy."""
        other = ReadLengths(self._dependence)
        other._runs = self._runs.copy()
        return other


class RotaryState:
    """Resets the frequencies that dynamic NTK modules keep from earlier texts.

    transformers stores the longest text's frequencies in the model and applies them to later, shorter texts. Here
    every forward pass starts with the original frequencies, as with a newly loaded model, and restores the stored ones
    afterwards. Threads that share such a model take turns.
    """

    def __init__(self, model: nn.Module) -> None:
        kinds = [(module, *each) for module in model.modules() for each in _kinds(module).items()]
        self._dynamic = [
            (module, prefix)
            for module, prefix, kind in kinds
            if "dynamic" in kind and hasattr(module, f"{prefix}original_inv_freq")
        ]
        changing = any("dynamic" in kind or kind == "longrope" for *_, kind in kinds)
        # Longrope modules set their own frequencies in each pass.
        self._turns: AbstractContextManager[Any] = _locks.setdefault(model, RLock()) if changing else nullcontext()

    @contextmanager
    def original(self) -> Iterator[None]:
        """Run forward passes as if the model had read no longer text before."""
        with self._turns:
            before = [(module, vars(module).copy(), module._buffers.copy()) for module, _ in self._dynamic]
            for module, prefix in self._dynamic:
                frequencies = getattr(module, f"{prefix}original_inv_freq")
                module.register_buffer(f"{prefix}inv_freq", frequencies, persistent=False)
                setattr(module, f"{prefix}max_seq_len_cached", module.original_max_seq_len)
            try:
                yield
            finally:
                for module, attributes, buffers in reversed(before):
                    vars(module).update(attributes)
                    module._buffers.update(buffers)


def _kinds(module: nn.Module) -> dict[str, str]:
    """Return the kinds of a module's rotary embeddings by the prefix of their attributes; empty if it has none."""
    kinds = getattr(module, "rope_type", None)
    if isinstance(kinds, Mapping):
        return {f"{layer_type}_": str(kind) for layer_type, kind in kinds.items()}
    return {"": kinds} if isinstance(kinds, str) else {}


def _rope_parameters(config: Any) -> list[Mapping[str, Any]]:
    """Return the parameters of each rotary embedding: one, or one for each layer type."""
    rope = getattr(config, "rope_parameters", None) or getattr(config, "rope_scaling", None)
    if not isinstance(rope, Mapping):
        return []
    nested = [each for each in rope.values() if isinstance(each, Mapping)]
    return [rope, *nested] if "rope_type" in rope or "type" in rope else nested


def _length(source: Any, name: str) -> int | None:
    value = source.get(name) if isinstance(source, Mapping) else getattr(source, name, None)
    return value if isinstance(value, int) and value > 0 else None
