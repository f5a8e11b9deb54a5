"""ModelState: all that a model's answers depend on, compared between texts.

Weights may be trained, replaced, moved or edited, adapters switched, merged or taken off, layers patched and hooked at
any time. Whatever is kept of a model (what it has read, copies of weights, timings) goes by the state that it was kept
in. Not noticed are: weights that are kept elsewhere between forward passes (offloaded ones), what hooks and patched
layers read from lists and objects of their own, and changes within a text.
"""

from __future__ import annotations

from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary

import torch
from transformers import PreTrainedModel

from decoding.model.fingerprint import Fingerprint, fingerprint_of
from decoding.model.survey import Survey, survey

_states: WeakKeyDictionary[PreTrainedModel, ModelState] = WeakKeyDictionary()


def observe(model: PreTrainedModel) -> ModelState:
    """Look at a model, and return its state. It takes less than a step of plain decoding."""
    state = _states.setdefault(model, ModelState())
    state.update(survey(model))
    return state


def last_state_of(model: PreTrainedModel) -> ModelState:
    """Return a model's state as of when it was last looked at; look at it the first time."""
    state = _states.get(model)
    return observe(model) if state is None else state


class ModelState:
    """What was last seen of a model.

    Attributes:
        edition: counts the changes to anything that an answer depends on.
        revision: counts the same, and tensors that were replaced or written to without a change to their contents.
        layout: the kinds of modules, and the shapes, dtypes and devices of tensors: what the time of a step depends on.
        structure: the kinds of modules, with patches and hooks by their code: what masks a step can be given.
        derived: by name, what was found out about the model and holds for its layout alone; emptied as that changes.
    """

    def __init__(self) -> None:
        self.edition = self.revision = 0
        self.layout: tuple[object, ...] = ()
        self.structure: tuple[object, ...] = ()
        self.derived: dict[str, Any] = {}
        self._settings: tuple[object, ...] = ()
        self._identities: list[tuple[int, int, int]] = []
        self._fingerprint = Fingerprint({}, [])
        self._editions: dict[int, int] = {}
        self._lock = Lock()

    def edition_of(self, tensor: torch.Tensor) -> int | None:
        """Return the edition in which a tensor's contents last changed; None if it is none of the model's."""
        return self._editions.get(id(tensor))

    def update(self, seen: Survey) -> None:
        """Compare with what is there now."""
        fingerprint = fingerprint_of([part for tensor in seen.tensors for part in tensor.parts])
        identities = [part for tensor in seen.tensors for part in tensor.identity]
        with self._lock:
            if seen.layout != self.layout:
                self.derived.clear()
                changed = set(range(len(fingerprint.places)))
            else:
                changed = self._fingerprint.differences(fingerprint)
            if changed or (seen.layout, seen.structure, seen.settings) != (self.layout, self.structure, self._settings):
                self.edition += 1
            if changed or identities != self._identities or seen.structure != self.structure:
                self.revision += 1
            self._note_editions(seen, changed)
            self.layout, self.structure, self._settings = seen.layout, seen.structure, seen.settings
            self._identities, self._fingerprint = identities, fingerprint

    def _note_editions(self, seen: Survey, changed: set[int]) -> None:
        editions, first = {}, 0
        for tensor in seen.tensors:
            end = first + len(tensor.parts)
            known = None if changed.intersection(range(first, end)) else self._editions.get(id(tensor.whole))
            editions[id(tensor.whole)] = self.edition if known is None else known
            first = end
        self._editions = editions
