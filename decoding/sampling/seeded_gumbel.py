"""Randomness for sampling: Gumbel noise that is a function of seed, position and token alone.

Adding it to the log-probabilities and taking the largest draws from the distribution (Gumbel-max). Since nothing else
goes in, the token drawn at a position is the same however many are accepted in a step, on any device, after
any stop or toggle. The hash is SplitMix64 (Steele, Lea and Flood 2014).

Noise is -log E, with E exponential. The least E of a block of tokens is drawn for the block, and the others exceed it
by exponentials of their own, since those have no memory: all are independent, and a block's noise has a bound that is
known before any token's.
"""

from __future__ import annotations

import torch

BLOCK = 128
"""Neighbouring token ids that share a bound, a power of two."""
_WORD = 1 << 64
_STRIDE, _FIRST, _SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB


def gumbel(seed: int, positions: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
    """Return standard Gumbel noise for each pair of position and token id.

    Args:
        seed: any whole number; taken modulo 2⁶⁴.
        positions: the places of the tokens in the text, int64.
        tokens: token ids, int64; broadcast against ``positions``.

    Returns:
        float64, of the common shape; float32 on a device that has no float64.
    """
    if tokens.device.type == "mps":
        return gumbel(seed, positions.cpu(), tokens.cpu()).float().to(tokens.device)
    key = _key(seed, positions)
    words = _block_words(key, tokens >> BLOCK.bit_length() - 1)
    own = _exponential(_mixed(key + (tokens + 1) * _signed(_STRIDE)))
    is_least = words & (BLOCK - 1) == tokens & (BLOCK - 1)
    return -torch.log(_exponential(words) / BLOCK + own.masked_fill(is_least, 0))


def gumbel_bounds(seed: int, position: torch.Tensor, blocks: torch.Tensor) -> torch.Tensor:
    """Return the largest noise in each of some blocks of token ids at a position, float64."""
    return -torch.log(_exponential(_block_words(_key(seed, position), blocks)) / BLOCK)


def _key(seed: int, positions: torch.Tensor) -> torch.Tensor:
    return _mixed(_mixed(torch.full_like(positions, _signed(seed))) + positions * _signed(_STRIDE))


def _block_words(key: torch.Tensor, blocks: torch.Tensor) -> torch.Tensor:
    """Return a random word for each block: its upper bits are the least exponential, its lowest the token's place."""
    return _mixed(key - (blocks + 1) * _signed(_STRIDE))


def _exponential(words: torch.Tensor) -> torch.Tensor:
    # The upper 52 bits, as a fraction that is neither 0 nor 1.
    return -torch.log((_shifted(words, 12).double() + 0.5) * 2.0**-52)


def _mixed(words: torch.Tensor) -> torch.Tensor:
    words = (words ^ _shifted(words, 30)) * _signed(_FIRST)
    words = (words ^ _shifted(words, 27)) * _signed(_SECOND)
    return words ^ _shifted(words, 31)


def _shifted(words: torch.Tensor, by: int) -> torch.Tensor:
    """Shifted right as if unsigned."""
    return (words >> by) & ((1 << (64 - by)) - 1)


def _signed(word: int) -> int:
    """The int64 with the same bits."""
    word %= _WORD
    return word - _WORD if word >= _WORD // 2 else word
