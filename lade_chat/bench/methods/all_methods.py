"""A decoding method as the benchmark sees it, and all of them by name; each is imported when it is made."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from pkgutil import resolve_name
from shutil import which
from typing import TYPE_CHECKING, Any, TypeAlias

from lade_chat.bench.results.measurements import TablesKept, TimedReply
from lade_chat.errors import LadeChatError, UsageError, not_installed_message
from lade_chat.presentation.methods import FIXED, GENERATE, JACOBI, LOOKAHEAD, PLAIN, PROMPT_LOOKUP
from lade_chat.presentation.methods import PAPER_SIZES as PAPER

if TYPE_CHECKING:
    from decoding import SamplingConfig, StepCost

SizesTuple: TypeAlias = tuple[int, int, int]
"""W, N and G."""
Replier: TypeAlias = Callable[[Sequence[int], int], TimedReply]
"""Function of a prompt's ids and the maximum number of new tokens; returns the timed reply."""

PAPER_SIZES: SizesTuple = (PAPER.window_size, PAPER.ngram_size, PAPER.guess_set_size)


@dataclass(frozen=True, slots=True)
class Method:
    """One decoding method.

    Attributes:
        learns: True if it has draft tables that learn from earlier texts; it is then measured warm and cold.
        open: takes a seed and returns a replier with fresh tables, which it keeps from reply to reply.
        may_refuse: True if it may raise an error for a model, which then leaves the method out.
        own_draws: True if it draws its own random numbers, so that the same seed gives another text.
    """

    name: str
    learns: bool
    open: Callable[[int | None], Replier]
    may_refuse: bool = False
    own_draws: bool = False

    @property
    def entries(self) -> tuple[TablesKept | None, ...]:
        """The states of the draft tables to measure it with; None for a method that does not learn."""
        return ("warm", "cold") if self.learns else (None,)


@dataclass(frozen=True, slots=True)
class Setup:
    """Everything that methods are made from."""

    model: Any
    eos_token_ids: tuple[int, ...] = ()
    fixed_sizes: tuple[SizesTuple, ...] = (PAPER_SIZES,)
    tokenizer: Any = None
    assistant: Any = None
    """The draft model, a LoadedModel, if there is one."""
    compiled: bool = False
    """Compile the steps of this package's decoders."""
    sampling: SamplingConfig | None = None
    """None for greedy decoding."""
    workers: Any = None
    """The other processes that share the steps, if any."""
    gguf: Path | None = None
    """The model's file, for other engines; None unless it is a GGUF file."""
    step_cost: Mapping[int, float] | None = None
    """Plain steps by the tokens of a step, at which steps are counted in place of being timed; None to time them."""

    def fixed_cost(self) -> StepCost | None:
        """Return the step cost given beforehand, in a state of its own; None if steps are timed."""
        from decoding import StepCost

        return None if self.step_cost is None else StepCost(self.step_cost, live=False)


MethodFactory: TypeAlias = Callable[[Setup], list[Method]]


def deferred(reference: str, **settings: Any) -> MethodFactory:
    """Return a factory that imports ``module:function`` when it is called, since torch takes seconds to import."""
    return lambda setup: resolve_name(reference)(setup, **settings)


ASSISTED = "hf-assisted"
_DECODERS, _PEERS = "lade_chat.bench.methods.decoders", "lade_chat.bench.methods.peers"
METHODS: dict[str, MethodFactory] = {
    PLAIN: deferred(f"{_DECODERS}:plain"),
    LOOKAHEAD: deferred(f"{_DECODERS}:lookahead"),
    FIXED: deferred(f"{_DECODERS}:lookahead_fixed"),
    JACOBI: deferred(f"{_DECODERS}:jacobi"),
    GENERATE: deferred(f"{_DECODERS}:generate", name=GENERATE),
    **{
        name: deferred(f"{_DECODERS}:generate", name=name, prompt_lookup_num_tokens=tokens)
        for name, tokens in PROMPT_LOOKUP.items()
    },
    **{name: deferred(f"{_PEERS}:peer", name=name) for name in ("token-recycling", "suffix-decoding", "prompt-lookup")},
    ASSISTED: deferred(f"{_DECODERS}:assisted", name=ASSISTED),
}
"""Every method by its name in ``--methods``."""
_WITHOUT_STEPS = (GENERATE, *PROMPT_LOOKUP, ASSISTED)
_LLAMA_CPP = "lade_chat.bench.methods.llama_cpp"
ENGINES: dict[str, MethodFactory] = {
    "llama.cpp": deferred(f"{_LLAMA_CPP}:methods", name="llama.cpp", loader=f"{_LLAMA_CPP}:load_package"),
    "llama-server": deferred(f"{_LLAMA_CPP}:methods", name="llama-server", loader=f"{_LLAMA_CPP}:load_server"),
}
"""Other engines by their names in ``--engines``; each reads the model's own GGUF file."""


def make(names: Sequence[str], setup: Setup) -> list[Method]:
    """Make the methods of these names, plain decoding always among them."""
    wanted = dict.fromkeys([PLAIN, *names])
    return [method for name in wanted for method in (METHODS | ENGINES)[name](setup)]


def check_names(names: Sequence[str], *, assistant: bool, timed: bool = True) -> None:
    """Raise UsageError for an unknown name, one that lacks its draft model, or one whose steps cannot be counted."""
    unknown = [name for name in names if name not in METHODS and name not in ENGINES]
    if unknown:
        raise UsageError(f"There is no method '{unknown[0]}'. Choose from: {', '.join(METHODS)}.")
    if ASSISTED in names and not assistant:
        raise UsageError(f"{ASSISTED} needs a draft model: give its --assistant-model.")
    silent = [name for name in names if name in _WITHOUT_STEPS or name in ENGINES]
    if silent and not timed:
        raise UsageError(f"{silent[0]} doesn't report its steps, so it can only be timed: leave out --step-cost.")


def check_installed(engines: Sequence[str]) -> None:
    """Raise LadeChatError for an engine that is not installed; called before anything is measured."""
    if "llama.cpp" in engines and find_spec("xllamacpp") is None:
        raise LadeChatError(not_installed_message("--engines llama.cpp", "xllamacpp"))
    if "llama-server" in engines and which("llama-server") is None:
        raise LadeChatError("--engines llama-server needs llama.cpp's program of that name on the PATH")


def default_names(*, assistant: bool, timed: bool = True) -> list[str]:
    """Return the methods that need no further options; if steps are not timed, those that report them."""
    return [name for name in METHODS if (name != ASSISTED or assistant) and (timed or name not in _WITHOUT_STEPS)]
