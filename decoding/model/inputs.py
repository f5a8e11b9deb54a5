"""The inputs of a step: token ids, positions and attention masks, for both branches in one forward pass."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from decoding.drafting.tree import CandidateTree
from decoding.drafting.window import JacobiWindow

_ONE_DEPTH = np.zeros(1, dtype=np.int64)
_ONE_VISIBLE = np.ones((1, 1), dtype=np.bool_)


@dataclass(frozen=True)
class StepInputs:
    """The tokens of one forward pass: the last token, the candidates, the window, in that order.

    The candidates see the prefix, the last token, their ancestors and themselves; the window's tokens see the
    prefix, the last token and those of :class:`JacobiWindow`'s own mask. The two branches do not see each other.

    Attributes:
        token_ids: T tokens.
        depths: their positions, counted from the last token's. Shape (T,).
        visible: the mask among them. Shape (T, T), row by query.
        logit_rows: the rows whose logits are needed: the last token's, the candidates', the window's last row's.
    """

    token_ids: list[int]
    depths: npt.NDArray[np.int64]
    visible: npt.NDArray[np.bool_]
    logit_rows: list[int]

    @classmethod
    def from_branches(cls, last_token: int, tree: CandidateTree, window: JacobiWindow) -> StepInputs:
        """Return the inputs of both branches after the last token."""
        candidates, total = 1 + len(tree), 1 + len(tree) + len(window)
        if total == 1:
            return cls([last_token], _ONE_DEPTH, _ONE_VISIBLE, [0])
        visible = tree.ancestry(total)
        depths = np.asarray([0, *tree.depths], dtype=np.int64)
        if window:
            visible[candidates:, 0] = True
            visible[candidates:, candidates:] = window.visibility()
            depths = np.concatenate((depths, window.depths()))
        return cls(
            token_ids=[last_token, *tree.tokens, *window.tokens],
            depths=depths,
            visible=visible,
            logit_rows=[*range(candidates), *range(total - window.columns * bool(window.rows), total)],
        )

    def __len__(self) -> int:
        return len(self.token_ids)

    def render(self) -> str:
        """Return the mask as text, a row per query: ``x`` for visible, ``.`` for hidden."""
        return "\n".join("".join("x" if seen else "." for seen in row) for row in self.visible)


@dataclass(frozen=True, slots=True)
class AttentionPattern:
    """The part of the prefix that a layer attends to, in positions; all of it by default."""

    sliding_window: int | None = None
    chunk_size: int | None = None

    @property
    def is_local(self) -> bool:
        """True if some of a long prefix is hidden."""
        return self.sliding_window is not None or self.chunk_size is not None

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
    """Return the attention patterns of a model with this configuration.

    Raises:
        NotImplementedError: a layer type is unknown.
    """
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
    """Return the attention mask of one step, in the one form that sdpa and eager attention both honour.

    Args:
        inputs: the T tokens of the step.
        cached: the number of tokens in the KV cache, at positions 0 … cached - 1.

    Returns:
        Shape (1, 1, T, cached + T): 0 where a token is visible, the dtype's lowest value where it is hidden.
    """
    total, lowest = len(inputs), torch.finfo(dtype).min
    mask = torch.zeros((1, 1, total, cached + total), dtype=dtype, device=device)
    mask[..., cached:].masked_fill_(torch.from_numpy(~inputs.visible).to(device), lowest)
    if pattern.is_local:
        positions = cached + inputs.depths
        within = pattern.sees(positions, np.concatenate((np.arange(cached, dtype=np.int64), positions)))
        mask.masked_fill_(torch.from_numpy(~within).to(device), lowest)
    return mask


def position_ids(cached: int, depths: Sequence[int] | npt.NDArray[np.int64], device: torch.device) -> torch.Tensor:
    """Return absolute positions, shape (1, T)."""
    return torch.from_numpy(np.asarray(depths, dtype=np.int64)[None] + cached).to(device)
