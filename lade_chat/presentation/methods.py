"""The decoding methods that can race, by name: how to ask for them, their titles, what they need."""

from __future__ import annotations

from dataclasses import dataclass

from lade_chat.errors import UsageError
from lade_chat.presentation.metric_words import sizes_name
from lade_chat.protocol.values import MethodSpec, Sizes

PLAIN, LOOKAHEAD, FIXED, JACOBI, GENERATE = "plain", "lookahead", "lookahead-fixed", "jacobi", "hf-generate"
PROMPT_LOOKUP = {"hf-prompt-lookup-3": 3, "hf-prompt-lookup-10": 10}
"""The tokens that transformers' prompt lookup guesses at once, by method."""
OWN_METHODS = (PLAIN, LOOKAHEAD, FIXED, JACOBI)
"""Those whose steps over one token are the same step."""
PAPER_SIZES = Sizes()


@dataclass(frozen=True)
class MethodInfo:
    """A method of decoding as comparisons know it.

    Attributes:
        title: its name in a sentence; lookahead's sizes follow it.
        meaning: the method in a few words.
        needs_lookahead: it needs a model whose steps can hold several tokens or branches.
        guesses: its steps may yield several tokens.
        own_sampling: it samples another text from the same seed.
    """

    title: str
    meaning: str
    needs_lookahead: bool = False
    guesses: bool = True
    own_sampling: bool = False


METHODS: dict[str, MethodInfo] = {
    PLAIN: MethodInfo("plain decoding", "one token a step", guesses=False),
    LOOKAHEAD: MethodInfo("lookahead", "as many guesses as pay here, step by step", needs_lookahead=True),
    FIXED: MethodInfo(
        "lookahead", "the paper's algorithm: window, n-grams, guess set of these sizes", needs_lookahead=True
    ),
    JACOBI: MethodInfo("Jacobi decoding", "a block of 16 guesses, iterated until it is right", needs_lookahead=True),
    GENERATE: MethodInfo("generate", "transformers' own, one token a step", guesses=False, own_sampling=True),
    **{
        name: MethodInfo(
            f"prompt lookup {tokens}",
            f"transformers: guesses {tokens} tokens from n-grams of the text",
            own_sampling=True,
        )
        for name, tokens in PROMPT_LOOKUP.items()
    },
}
"""All that can race. A new one is a row here and a decoder in ``lade_chat.engine.decoder_factory``."""


def method_info(method: MethodSpec) -> MethodInfo:
    """Return the method of this name. Raises UsageError if there is no such method."""
    if method.name not in METHODS:
        raise UsageError(f"There is no method '{method.name}'. Choose from: {', '.join(METHODS)}.")
    return METHODS[method.name]


def parse(text: str, sizes: Sizes | None = None) -> MethodSpec:
    """Parse a method's name, or ``W,N,G``; ``sizes`` are those given elsewhere. Raises UsageError: no such method."""
    wanted = text.strip()
    numbers = [part.strip() for part in wanted.split(",")]
    if len(numbers) == 3 and all(number.isdecimal() for number in numbers):
        window, ngram, guesses = map(int, numbers)
        if ngram < 2:
            raise UsageError(f"The n-grams of '{text}' are too short: N, the second number, is at least 2.")
        return MethodSpec(FIXED, Sizes(window, ngram, guesses))
    if wanted not in METHODS:
        raise UsageError(f"There is no method '{text}'. Choose from: {', '.join(METHODS)}; or W,N,G as in 7,5,7.")
    return in_force(MethodSpec(wanted), sizes)


def in_force(method: MethodSpec, sizes: Sizes | None) -> MethodSpec:
    """Resolve a method's sizes, given the general ones."""
    if method.name == LOOKAHEAD and sizes is not None:
        return MethodSpec(FIXED, sizes)
    if method.name == FIXED and method.sizes is None:
        return MethodSpec(FIXED, sizes or PAPER_SIZES)
    return method


def title(method: MethodSpec) -> str:
    """Return the method's title: ``lookahead auto``, ``plain decoding``."""
    name = method_info(method).title
    if method.name in (LOOKAHEAD, FIXED):
        return f"{name} {sizes_name(method.sizes or (PAPER_SIZES if method.name == FIXED else None))}"
    return name
