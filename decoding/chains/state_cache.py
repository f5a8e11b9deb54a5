"""StateCache: a hybrid model's cache, with one earlier copy of its recurrent states to go back to."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from transformers import PreTrainedConfig
from transformers.cache_utils import Cache, DynamicCache, DynamicLayer, DynamicSlidingWindowLayer

from decoding.model.kv_cache import BufferedLayer, KVCache

BUFFERED = (DynamicLayer, DynamicSlidingWindowLayer)
"""Layers of transformers that buffers replace, which can be cut back without a copy."""


class _KeptState(NamedTuple):
    """The states after ``length`` tokens: each layer's attributes, empty if it holds only keys and values."""

    length: int
    layers: list[dict[str, Any]]


class StateCache(KVCache):
    """Keys and values, and recurrent states beside them or in their place.

    A recurrent state cannot be cut back, but a copy of it can be kept and restored. Convolutions alone are cut back by
    transformers' own `crop`, which reaches as far as the last forward pass.

    Attributes:
        is_recording: True once transformers keeps the columns of convolutions by which `crop` cuts them back.
    """

    layers: list[Any]  # state layers are no buffers

    def __init__(self, config: PreTrainedConfig) -> None:
        self._config = config
        # The tokens read, and those from which `crop` could put back the last forward pass.
        self._length = self._before = 0
        self._kept: _KeptState | None = None
        # False while layers may differ in length: a forward pass is under way, or was interrupted.
        self._is_whole, self.is_recording = True, False
        Cache.__init__(self, layers=[])
        self._clear()

    @property
    def length(self) -> int:
        """The number of tokens read."""
        return self._length

    @contextmanager
    def reading(self, tokens: int) -> Iterator[None]:
        """Run a forward pass over so many tokens; where it raises or is interrupted, :meth:`rewind` undoes it."""
        if self.is_recording:
            # Drops the columns by which the last forward pass could have been cut back.
            self.crop(0)
        self._is_whole = False
        yield
        self._is_whole, self._before = True, self._length
        self._length += tokens
        if not self.is_recording and self.is_croppable:
            self.activate_past_recording()  # type: ignore[no-untyped-call]
            self.is_recording, self._before = True, self._length

    @torch.inference_mode()
    def keep_state(self) -> None:
        """Keep a copy of the states as they are now, in place of the one kept before."""
        if self._length and (self._kept is None or self._kept.length != self._length):
            self._kept = _KeptState(self._length, [_state_of(layer) for layer in self.layers])

    def rewindable_to(self, length: int) -> int:
        """Return the most tokens up to ``length`` that :meth:`rewind` can go back to."""
        if self._is_whole and length >= (self._before if self.is_recording else self._length):
            return min(length, self._length)
        return self._kept.length if self._kept is not None and self._kept.length <= length else 0

    @torch.inference_mode()
    def rewind(self, length: int) -> None:
        """Go back to as many tokens as possible, up to ``length``."""
        reached = self.rewindable_to(length)
        if self._is_whole and reached == self._length:
            return
        was_whole, self._is_whole = self._is_whole, False
        if was_whole and self.is_recording and reached >= self._before:
            self.crop(reached - self._length)
            self._length = self._before = reached
        elif self._kept is not None and self._kept.length == reached:
            self._restore(self._kept)
        else:
            self._clear()
        self._is_whole = True

    def copy(self) -> StateCache:
        """Return an independent cache with the same contents."""
        other = StateCache(self._config)
        # Together, since the kept states share keys and values with the layers.
        other.layers, other._kept = copy.deepcopy((self.layers, self._kept))
        other._length, other._before = self._length, self._before
        other._is_whole, other.is_recording = self._is_whole, self.is_recording
        return other

    def fill(self, empty: Cache) -> bool:
        return False

    def _clear(self) -> None:
        own = DynamicCache(config=self._config).layers
        self.layers = [BufferedLayer() if type(layer) in BUFFERED else layer for layer in own]
        self._length, self._before, self._kept = 0, 0, None
        self._is_whole, self.is_recording = True, False

    def _restore(self, kept: _KeptState) -> None:
        for layer, state in zip(self.layers, kept.layers, strict=True):
            if isinstance(layer, BufferedLayer):
                layer.resize(min(kept.length, layer.length))
            else:
                vars(layer).update(_copied(state))
        self._length = self._before = kept.length


def _state_of(layer: Any) -> dict[str, Any]:
    """Return the attributes of a layer, to be restored."""
    return {} if isinstance(layer, BufferedLayer) else _copied(vars(layer))


def _copied(attributes: dict[str, Any]) -> dict[str, Any]:
    """Copy a layer's attributes: models write into states, but replace keys and values by longer ones."""
    return {
        name: {index: _cloned(state) for index, state in value.items()} if isinstance(value, dict) else value
        for name, value in attributes.items()
    }


def _cloned(state: Any) -> Any:
    return state.clone() if isinstance(state, torch.Tensor) else state
