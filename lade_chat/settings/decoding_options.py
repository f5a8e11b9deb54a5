"""Decoding options by name, as /set and the settings screen change them."""

from __future__ import annotations

import msgspec

from lade_chat.presentation.metric_words import lookahead_forms, sampling_forms
from lade_chat.presentation.status_parts import SEPARATOR
from lade_chat.protocol.values import DecodingOptions, Sampling, Sizes
from lade_chat.settings.catalogue import MODEL_SETTINGS, SETTINGS
from lade_chat.settings.effective import nearest, parse

_SIZES = Sizes.__struct_fields__
SAMPLING_FIELDS = tuple(name for name in SETTINGS if name in Sampling.__struct_fields__)
PLAIN_VALUES = ("max_new_tokens", "think", "max_thought_tokens")
"""Options that are a value each, and told with a reply."""
NAMES = (*SAMPLING_FIELDS, "sampling", "stop", *PLAIN_VALUES, *_SIZES, "sizes")


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
    if options.think is not None:
        parts.append(f"think {'on' if options.think else 'off'}")
    if options.max_thought_tokens is not None:
        parts.append(f"max_thought_tokens {options.max_thought_tokens}")
    return f"{SEPARATOR.join(parts)}. /set NAME VALUE changes: {', '.join(NAMES)}."


def with_option(options: DecodingOptions, name: str, text: str) -> tuple[DecodingOptions, str]:
    """Return the options with one value changed (blank: the default), and a line about it. Raises ValueError."""
    name = name.lower().replace("-", "_")
    if name not in NAMES:
        if name in MODEL_SETTINGS:
            raise ValueError(f"{name} is no option of a reply: a model is loaded with it, by /model or at the start.")
        if name in SETTINGS:
            raise ValueError(f"{name} is no option of a reply: it is among the chat's settings.")
        near = nearest(name, NAMES)
        raise ValueError(f"There is no option {name}. {f'Did you mean {near}?' if near else '/set lists all.'}")
    report = f"{name} is {text} now." if text else f"{name} is the default again."
    if name == "sizes":
        if text not in ("", "auto"):
            raise ValueError("sizes can be auto; window_size, ngram_size and guess_set_size fix them.")
        return msgspec.structs.replace(options, sizes=None), "The sizes of a step are automatic now."
    value = None if name == "think" and text == "auto" else parse(name, text)
    if name in _SIZES:
        sizes = options.sizes or Sizes()
        value = getattr(Sizes(), name) if value is None else value
        sizes = msgspec.structs.replace(sizes, **{name: value})
        most = 1 + (sizes.window_size + sizes.guess_set_size) * (sizes.ngram_size - 1)
        return msgspec.structs.replace(options, sizes=sizes), f"{report} A step reads up to {most:,} tokens."
    if name in PLAIN_VALUES:
        value = getattr(DecodingOptions(), name) if value is None else value
        return msgspec.structs.replace(options, **{name: value}), report
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
