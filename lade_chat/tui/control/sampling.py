"""Sampling and other options: changed by name, and one seed throughout a conversation."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import msgspec

from lade_chat.presentation.metrics import SEPARATOR, lookahead_forms, sampling_forms
from lade_chat.protocol.values import DecodingOptions, Sampling, Sizes, Statistics
from lade_chat.settings.catalogue import SETTINGS
from lade_chat.settings.settings import nearest, parse
from lade_chat.store.values import Model, Turn
from lade_chat.tui.control.view import ChatView, StatePublisher

SAME_TEXT = "Greedy decoding gives the same text to the same question. /set temperature 0.8 draws another."
SEEDS = 2**64
"""The number of distinct seeds."""


class ConversationSampling:
    """The sampling of one conversation: the seed drawn for its first reply is used for all later ones."""

    def __init__(self, view: ChatView, publisher: StatePublisher) -> None:
        self._view = view
        self._publisher = publisher
        self._seed: int | None = None
        self._requested_seed: int | None = None

    def begin(self, last: Statistics | None = None) -> None:
        """Change to another conversation; ``last`` are the statistics of its last reply."""
        sampling = last.sampling if last is not None else None
        self._seed = sampling.seed if sampling is not None else None

    def effective(self, used: Collection[int] = ()) -> DecodingOptions:
        """Return the present options, with the conversation's seed where none was asked for.

        ``used``: seeds of other replies to the same question. As the next reply is to differ from those, it gets the
        first seed from its own on that is not among them.
        """
        options = self._publisher.state.options
        sampling = options.sampling
        self._requested_seed = sampling.seed if sampling is not None else None
        if sampling is None:
            return options
        seed = self._seed if self._requested_seed is None else self._requested_seed
        while seed is not None and seed in used:
            seed = (seed + 1) % SEEDS
        return msgspec.structs.replace(options, sampling=msgspec.structs.replace(sampling, seed=seed))

    def reset(self) -> None:
        """Publish what the next reply is sampled with, as far as that is known before it."""
        self._publisher.change(sampling=self.effective().sampling)

    def report_asking_again(self, others: Sequence[Turn], options: DecodingOptions, model: Model) -> None:
        """Show the seed, or that the text will be the same, where ``others`` have answered the same question."""
        if not others:
            return
        if not self._is_greedy(options):
            if options.sampling is not None and options.sampling.seed is not None:
                self._view.hint(f"Asked again with seed {options.sampling.seed}.")
        elif any(turn.ending == "eos" and turn.model == model for turn in others):
            self._view.notice(SAME_TEXT)

    def _is_greedy(self, options: DecodingOptions) -> bool:
        """Return True if decoding is greedy as far as known: a model's own sampling shows with its first reply."""
        requested, current = options.sampling, self._publisher.state.sampling
        if requested is not None and requested.from_model:
            return current is None or not (current.from_model or current.seed is not None)
        return requested is None or requested.temperature == 0

    def learn(self, statistics: Statistics) -> None:
        """Take over the sampling that a reply reports, and keep its seed for the rest of the conversation."""
        if not statistics.steps:  # nothing was decoded
            return
        sampling = statistics.sampling
        if sampling is not None and sampling.seed is not None:
            self._seed = sampling.seed
            if self._requested_seed is not None:  # a reply to a repeated question used a later one
                sampling = msgspec.structs.replace(sampling, seed=self._requested_seed)
        self._publisher.change(sampling=sampling)


def seeds_of(turns: Iterable[Turn]) -> frozenset[int]:
    """Return the seeds that the replies were sampled with."""
    samplings = (turn.statistics.sampling for turn in turns if turn.statistics is not None)
    return frozenset(sampling.seed for sampling in samplings if sampling is not None and sampling.seed is not None)


_SIZES = Sizes.__struct_fields__
SAMPLING_FIELDS = tuple(name for name in SETTINGS if name in Sampling.__struct_fields__)
NAMES = (*SAMPLING_FIELDS, "sampling", "max_new_tokens", "stop", *_SIZES, "sizes")


def current_options(options: DecodingOptions) -> str:
    """Return the present options in one line."""
    sampling = sampling_forms(options.sampling) if options.sampling is not None else ()
    parts = [
        sampling[0] if sampling else "greedy",
        f"max_new_tokens {options.max_new_tokens}",
        lookahead_forms(options.lookahead, options.sizes)[0],
    ]
    if options.stop:
        parts.append(f"stop {', '.join(map(repr, options.stop))}")
    return f"{SEPARATOR.join(parts)}. /set NAME VALUE changes: {', '.join(NAMES)}."


def with_option(options: DecodingOptions, name: str, text: str) -> tuple[DecodingOptions, str]:
    """Return the options with one value changed (a blank text: the default), and a line that reports it.

    Raises ValueError with a line for the user.
    """
    name = name.lower().replace("-", "_")
    if name not in NAMES:
        near = nearest(name, NAMES)
        raise ValueError(f"There is no option {name}. {f'Did you mean {near}?' if near else '/set lists all.'}")
    report = f"{name} is {text} now." if text else f"{name} is the default again."
    if name == "sizes":
        if text not in ("", "auto"):
            raise ValueError("sizes can be auto; window_size, ngram_size and guess_set_size fix them.")
        return msgspec.structs.replace(options, sizes=None), "The sizes of a step are automatic now."
    value = parse(name, text)
    if name in _SIZES:
        sizes = options.sizes or Sizes()
        value = getattr(Sizes(), name) if value is None else value
        return msgspec.structs.replace(options, sizes=msgspec.structs.replace(sizes, **{name: value})), report
    if name == "max_new_tokens":
        value = DecodingOptions().max_new_tokens if value is None else value
        return msgspec.structs.replace(options, max_new_tokens=value), report
    if name == "stop":
        stops = value if isinstance(value, tuple) else ()
        report = f"stop is {', '.join(map(repr, stops))} now." if stops else report
        return msgspec.structs.replace(options, stop=stops), report
    return msgspec.structs.replace(options, sampling=_sampling(options.sampling, name, value)), report


def _sampling(sampling: Sampling | None, name: str, value: object) -> Sampling | None:
    """Return the sampling with one value changed; None for greedy decoding, unless the value asks for draws."""
    if name == "sampling":
        return Sampling(from_model=True) if value == "model" else None
    sampling = sampling or Sampling()
    if value is not None and not sampling.from_model and name != "repetition_penalty" and sampling.temperature == 0:
        sampling = msgspec.structs.replace(sampling, temperature=None)  # the 0 of a penalty alone
    return msgspec.structs.replace(sampling, **{name: value}).normalized()
