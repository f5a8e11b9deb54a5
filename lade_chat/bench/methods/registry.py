"""The ways to decode that can be measured, by name. Nothing heavy is imported before one of them is made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from lade_chat.bench.results.values import Reply, TablesKept, seed_of_draws
from lade_chat.errors import LadeChatError
from lade_chat.presentation.methods import FIXED, GENERATE, JACOBI, LOOKAHEAD, PLAIN, PROMPT_LOOKUP
from lade_chat.presentation.methods import PAPER_SIZES as PAPER

if TYPE_CHECKING:
    from decoding import LookaheadConfig, SamplingConfig

Sizes: TypeAlias = tuple[int, int, int]
"""W, N and G."""
Replier: TypeAlias = Callable[[Sequence[int], int], Reply]
"""Answers a prompt's ids with at most so many tokens, and tells how long it took."""

PAPER_SIZES: Sizes = (PAPER.window_size, PAPER.ngram_size, PAPER.guess_set_size)


@dataclass(frozen=True, slots=True)
class Method:
    """A way to decode.

    Attributes:
        name: what it is called in the results.
        learns: whether it has tables that learn from the texts it sees, so that it is measured warm and cold.
        open: starts with fresh tables, to draw with a seed if tokens are drawn; what it returns keeps the tables from
            reply to reply.
        may_refuse: whether there are models that it raises an error for; such a method is left out.
        own_draws: whether it has a way of its own to draw, so that with one seed it says something else.
    """

    name: str
    learns: bool
    open: Callable[[int | None], Replier]
    may_refuse: bool = False
    own_draws: bool = False

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
    sampling: SamplingConfig | None = None
    """How tokens are chosen; None for the likeliest always."""
    workers: Any = None
    """The other processes that steps may be shared with; None where there are none."""

    def sampling_of(self, ids: Sequence[int], seed: int | None) -> SamplingConfig | None:
        """How tokens are chosen after a prompt, with this seed of the benchmark's."""
        draws = seed_of_draws(seed, ids)
        return self.sampling if self.sampling is None or draws is None else replace(self.sampling, seed=draws)


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
    from lade_chat.bench.methods.decoders import decoder_method

    return [decoder_method(PLAIN, AutoregressiveDecoder(setup.model), setup, learns=False)]


def _lookahead(setup: Setup) -> list[Method]:
    from decoding import LookaheadConfig, LookaheadDecoder
    from lade_chat.bench.methods.decoders import decoder_method

    config = LookaheadConfig.auto()
    alone = decoder_method(LOOKAHEAD, LookaheadDecoder(setup.model, config), setup)
    return [alone, *_shared(alone.name, config, setup)]


def _lookahead_fixed(setup: Setup) -> list[Method]:
    from decoding import LookaheadConfig
    from lade_chat.bench.methods.decoders import fixed_method

    found = []
    for sizes in dict.fromkeys(setup.fixed_sizes):
        found.append(fixed_method(sizes, setup))
        found += _shared(found[-1].name, LookaheadConfig(*sizes), setup)
    return found


def _shared(name: str, config: LookaheadConfig, setup: Setup) -> list[Method]:
    """The same with steps shared among all processes, if there are several."""
    if setup.workers is None:
        return []
    from lade_chat.bench.methods.scaling import shared_method

    return [shared_method(name, config, setup)]


def _jacobi(setup: Setup) -> list[Method]:
    from decoding import JacobiDecoder
    from lade_chat.bench.methods.decoders import decoder_method

    return [decoder_method(JACOBI, JacobiDecoder(setup.model), setup, learns=False)]


def _generate(setup: Setup) -> list[Method]:
    from lade_chat.bench.methods.transformers import generate_method

    return [generate_method(GENERATE, setup)]


def _prompt_lookup(name: str, tokens: int) -> Callable[[Setup], list[Method]]:
    def made(setup: Setup) -> list[Method]:
        from lade_chat.bench.methods.transformers import generate_method

        return [generate_method(name, setup, prompt_lookup_num_tokens=tokens)]

    return made


def _assisted(setup: Setup) -> list[Method]:
    from lade_chat.bench.methods.transformers import assisted_method

    return [assisted_method(ASSISTED, setup)]


ASSISTED = "hf-assisted"
METHODS: dict[str, Callable[[Setup], list[Method]]] = {
    PLAIN: _plain,
    LOOKAHEAD: _lookahead,
    FIXED: _lookahead_fixed,
    JACOBI: _jacobi,
    GENERATE: _generate,
    **{name: _prompt_lookup(name, tokens) for name, tokens in PROMPT_LOOKUP.items()},
    ASSISTED: _assisted,
}
"""Every method by the name that ``--methods`` knows it by."""
