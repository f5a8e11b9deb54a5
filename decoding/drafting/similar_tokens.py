"""SimilarTokens: of the tokens whose successors are known, those that another token is most like by its embedding.

Embeddings are compared by signs: those of tokens that a model treats alike agree in most dimensions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias
from weakref import WeakKeyDictionary, ref

import numpy as np
import numpy.typing as npt
import torch

from decoding.model.capabilities import vocabulary_size
from decoding.native.packed_weight import PackedWeight

if TYPE_CHECKING:
    from transformers import PreTrainedModel

MAX_WORDS = 4
"""Words of 64 signs that are kept of an embedding, of its first dimensions: more tell no more."""
_AT_ONCE = 8192

Signs: TypeAlias = npt.NDArray[np.uint64]
"""Shape (vocabulary, words), a bit a sign."""
COUNT = 2
"""Tokens found at most."""
MAX_TOKENS = 4096
"""Tokens compared with at most; the one taken in first goes."""

SignsOfAll: TypeAlias = "Callable[[], Signs | None]"
"""Gives the signs of all embeddings; None where they cannot be read."""


class SimilarTokens:
    """Tokens to compare with, side by side with the signs of their embeddings, which are read when first needed."""

    def __init__(self, signs_of_all: SignsOfAll) -> None:
        self.signs_of_all = signs_of_all
        self._places: dict[int, int] = {}
        self._tokens = np.empty(MAX_TOKENS, dtype=np.int64)
        self._signs: Signs = np.empty((MAX_TOKENS, MAX_WORDS), dtype=np.uint64)

    def nearest(self, token: int, new: Sequence[int]) -> list[tuple[int, float]]:
        """Return the nearest tokens, each with the share of signs that differ; the ``new`` ones count from now on."""
        of_all = self.signs_of_all()
        if of_all is None:
            return []
        words = of_all.shape[1]
        for each in new:
            if each not in self._places:
                place = self._place(each)
                self._tokens[place], self._signs[place, :words] = each, of_all[each]
        count = len(self._places)
        different = np.bitwise_count(self._signs[:count, :words] ^ of_all[token]).sum(axis=1, dtype=np.int64)
        found: list[tuple[int, float]] = []
        for _ in range(min(COUNT, count)):
            place = int(different.argmin())
            found.append((int(self._tokens[place]), int(different[place]) / (64 * words)))
            different[place] = 64 * words + 1
        return found

    def _place(self, token: int) -> int:
        """Return the place of a new token: the next one, or that of the token taken in first."""
        is_full = len(self._places) == MAX_TOKENS
        place = self._places.pop(next(iter(self._places))) if is_full else len(self._places)
        self._places[token] = place
        return place


def signs_reader(model: PreTrainedModel) -> SignsOfAll:
    """Return a function that gives :func:`embedding_signs`, read once a model, which it does not keep alive."""
    held = ref(model)

    def signs_of_all() -> Signs | None:
        if (known := held()) is None:
            return None
        signs = _read.get(known)
        if signs is None or len(signs) != vocabulary_size(known):
            signs = embedding_signs(known)
            if signs is not None:
                _read[known] = signs
        return signs

    return signs_of_all


_read: WeakKeyDictionary[PreTrainedModel, Signs] = WeakKeyDictionary()


def embedding_signs(model: PreTrainedModel) -> Signs | None:
    """Return the signs of all of a model's token embeddings; None where they cannot be read.

    Weights are read as they are stored: calling the embedding would run the hooks of whoever patched it.
    """
    embedding = model.get_input_embeddings()
    packed: Any = getattr(embedding, "packed", None)
    weight: Any = getattr(embedding, "weight", None)
    if isinstance(packed, PackedWeight):
        count, inputs = packed.shape
    # Not one that is divided over processes, or lies elsewhere.
    elif isinstance(weight, torch.Tensor) and type(weight.data) is torch.Tensor and not weight.is_meta:
        (count, inputs), packed = weight.shape, None
    else:
        return None
    if not (words := min(MAX_WORDS, inputs // 64)):
        return None
    signs = np.empty((count, words), dtype=np.uint64)
    for start in range(0, count, _AT_ONCE):
        end, width = min(start + _AT_ONCE, count), 64 * words
        rows = weight.detach()[start:end, :width] if packed is None else packed.rows(range(start, end), width)
        signs[start:end] = np.packbits((rows > 0).cpu().numpy(), axis=1).view(np.uint64)
    return signs
