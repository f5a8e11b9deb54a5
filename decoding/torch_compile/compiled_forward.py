"""CompiledForward: a model's forward pass through `torch.compile`, checked against the uncompiled one."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import TYPE_CHECKING, TypeAlias

import torch

from decoding.model.mask_check import MIN_TOLERANCE, ROUNDINGS

if TYPE_CHECKING:
    from transformers import Cache, PreTrainedModel

AttentionMask: TypeAlias = torch.Tensor | dict[str, torch.Tensor]
"""One mask for all layers, or one for each layer type."""
DEFAULT_BACKEND = "inductor"
RUNS_TO_RECORD = 3
"""On CUDA the first run of a shape compiles, the second records a graph, and the third replays it."""


class CompiledForward:
    """A forward pass over inputs of a few shapes, compiled as one graph; on CUDA replayed from CUDA graphs.

    It is compared with the uncompiled one at every new shape (see :meth:`confirm`), and given up at the first failure.

    Attributes:
        reason: the reason why it is not used, as the end of a sentence about the model; None if it is.
        runs_to_know: the runs of a shape to confirm; later ones are like the last of them.
    """

    def __init__(self, backend: str, *, on_cuda: bool, reason: str | None = None) -> None:
        """Compile nothing yet: the first run of a shape does. If there is a ``reason``, a warning tells it."""
        self.reason: str | None = None
        self._confirmed: Counter[tuple[int, int]] = Counter()
        self._on_cuda = on_cuda
        self.runs_to_know = RUNS_TO_RECORD if self._on_cuda else 1
        # A copy with its own code: the compiler caches and counts by code object.
        name = f"_logits_{id(self)}"
        # The model is an argument: a reference held here would keep it alive for ever.
        self._run: Callable[..., torch.Tensor] = torch.compile(
            FunctionType(_logits.__code__.replace(co_name=name), _logits.__globals__, name),
            fullgraph=True,
            backend=backend,
            mode="reduce-overhead" if self._on_cuda and backend == DEFAULT_BACKEND else None,
        )
        if reason is not None:
            self.give_up(reason)

    def __call__(
        self,
        model: PreTrainedModel,
        token_ids: torch.Tensor,
        positions: torch.Tensor,
        mask: AttentionMask,
        cache: Cache,
    ) -> torch.Tensor:
        """Run one forward pass, compiled at its first use; raises whatever the model or the compiler raises.

        Token ids and positions are of shape (1, T), masks additive and of shape (1, 1, T, capacity); the cache has the
        slots to write at. The logits, shape (T, vocabulary), are valid until the next call.
        """
        if self._on_cuda:
            torch.compiler.cudagraph_mark_step_begin()
        return self._run(model, token_ids, positions, mask, cache)[0]

    def knows(self, mask: AttentionMask) -> bool:
        """Return True if forward passes of this shape are confirmed."""
        return self._confirmed[_shape(mask)] >= self.runs_to_know

    def confirm(self, mask: AttentionMask, logits: torch.Tensor, expected: torch.Tensor) -> bool:
        """Compare the logits at a new shape with the uncompiled ones; return True if they differ by rounding alone."""
        tolerance = max(MIN_TOLERANCE, ROUNDINGS * torch.finfo(expected.dtype).eps)
        found, wanted = logits.double(), expected.double()
        if bool((found - wanted).square().mean().sqrt() <= tolerance * wanted.std()):
            self._confirmed[_shape(mask)] += 1
            return True
        self.give_up("its compiled forward pass gives other logits")
        return False

    def give_up(self, reason: str) -> None:
        """Stop using it, with a warning."""
        if self.reason is None:
            self.reason = reason
            warnings.warn(f"the model runs uncompiled: {reason}", stacklevel=2)


def check_backend(compiled: bool | str) -> None:
    """Raise ValueError for a backend that torch does not know. Other than True and False, it is looked up."""
    if compiled and compiled is not True and compiled not in (known := torch.compiler.list_backends(())):
        raise ValueError(f"compiled must be True, False or a backend of torch ({', '.join(known)}), not {compiled!r}")


def _logits(
    model: PreTrainedModel, token_ids: torch.Tensor, positions: torch.Tensor, mask: AttentionMask, cache: Cache
) -> torch.Tensor:
    """Return logits, shape (1, T, vocabulary); this is the code compiled."""
    output = model(
        input_ids=token_ids,
        position_ids=positions,
        attention_mask=mask,
        past_key_values=cache,
        use_cache=True,
        return_dict=True,
    )
    logits: torch.Tensor = output.logits
    return logits


def _shape(mask: AttentionMask) -> tuple[int, int]:
    any_mask = next(iter(mask.values())) if isinstance(mask, Mapping) else mask
    return any_mask.shape[2], any_mask.shape[3]
