"""LookaheadConfig: the sizes of the lookahead and the verification branch, fixed or chosen step by step."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import NamedTuple

from decoding.arguments import as_count

MAX_WINDOW_TOKENS = 1 << 14
"""Maximum tokens of a lookahead branch: an attention mask for twice as many would take gigabytes."""
MANY_TOKENS = 1 << 10
"""Larger steps cause a warning. With llama.cpp's fixed W15 N5 G15 a step reads at most 121 tokens."""


class FixedSizes(NamedTuple):
    """W, N and G of lookahead decoding (Fu et al. 2024, section 3).

    Attributes:
        window_size: W, the positions ahead that the lookahead branch guesses in parallel; 0 leaves the branch out.
        ngram_size: N, the length of n-grams: the window keeps N-1 iterations, and a step accepts up to N-1 candidates.
        guess_set_size: G, the candidate n-grams that a step verifies at most; 0 leaves the verification branch out.
    """

    window_size: int
    ngram_size: int
    guess_set_size: int


@dataclass(frozen=True, slots=True, init=False, repr=False)
class LookaheadConfig:
    """W, N and G, fixed as in the paper; or :meth:`auto`, where each step takes what is likely to pay.

    Attributes:
        sizes: those that are fixed; None where each step is budgeted.

    Raises:
        ValueError: a size is out of range, or the window of W·(N-1) tokens is too large for any machine.

    Warns:
        UserWarning: a step may read more tokens than can pay: 1 + (W + G)·(N-1) at most.
    """

    sizes: FixedSizes | None

    def __init__(self, window_size: int = 7, ngram_size: int = 5, guess_set_size: int = 7) -> None:
        sizes = FixedSizes(
            as_count(window_size, "window_size (W)", least=0),
            as_count(ngram_size, "ngram_size (N)", least=2),
            as_count(guess_set_size, "guess_set_size (G)", least=0),
        )
        window = sizes.window_size * (sizes.ngram_size - 1)
        if window > MAX_WINDOW_TOKENS:
            named = f"window_size (W) {sizes.window_size} and ngram_size (N) {sizes.ngram_size}"
            raise ValueError(f"{named} make a window of {window} tokens, and it may have {MAX_WINDOW_TOKENS} at most")
        tokens = 1 + window + sizes.guess_set_size * (sizes.ngram_size - 1)
        if tokens > MANY_TOKENS:
            told = f"with these sizes a step reads up to {tokens:,} tokens, {window:,} of them the window's"
            warnings.warn(f"{told}: hardly any machine has that pay", stacklevel=2)
        object.__setattr__(self, "sizes", sizes)

    @classmethod
    def auto(cls) -> LookaheadConfig:
        """The default: each step takes as many candidates, and as large a window, as pay on this machine."""
        config = cls()
        object.__setattr__(config, "sizes", None)
        return config

    def __repr__(self) -> str:
        if self.sizes is None:
            return "LookaheadConfig.auto()"
        return f"LookaheadConfig({', '.join(f'{name}={size}' for name, size in self.sizes._asdict().items())})"
