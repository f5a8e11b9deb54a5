"""Length-dependent rotary embeddings: what a token's states depend on beside the text, and frequencies kept apart.

Two kinds of rotary embedding choose their frequencies by the length of the text in a forward pass. With *dynamic NTK*
every length past the original one has frequencies of its own; with *longrope* (Su) there is one set for short texts
and one for long ones. So a token read in a prefill of a short text has other keys than in a prefill of a longer one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

_MISSING: Any = object()


@dataclass(frozen=True)
class LengthDependence:
    """The lengths at which a model's rotary frequencies change.

    Attributes:
        scaled_after: lengths past which every length has frequencies of its own (dynamic NTK).
        switched_after: lengths past which there is another set of frequencies (longrope).
    """

    scaled_after: frozenset[int]
    switched_after: frozenset[int]

    @property
    def first_change(self) -> int:
        """The longest text that is read with the original frequencies everywhere."""
        return min(self.scaled_after | self.switched_after)

    def frequencies(self, length: int) -> tuple[int, ...]:
        """Which frequencies a forward pass has that ends a text of this length; equal for equal frequencies."""
        scaled = (max(length, limit) for limit in sorted(self.scaled_after))
        return (*scaled, *(int(length > limit) for limit in sorted(self.switched_after)))


def length_dependence_of(config: Any) -> LengthDependence | None:
    """What the configuration of a model's text part says; None where frequencies are the same at every length."""
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
    """The frequencies that each token of a prefix was read with."""

    def __init__(self, dependence: LengthDependence | None) -> None:
        self._dependence = dependence
        self._runs: list[tuple[int, tuple[int, ...]]] = []
        """Where each run of tokens begins that were read with the same frequencies, and these."""

    def note(self, start: int, length: int) -> None:
        """The tokens from ``start`` on were read in a forward pass that ended a text of this length.

        What was noted of them before is forgotten, so that rewinding need not be told.
        """
        if self._dependence is None:
            return
        while self._runs and self._runs[-1][0] >= start:
            self._runs.pop()
        frequencies = self._dependence.frequencies(length)
        if not self._runs or self._runs[-1][1] != frequencies:
            self._runs.append((start, frequencies))

    def read_as(self, length: int, held: int) -> int:
        """How many of the first ``held`` tokens have the states that a prefill of a text of this length gives them."""
        if self._dependence is None:
            return held
        wanted = self._dependence.frequencies(length)
        return min(held, next((start for start, frequencies in self._runs if frequencies != wanted), held))

    def copy(self) -> ReadLengths:
        """The same, to go on from apart."""
        other = ReadLengths(self._dependence)
        other._runs = self._runs.copy()
        return other


class RotaryState:
    """The frequencies that rotary modules with dynamic NTK remember from the longest text they have read lately.

    transformers keeps them in the model, where the next text finds them, whoever's it is: a text between the original
    length and the longest one read before is read with the longer one's frequencies. Here every forward pass begins
    with the original frequencies, as on a model just loaded, and the model's own are put back after it.
    """

    def __init__(self, model: nn.Module) -> None:
        self._remembering = [
            (module, prefix)
            for module in model.modules()
            for prefix in _dynamic_prefixes(module)
            if hasattr(module, f"{prefix}original_inv_freq") and hasattr(module, "original_max_seq_len")
        ]

    @contextmanager
    def original(self) -> Iterator[None]:
        """While this lasts, the model reads as if it had read no longer text before."""
        if not self._remembering:
            yield
            return
        before = [_exchange(module, prefix) for module, prefix in self._remembering]
        try:
            yield
        finally:
            for (module, _), attributes in zip(self._remembering, before, strict=True):
                _put_back(module, attributes)


def _exchange(module: nn.Module, prefix: str) -> dict[str, Any]:
    """Set the original frequencies; returns what was there, by name."""
    names = (f"{prefix}inv_freq", f"{prefix}max_seq_len_cached", "attention_scaling")
    before = {name: getattr(module, name, _MISSING) for name in names}
    module.register_buffer(names[0], getattr(module, f"{prefix}original_inv_freq"), persistent=False)
    setattr(module, names[1], module.original_max_seq_len)
    return before


def _put_back(module: nn.Module, attributes: Mapping[str, Any]) -> None:
    for name, value in attributes.items():
        if value is _MISSING:
            vars(module).pop(name, None)
        elif isinstance(value, torch.Tensor) and name in module._buffers:
            module.register_buffer(name, value, persistent=False)
        else:
            setattr(module, name, value)


def _dynamic_prefixes(module: nn.Module) -> list[str]:
    """By what its frequencies' names begin, for each layer type that has dynamic ones."""
    kinds = getattr(module, "rope_type", None)
    if isinstance(kinds, Mapping):
        return [f"{layer_type}_" for layer_type, kind in kinds.items() if "dynamic" in str(kind)]
    return [""] if isinstance(kinds, str) and "dynamic" in kinds else []


def _rope_parameters(config: Any) -> list[Mapping[str, Any]]:
    """The parameters of each rotary embedding that a configuration describes: one, or one for each layer type."""
    rope = getattr(config, "rope_parameters", None) or getattr(config, "rope_scaling", None)
    if not isinstance(rope, Mapping):
        return []
    nested = [each for each in rope.values() if isinstance(each, Mapping)]
    return [rope, *nested] if "rope_type" in rope or "type" in rope else nested


def _length(source: Any, name: str) -> int | None:
    value = source.get(name) if isinstance(source, Mapping) else getattr(source, name, None)
    return value if isinstance(value, int) and value > 0 else None
