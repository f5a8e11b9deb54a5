"""Decoding methods by name, for races and the benchmark: how to ask for them, and their titles."""

from __future__ import annotations

from typing import get_args

from lade_chat.errors import LadeChatError
from lade_chat.presentation.metrics import sizes_name
from lade_chat.protocol.values import MethodName, MethodSpec, Sizes

NAMES: tuple[MethodName, ...] = get_args(MethodName)
PLAIN: MethodName = "plain"
LOOKAHEAD: MethodName = "lookahead"
FIXED: MethodName = "lookahead-fixed"
JACOBI: MethodName = "jacobi"
GENERATE: MethodName = "hf-generate"
PROMPT_LOOKUP: dict[MethodName, int] = {"hf-prompt-lookup-3": 3, "hf-prompt-lookup-10": 10}
"""The tokens that transformers' prompt lookup guesses at once, by method."""
PAPER_SIZES = Sizes()

NEED_LOOKAHEAD = frozenset({LOOKAHEAD, FIXED, JACOBI})
"""Methods that need a model whose steps can hold several tokens or branches."""
WITHOUT_GUESSES = frozenset({PLAIN, GENERATE})
"""Methods without guesses: each token takes a step."""
OWN_SAMPLING = frozenset({GENERATE, *PROMPT_LOOKUP})
"""Methods of transformers, which sample another text from the same seed."""


def contender(text: str, sizes: Sizes | None = None) -> MethodSpec:
    """Parse a method's name, or ``W,N,G`` for lookahead with these sizes.

    Args:
        sizes: the sizes of lookahead given elsewhere.

    Raises:
        LadeChatError: there is no such method.
    """
    wanted = text.strip()
    numbers = [part.strip() for part in wanted.split(",")]
    if len(numbers) == 3 and all(number.isdecimal() for number in numbers):
        window, ngram, guesses = map(int, numbers)
        if ngram < 2:
            raise LadeChatError(f"The n-grams of '{text}' are too short: N, the second number, is at least 2.")
        return MethodSpec(FIXED, Sizes(window, ngram, guesses))
    name = next((name for name in NAMES if name == wanted), None)
    if name is None:
        raise LadeChatError(f"There is no method '{text}'. Choose from: {', '.join(NAMES)}; or W,N,G as in 7,5,7.")
    return in_force(MethodSpec(name), sizes)


def in_force(contender: MethodSpec, sizes: Sizes | None) -> MethodSpec:
    """Resolve a contender's sizes, given the general ones."""
    if contender.name == LOOKAHEAD and sizes is not None:
        return MethodSpec(FIXED, sizes)
    if contender.name == FIXED and contender.sizes is None:
        return MethodSpec(FIXED, sizes or PAPER_SIZES)
    return contender


def title(contender: MethodSpec) -> str:
    """Return the method's title: ``lookahead auto``, ``plain decoding``."""
    if contender.name == LOOKAHEAD:
        return "lookahead auto"
    if contender.name == FIXED:
        return f"lookahead {sizes_name(contender.sizes or PAPER_SIZES)}"
    if contender.name in PROMPT_LOOKUP:
        return f"prompt lookup {PROMPT_LOOKUP[contender.name]}"
    return {PLAIN: "plain decoding", JACOBI: "Jacobi decoding", GENERATE: "generate"}[contender.name]


def meaning(contender: MethodSpec) -> str:
    """Describe the method in a few words."""
    if contender.name in PROMPT_LOOKUP:
        return f"transformers: guesses {PROMPT_LOOKUP[contender.name]} tokens from n-grams of the text"
    return {
        PLAIN: "one token a step",
        LOOKAHEAD: "as many guesses as pay here, step by step",
        FIXED: "the paper's algorithm: window, n-grams, guess set of these sizes",
        JACOBI: "a block of 16 guesses, iterated until it is right",
        GENERATE: "transformers' own, one token a step",
    }[contender.name]
