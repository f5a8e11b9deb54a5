"""Arguments of callers, checked before anything runs: a text, the ids that end it, a number of tokens."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from typing import Any, SupportsIndex, TypeAlias

import numpy as np
import torch

InputIds: TypeAlias = "Sequence[int] | torch.Tensor"
EosTokenIds: TypeAlias = "int | Sequence[int] | torch.Tensor | None"
SEEDS = 2**64
"""The number of distinct seeds: the noise of sampling is drawn from 64 bits."""


def as_ids(input_ids: Any, vocabulary: int) -> list[int]:
    """Return a text as a new list of ids. Raises ValueError for no text, a batch, an empty text, or unknown ids."""
    # A copy: the generation starts later, and by then the caller may have changed the list.
    ids = list(as_text(input_ids))
    if not ids:
        raise ValueError("input_ids is empty: there is nothing to go on from")
    strange = next((token for token in ids if not 0 <= token < vocabulary), None)
    if strange is not None:
        raise ValueError(f"input_ids holds {strange}, and the model's vocabulary has ids 0 to {vocabulary - 1}")
    return ids


def as_text(text: Any, name: str = "input_ids") -> list[int]:
    """Return one text, possibly empty, as a list of ints, which may be the one given. Raises ValueError otherwise."""
    if isinstance(text, (list, tuple)) and {*map(type, text)} <= {int}:
        return text if isinstance(text, list) else list(text)
    if isinstance(text, (str, bytes, bytearray, Mapping)) or hasattr(text, "input_ids"):
        raise ValueError(f'{name} must be token ids; of what a tokenizer returns, pass its ["input_ids"]')
    if isinstance(text, (torch.Tensor, np.ndarray)):
        text = text.tolist()
    if isinstance(text, Sequence) and text and _is_several(text[0]):
        if len(text) != 1:
            raise ValueError(f"{name} must be one text, not a batch of {len(text)}")
        return as_text(text[0], name)
    if not isinstance(text, Iterable):
        raise ValueError(f"{name} must be token ids of shape (1, n), not {shown(text)}")
    return [as_whole(token, "a token id") for token in text]


def eos_of(model: Any) -> EosTokenIds:
    """Return the end-of-sequence ids of the model's generation config; ``()`` if it has none."""
    declared: EosTokenIds = getattr(getattr(model, "generation_config", None), "eos_token_id", None)
    return () if declared is None else declared


def as_eos(eos_token_ids: Any) -> frozenset[int]:
    """Return the ids that end a text, given as one id or several in any sequence or tensor."""
    if isinstance(eos_token_ids, (torch.Tensor, np.ndarray)):
        eos_token_ids = eos_token_ids.tolist()
    if isinstance(eos_token_ids, (str, Mapping)):
        raise ValueError(f"eos_token_ids must be token ids, not {shown(eos_token_ids)}")
    several = eos_token_ids if isinstance(eos_token_ids, Iterable) else [eos_token_ids]
    return frozenset(as_whole(token, "an eos token id") for token in several if token is not None)


def as_whole(value: SupportsIndex, name: str) -> int:
    """Return a whole number of Python's. Raises ValueError for anything else, booleans among them."""
    try:
        if isinstance(value, (bool, np.bool_)):
            raise TypeError
        return operator.index(value)
    except TypeError:
        raise ValueError(f"{name} must be a whole number, not {shown(value)}") from None


def as_count(value: Any, name: str, least: int) -> int:
    """Return a whole number of at least ``least``. Raises ValueError for anything else."""
    count = as_whole(value, name)
    if count < least:
        raise ValueError(f"{name} must be at least {least}, not {count}")
    return count


def as_seed(value: Any) -> int:
    """Return a seed of sampling: a whole number from 0 to 2**64 - 1. Raises ValueError for anything else."""
    seed = as_whole(value, "seed")
    if not 0 <= seed < SEEDS:
        raise ValueError(f"seed must be from 0 to 2**64 - 1, not {seed}")
    return seed


def check_kind(value: Any, kind: type, name: str, *, required: bool = False) -> None:
    """Raise ValueError unless a value is of this type, or None where it is not required."""
    if (required or value is not None) and not isinstance(value, kind):
        raise ValueError(f"{name} must be a {kind.__name__}, not {shown(value)}")


def check_streamer(streamer: Any) -> None:
    """Raise ValueError unless this is None or has the methods put and end."""
    usable = all(callable(getattr(streamer, name, None)) for name in ("put", "end"))
    if streamer is not None and (isinstance(streamer, type) or not usable):
        raise ValueError(f"streamer must be a streamer of transformers, with put and end, not {shown(streamer)}")


def check_tokenizer(tokenizer: Any) -> None:
    """Raise TypeError unless it is a tokenizer of transformers, or much like one."""
    usable = hasattr(tokenizer, "is_fast") and hasattr(tokenizer, "added_tokens_decoder")
    if isinstance(tokenizer, type) or not usable:
        raise TypeError(f"tokenizer must be a loaded transformers tokenizer, not {shown(tokenizer)}")


def as_callables(values: Any, name: str) -> list[Any]:
    """Return functions as a list, which exhausts an iterator. Raises ValueError for anything else."""
    given = list(values) if isinstance(values, Iterable) else [None]
    if not all(map(callable, given)):
        raise ValueError(f"{name} must be a list of functions, not {shown(values)}")
    return given


def check_functions(**functions: Any) -> None:
    """Raise ValueError unless each argument, passed by name, is callable or None."""
    for name, value in functions.items():
        if value is not None and not callable(value):
            raise ValueError(f"{name} must be a function, not {shown(value)}")


def check_number(value: Any, name: str) -> None:
    """Raise ValueError unless a value is a number; a boolean does not count as one."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise ValueError(f"{name} must be a number, not {shown(value)}")


def shown(value: Any) -> str:
    """Return a value as an error message shows it, cut short if it is long."""
    return f"{' '.join(repr(value).split()):.80}"


def _is_several(value: Any) -> bool:
    """Return True for a sequence, and for a tensor with at least one dimension."""
    return isinstance(value, Sequence) or (isinstance(value, (torch.Tensor, np.ndarray)) and value.ndim > 0)
