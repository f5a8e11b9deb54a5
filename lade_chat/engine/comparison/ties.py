"""Near ties: the gap between two tokens' logits, computed in one plain forward pass."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, cast

import torch

from decoding import SamplingConfig
from decoding.sampling.seeded_gumbel import gumbel

Tie: TypeAlias = tuple[float, float]
"""The gap between two logits, absolute and in units of the last place (ulps)."""
TieOf: TypeAlias = Callable[[Sequence[int], "int | None", int, int], "Tie | None"]
"""Function of a text's ids, the seed (None if greedy) and two tokens.

Returns the gap between their logits; None if a filter such as top-k leaves out one of the tokens.
"""


def first_difference(left: Sequence[int], right: Sequence[int]) -> int | None:
    """The index of the first token that differs; None if the two are identical."""
    for index in range(max(len(left), len(right))):
        if left[index : index + 1] != right[index : index + 1]:
            return index
    return None


def tie_of(model: Any, sampling: SamplingConfig | None = None) -> TieOf:
    """Return a function for the gap between two tokens' logits after a text, in ulps of the model's dtype too.

    With ``sampling`` the logits are those used for sampling: processed, and with the seed's noise added.
    """

    def tie(ids: Sequence[int], seed: int | None, expected: int, found: int) -> Tie | None:
        row = logits_after(model, ids)[0]
        dtype, device = row.dtype, row.device
        if sampling is not None:
            # In float32, as in sampling; a copy, since processors write in place.
            scores = row[None].to(torch.float32, copy=True)
            row = sampling.processors()(cast(Any, torch.tensor([list(ids)], device=device)), cast(Any, scores))[0]
        pair = torch.tensor([expected, found], device=device)
        values = row[pair].double().cpu()
        if seed is not None:
            values += gumbel(seed, torch.tensor(len(ids)), pair.cpu())
        first, second = values.tolist()
        if not (math.isfinite(first) and math.isfinite(second)):
            return None
        gap = first - second
        return gap, gap / unit_of_last_place(max(abs(first), abs(second)), dtype)

    return tie


def unit_of_last_place(value: float, dtype: torch.dtype) -> float:
    """Distance from a positive number to the next larger one of this dtype."""
    information = torch.finfo(dtype)
    exponent = math.floor(math.log2(max(value, information.tiny)))
    return float(information.eps * 2.0**exponent)


@torch.inference_mode()
def logits_after(model: Any, ids: Sequence[int], rows: int = 1) -> torch.Tensor:
    """Logits after each of the last ``rows`` tokens, from one plain forward pass. Shape (rows, vocabulary)."""
    selects = "logits_to_keep" in inspect.signature(model.forward).parameters
    arguments = {"logits_to_keep": rows} if selects else {}
    input_ids = torch.tensor([list(ids)], device=model.device)
    logits: torch.Tensor = model(input_ids=input_ids, use_cache=False, **arguments).logits[0, -rows:]
    return logits
