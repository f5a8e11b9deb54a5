"""CompiledForward: a model's forward pass through `torch.compile`, and why it is not used where it cannot be."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import TypeAlias
from weakref import WeakKeyDictionary

import torch
from transformers import Cache, PreTrainedModel

from decoding.gate import gate_of
from decoding.probe import LEAST_TOLERANCE, ROUNDINGS
from decoding.support import lookahead_support

Mask: TypeAlias = torch.Tensor | dict[str, torch.Tensor]
"""One mask for all layers, or one for each layer type."""
DEFAULT_BACKEND = "inductor"

_known: WeakKeyDictionary[PreTrainedModel, dict[str, CompiledForward]] = WeakKeyDictionary()


def compiled_forward(model: PreTrainedModel, backend: str = DEFAULT_BACKEND) -> CompiledForward:
    """The model's compiled forward pass; nothing is compiled before its first use. Kept for the model's lifetime.

    Args:
        backend: what `torch.compile` knows it by.
    """
    of_model = _known.setdefault(model, {})
    if backend not in of_model:
        of_model[backend] = CompiledForward(model, backend)
    return of_model[backend]


class CompiledForward:
    """A forward pass over inputs of a few shapes, compiled as one graph; on CUDA replayed from CUDA graphs.

    It is held against the uncompiled one at every shape that it is new to (see :meth:`confirm`), and given up for good
    at the first failure.

    Attributes:
        reason: why it is not used, as the end of a sentence about the model; None if it is.
    """

    def __init__(self, model: PreTrainedModel, backend: str) -> None:
        gate, support = gate_of(model), lookahead_support(model)
        self.reason = support.reason
        if self.reason is None and gate.one_prefill:
            self.reason = "its forward pass depends on the length of the text"
        self._confirmed: set[tuple[int, int]] = set()
        self._on_cuda = model.device.type == "cuda"
        # The model is an argument: held here, it would never be let go, since this is kept as long as it lives.
        self._run: Callable[..., torch.Tensor] = torch.compile(
            _own(_logits, f"_logits_{id(self)}"),
            fullgraph=True,
            backend=backend,
            mode="reduce-overhead" if self._on_cuda and backend == DEFAULT_BACKEND else None,
        )
        if self.reason is not None:
            self._warn()

    def __call__(
        self, model: PreTrainedModel, token_ids: torch.Tensor, positions: torch.Tensor, mask: Mask, cache: Cache
    ) -> torch.Tensor:
        """One forward pass, compiled first where need be.

        Args:
            token_ids: shape (1, T).
            positions: shape (1, T).
            mask: additive, each of shape (1, 1, T, capacity).
            cache: told where to write.

        Returns:
            The logits, shape (T, vocabulary), valid until the next call.

        Raises:
            Exception: whatever the model or the compiler raises.
        """
        if not self.knows(mask):
            _announce(token_ids, positions, mask)
        if self._on_cuda:
            torch.compiler.cudagraph_mark_step_begin()
        return self._run(model, token_ids, positions, mask, cache)[0]

    def knows(self, mask: Mask) -> bool:
        """Whether a forward pass of this shape has been confirmed."""
        return _shape(mask) in self._confirmed

    def confirm(self, mask: Mask, logits: torch.Tensor, expected: torch.Tensor) -> bool:
        """Whether the logits at a new shape are the uncompiled ones, but for rounding; if so the shape is known."""
        tolerance = max(LEAST_TOLERANCE, ROUNDINGS * torch.finfo(expected.dtype).eps)
        found, wanted = logits.double(), expected.double()
        if bool((found - wanted).square().mean().sqrt() <= tolerance * wanted.std()):
            self._confirmed.add(_shape(mask))
            return True
        self.give_up("its compiled forward pass gives other logits")
        return False

    def give_up(self, reason: str) -> None:
        """Use it no more, and warn of that."""
        if self.reason is None:
            self.reason = reason
            self._warn()

    def _warn(self) -> None:
        warnings.warn(f"the model runs uncompiled: {self.reason}", stacklevel=2)


def _logits(
    model: PreTrainedModel, token_ids: torch.Tensor, positions: torch.Tensor, mask: Mask, cache: Cache
) -> torch.Tensor:
    """What is compiled. Shape (1, T, vocabulary)."""
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


def _own(function: Callable[..., torch.Tensor], name: str) -> Callable[..., torch.Tensor]:
    """The function with code of its own: the compiler keeps and counts its results by code, whatever the model."""
    code = function.__code__.replace(co_name=name)
    return FunctionType(code, function.__globals__, name)


def _announce(token_ids: torch.Tensor, positions: torch.Tensor, mask: Mask) -> None:
    """Tell the compiler what varies, so that one graph serves steps of all sizes (but one token has its own)."""
    masks = mask.values() if isinstance(mask, Mapping) else (mask,)
    if token_ids.shape[1] > 1:
        for tensor in (token_ids, positions):
            torch._dynamo.maybe_mark_dynamic(tensor, 1)
    for each in masks:
        torch._dynamo.maybe_mark_dynamic(each, [2, 3] if token_ids.shape[1] > 1 else 3)


def _shape(mask: Mask) -> tuple[int, int]:
    any_mask = next(iter(mask.values())) if isinstance(mask, Mapping) else mask
    return any_mask.shape[2], any_mask.shape[3]
