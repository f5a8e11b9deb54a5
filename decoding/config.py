"""LookaheadConfig: the sizes of the lookahead and the verification branch, fixed or chosen step by step."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class LookaheadConfig:
    """W, N and G of lookahead decoding (Fu et al. 2024, section 3): fixed, as in the paper, or automatic.

    Attributes:
        window_size: W, how many positions ahead the lookahead branch guesses in parallel; 0 leaves the branch out.
        ngram_size: N, the length of the collected n-grams: the window keeps N-1 iterations, and a step can accept
            up to N-1 candidates.
        guess_set_size: G, how many candidate n-grams a step verifies at most; 0 leaves the verification branch out.
        automatic: each step takes as many candidates, and as large a window, as pay on this machine, whatever W and
            N say; G is then how many n-grams are kept for each first token. See :meth:`auto`.

    Raises:
        ValueError: a size is out of range.
    """

    window_size: int = 7
    ngram_size: int = 5
    guess_set_size: int = 7
    automatic: bool = False

    @classmethod
    def auto(cls) -> LookaheadConfig:
        """The default: every step is budgeted from what it costs and what it is likely to win, nothing included."""
        return cls(window_size=15, ngram_size=5, guess_set_size=15, automatic=True)

    def __repr__(self) -> str:
        if self == LookaheadConfig.auto():
            return "LookaheadConfig.auto()"
        sizes = f"window_size={self.window_size}, ngram_size={self.ngram_size}, guess_set_size={self.guess_set_size}"
        return f"LookaheadConfig({sizes}{', automatic=True' if self.automatic else ''})"

    def __post_init__(self) -> None:
        for name, symbol, least in (("window_size", "W", 0), ("ngram_size", "N", 2), ("guess_set_size", "G", 0)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int):
                raise ValueError(f"{name} ({symbol}) must be a whole number, not {value!r}")
            if value < least:
                raise ValueError(f"{name} ({symbol}) must be at least {least}, not {value}")
