"""``/set``: how replies are decoded, changed for as long as the chat is open."""

from __future__ import annotations

import msgspec

from lade_chat.presentation.metrics import SEPARATOR, lookahead_forms, sampling_forms
from lade_chat.protocol.values import DecodingOptions, Sampling, Sizes
from lade_chat.settings.settings import nearest, parse

_SIZES = ("window_size", "ngram_size", "guess_set_size")
_DRAWING = ("temperature", "top_p", "top_k", "min_p", "typical_p", "repetition_penalty", "seed")
NAMES = (*_DRAWING, "sampling", "max_new_tokens", "stop", *_SIZES, "sizes")


def current_options(options: DecodingOptions) -> str:
    """What is in force, in one line."""
    drawn = sampling_forms(options.sampling) if options.sampling is not None else ()
    parts = [
        drawn[0] if drawn else "the likeliest token, always",
        f"max_new_tokens {options.max_new_tokens}",
        lookahead_forms(options.lookahead, options.sizes)[0],
    ]
    if options.stop:
        parts.append(f"stop {', '.join(map(repr, options.stop))}")
    return f"{SEPARATOR.join(parts)}. /set NAME VALUE changes: {', '.join(NAMES)}."


def with_option(options: DecodingOptions, name: str, text: str) -> tuple[DecodingOptions, str]:
    """The options with this value, none for a blank one, and a line that says so. Raises ValueError with a line."""
    name = name.lower().replace("-", "_")
    if name not in NAMES:
        near = nearest(name, NAMES)
        raise ValueError(
            f"There is nothing to set called {name}. {f'Did you mean {near}?' if near else '/set lists all.'}"
        )
    told = f"{name} is {text} now." if text else f"{name} is as it was by itself."
    if name == "sizes":
        if text not in ("", "auto"):
            raise ValueError("sizes can be auto; window_size, ngram_size and guess_set_size fix them.")
        return msgspec.structs.replace(options, sizes=None), "The sizes of a step are automatic now."
    value = parse(name, text)
    if name in _SIZES:
        sizes = options.sizes or Sizes()
        value = getattr(Sizes(), name) if value is None else value
        return msgspec.structs.replace(options, sizes=msgspec.structs.replace(sizes, **{name: value})), told
    if name == "max_new_tokens":
        value = DecodingOptions().max_new_tokens if value is None else value
        return msgspec.structs.replace(options, max_new_tokens=value), told
    if name == "stop":
        return msgspec.structs.replace(options, stop=value or ()), told
    return msgspec.structs.replace(options, sampling=_drawing(options.sampling, name, value)), told


def _drawing(sampling: Sampling | None, name: str, value: object) -> Sampling | None:
    """What is asked for with another value; None for the likeliest token always."""
    if name == "sampling":
        return Sampling(from_model=True) if value == "model" else None
    return msgspec.structs.replace(sampling or Sampling(), **{name: value}).normalized()
