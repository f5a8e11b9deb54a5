"""The ways to decode that can be measured, by name. Nothing heavy is imported before one of them is made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from lade_chat.bench.values import Reply, TablesKept
from lade_chat.errors import LadeChatError

Sizes: TypeAlias = tuple[int, int, int]
"""W, N and G."""
Replier: TypeAlias = Callable[[Sequence[int], int], Reply]
"""Answers a prompt's ids with at most so many tokens, and tells how long it took."""

PLAIN = "plain"
"""What every method is compared with."""
PAPER_SIZES: Sizes = (7, 5, 7)


@dataclass(frozen=True, slots=True)
class Method:
    """A way to decode.

    Attributes:
        name: what it is called in the results.
        learns: whether it has tables that learn from the texts it sees, so that it is measured warm and cold.
        open: starts with fresh tables; what it returns keeps them from reply to reply.
        may_refuse: whether there are models that it raises an error for; such a method is left out.
    """

    name: str
    learns: bool
    open: Callable[[], Replier]
    may_refuse: bool = False

    @property
    def entries(self) -> tuple[TablesKept | None, ...]:
        """In which ways it takes part."""
        return ("warm", "cold") if self.learns else (None,)


@dataclass(frozen=True, slots=True)
class Setup:
    """What methods are made from: the model, and what the command line says about some of them."""

    model: Any
    eos_token_ids: tuple[int, ...] = ()
    fixed_sizes: tuple[Sizes, ...] = (PAPER_SIZES,)
    tokenizer: Any = None
    assistant: Any = None
    """A LoadedModel that drafts for the model; None where none was given."""
    compiled: bool = False
    """Whether the steps of this package's decoders are compiled."""


def make(names: Sequence[str], setup: Setup) -> list[Method]:
    """The methods of these names, plain decoding always among them."""
    wanted = dict.fromkeys([PLAIN, *names])
    return [method for name in wanted for method in METHODS[name](setup)]


def check_names(names: Sequence[str], *, assistant: bool) -> None:
    """Raises LadeChatError for a name that no method has, or a method that lacks its second model."""
    unknown = [name for name in names if name not in METHODS]
    if unknown:
        raise LadeChatError(f"There is no method '{unknown[0]}'. Choose from: {', '.join(METHODS)}.")
    if ASSISTED in names and not assistant:
        raise LadeChatError(f"{ASSISTED} needs a model that drafts: give its --assistant-model.")


def default_names(*, assistant: bool) -> list[str]:
    """All methods that can be measured without more being said."""
    return [name for name in METHODS if name != ASSISTED or assistant]


def _plain(setup: Setup) -> list[Method]:
    from decoding import AutoregressiveDecoder
    from lade_chat.bench.decoders import decoder_method

    return [decoder_method(PLAIN, AutoregressiveDecoder(setup.model), setup, learns=False)]


def _lookahead(setup: Setup) -> list[Method]:
    from decoding import LookaheadConfig, LookaheadDecoder
    from lade_chat.bench.decoders import decoder_method

    return [decoder_method("lookahead", LookaheadDecoder(setup.model, LookaheadConfig.auto()), setup)]


def _lookahead_fixed(setup: Setup) -> list[Method]:
    from lade_chat.bench.decoders import fixed_method

    return [fixed_method(sizes, setup) for sizes in dict.fromkeys(setup.fixed_sizes)]


def _generate(setup: Setup) -> list[Method]:
    from lade_chat.bench.generate import generate_method

    return [generate_method("hf-generate", setup)]


def _prompt_lookup(tokens: int) -> Callable[[Setup], list[Method]]:
    def made(setup: Setup) -> list[Method]:
        from lade_chat.bench.generate import generate_method

        return [generate_method(f"hf-prompt-lookup-{tokens}", setup, prompt_lookup_num_tokens=tokens)]

    return made


def _assisted(setup: Setup) -> list[Method]:
    from lade_chat.bench.generate import assisted_method

    return [assisted_method(ASSISTED, setup)]


ASSISTED = "hf-assisted"
METHODS: dict[str, Callable[[Setup], list[Method]]] = {
    PLAIN: _plain,
    "lookahead": _lookahead,
    "lookahead-fixed": _lookahead_fixed,
    "hf-generate": _generate,
    "hf-prompt-lookup-3": _prompt_lookup(3),
    "hf-prompt-lookup-10": _prompt_lookup(10),
    ASSISTED: _assisted,
}
"""Every method by the name that ``--methods`` knows it by."""
