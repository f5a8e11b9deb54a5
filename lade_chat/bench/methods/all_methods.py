"""The methods that can be measured, by name; each is imported when it is made.

A new method is a function from a :class:`Setup` to methods, and one line in :data:`METHODS`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any, TypeAlias

from lade_chat.bench.methods.method import Method, Setup
from lade_chat.errors import LadeChatError, UsageError, not_installed_message
from lade_chat.presentation.methods import FIXED, GENERATE, JACOBI, LOOKAHEAD, PLAIN, PROMPT_LOOKUP

MethodFactory: TypeAlias = Callable[[Setup], list[Method]]


def deferred(reference: str, **settings: Any) -> MethodFactory:
    """Return a factory that imports ``module:function`` when it is called, since torch takes seconds to import."""
    module, _, function = reference.partition(":")
    return lambda setup: partial(getattr(import_module(module), function), **settings)(setup)


ASSISTED = "hf-assisted"
_DECODERS, _TRANSFORMERS = "lade_chat.bench.methods.decoders", "lade_chat.bench.methods.transformers"
_PEERS = "lade_chat.bench.methods.peers"
METHODS: dict[str, MethodFactory] = {
    PLAIN: deferred(f"{_DECODERS}:plain"),
    LOOKAHEAD: deferred(f"{_DECODERS}:lookahead"),
    FIXED: deferred(f"{_DECODERS}:lookahead_fixed"),
    JACOBI: deferred(f"{_DECODERS}:jacobi"),
    GENERATE: deferred(f"{_TRANSFORMERS}:generate", name=GENERATE),
    **{
        name: deferred(f"{_TRANSFORMERS}:generate", name=name, prompt_lookup_num_tokens=tokens)
        for name, tokens in PROMPT_LOOKUP.items()
    },
    "token-recycling": deferred(f"{_PEERS}:token_recycling"),
    "suffix-decoding": deferred(f"{_PEERS}:suffix_decoding"),
    ASSISTED: deferred(f"{_TRANSFORMERS}:assisted", name=ASSISTED),
}
"""Every method by its name in ``--methods``."""
_WITHOUT_STEPS = (GENERATE, *PROMPT_LOOKUP, ASSISTED)
_LLAMA_CPP = {
    "llama.cpp": "lade_chat.bench.methods.llama_cpp:load",
    "llama.cpp ngram-mod": "lade_chat.bench.methods.llama_cpp:load_ngram",
}
ENGINES: dict[str, MethodFactory] = {
    "llama.cpp": deferred("lade_chat.bench.methods.engine_child:engine", loaders=_LLAMA_CPP)
}
"""Other engines by their names in ``--engines``; each reads the model's own GGUF file."""
_PACKAGES = {"llama.cpp": "xllamacpp"}
"""The package that each engine needs, named like its module."""


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
    """Raise LadeChatError for an engine whose packages are not installed; called before anything is measured."""
    for name in engines:
        if find_spec(_PACKAGES[name]) is None:
            raise LadeChatError(not_installed_message(f"--engines {name}", _PACKAGES[name]))


def default_names(*, assistant: bool, timed: bool = True) -> list[str]:
    """Return the methods that need no further options; if steps are not timed, those that report them."""
    return [name for name in METHODS if (name != ASSISTED or assistant) and (timed or name not in _WITHOUT_STEPS)]
