"""The inputs of a step: token ids, positions and attention masks, for both branches in one forward pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from decoding.branches.candidate_tree import CandidateTree
from decoding.branches.window import JacobiWindow


class StepInputs:
    """The tokens of one forward pass: the last token, the candidates, the window, in that order.

    The candidates see the prefix, the last token, their ancestors and themselves; the window's tokens see the
    prefix, the last token and those of :class:`JacobiWindow`'s own mask. The two branches do not see each other.

    Attributes:
        token_ids: T tokens.
        depths: their positions, counted from the last token's.
        mask: the bytes of :attr:`visible`.
        logit_rows: the rows whose logits are needed: the last token's, the candidates', the window's last row's.
    """

    __slots__ = ("depths", "logit_rows", "mask", "token_ids")

    def __init__(self, token_ids: list[int], depths: list[int], mask: bytes, logit_rows: list[int]) -> None:
        # Lists and bytes: making arrays for a few tokens takes longer than everything else here.
        self.token_ids, self.depths, self.mask, self.logit_rows = token_ids, depths, mask, logit_rows

    @classmethod
    def from_branches(cls, last_token: int, tree: CandidateTree, window: JacobiWindow) -> StepInputs:
        """Return the inputs of both branches after the last token."""
        candidates = 1 + len(tree)
        token_ids, depths, logit_rows = [last_token, *tree.tokens], [0, *tree.depths], [*range(candidates)]
        if not window.rows:
            return cls(token_ids, depths, tree.ancestry_bytes(), logit_rows)
        total = candidates + len(window)
        visible = np.zeros((total, total), dtype=np.bool_)
        visible[:candidates, :candidates] = tree.ancestry()
        visible[candidates:, 0] = True
        visible[candidates:, candidates:] = window.visibility()
        return cls(
            [*token_ids, *window.tokens],
            [*depths, *window.depths().tolist()],
            visible.tobytes(),
            [*logit_rows, *range(total - window.columns, total)],
        )

    @classmethod
    def chain(cls, token_ids: list[int]) -> StepInputs:
        """Return the inputs of a step over the last token and one chain of candidates."""
        places = [*range(len(token_ids))]
        return cls(token_ids, places, np.tri(len(token_ids), dtype=np.bool_).tobytes(), places)

    @property
    def visible(self) -> npt.NDArray[np.bool_]:
        """The mask among the tokens. Shape (T, T), row by query."""
        return np.frombuffer(bytearray(self.mask), dtype=np.bool_).reshape(len(self), len(self))

    def __len__(self) -> int:
        return len(self.token_ids)


@dataclass(frozen=True, slots=True)
class AttentionPattern:
    """The part of the prefix that a layer attends to, in positions; all of it by default."""

    sliding_window: int | None = None
    chunk_size: int | None = None

    def sees(self, query: npt.NDArray[np.int64], key: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Return which key positions each query position sees. Shape (queries, keys)."""
        if self.sliding_window is not None:
            return np.asarray(key[None, :] > query[:, None] - self.sliding_window)
        if self.chunk_size is not None:
            return np.asarray(key[None, :] // self.chunk_size == query[:, None] // self.chunk_size)
        return np.ones((len(query), len(key)), dtype=np.bool_)


AttentionPatterns = AttentionPattern | Mapping[str, AttentionPattern]
"""One pattern for all layers, or one for each layer type, if the model takes a mask for each."""


def attention_patterns_of(config: Any) -> AttentionPatterns:
    """Return the attention patterns of a configuration. Raises NotImplementedError for an unknown type of layer."""
    config = config.get_text_config(decoder=True)
    sliding, chunk = getattr(config, "sliding_window", None), getattr(config, "attention_chunk_size", None)
    by_type = {
        "full_attention": AttentionPattern(),
        "sliding_attention": AttentionPattern(sliding_window=sliding),
        "chunked_attention": AttentionPattern(chunk_size=chunk),
        # Sparse attention selects among the tokens that the mask shows.
        "indexed_attention": AttentionPattern(),
    }
    layer_types = getattr(config, "layer_types", None)
    if layer_types is None:
        return AttentionPattern(sliding_window=sliding, chunk_size=chunk if sliding is None else None)
    unknown = sorted(set(layer_types) - set(by_type))
    if unknown:
        raise NotImplementedError(f"its layers of type {', '.join(unknown)} take no mask over several branches")
    return {layer_type: by_type[layer_type] for layer_type in set(layer_types)}


def additive_mask(
    inputs: StepInputs, cached: int, pattern: AttentionPattern, dtype: torch.dtype, device: torch.device
) -> torch.Tensor:
    """Return the additive mask of a step behind ``cached`` tokens, the form that sdpa and eager attention accept.

    Shape (1, 1, T, cached + T): 0 where a token is visible, the dtype's lowest value where it is hidden.
    """
    mask = torch.empty((1, 1, len(inputs), cached + len(inputs)), dtype=dtype, device=device)
    write_mask(mask, inputs, cached, pattern)
    return mask


def write_mask(mask: torch.Tensor, inputs: StepInputs, cached: int, pattern: AttentionPattern) -> None:
    """Write :func:`additive_mask` into a tensor of shape (1, 1, T, cached + T or more); what is beyond is hidden."""
    end, lowest = cached + len(inputs), torch.finfo(mask.dtype).min
    mask.zero_()
    mask[..., end:] = lowest
    mask[..., cached:end].masked_fill_(torch.from_numpy(~inputs.visible).to(mask.device), lowest)
    if pattern != AttentionPattern():
        positions = cached + np.asarray(inputs.depths)
        within = pattern.sees(positions, np.concatenate((np.arange(cached, dtype=np.int64), positions)))
        mask[..., :end].masked_fill_(torch.from_numpy(~within).to(mask.device), lowest)


def position_ids(cached: int, depths: Sequence[int] | npt.NDArray[np.int64], device: torch.device) -> torch.Tensor:
    """Return absolute positions, shape (1, T)."""
    return torch.from_numpy(np.asarray(depths, dtype=np.int64)[None] + cached).to(device)
