"""Checks of the entries of a config.json on which transformers fails without naming them, or only at a question."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, TypedDict

import msgspec

from lade_chat.errors import ModelError
from lade_chat.loading.checkpoint import CONFIG
from lade_chat.presentation.status_parts import cut

_SIZES = {
    "num_hidden_layers": (1, 10_000),
    "hidden_size": (1, 1_000_000),
    "intermediate_size": (0, 100_000_000),
    "num_attention_heads": (0, 1_000_000),
    "num_key_value_heads": (0, 1_000_000),
    "head_dim": (1, 1_000_000),
    "vocab_size": (1, 100_000_000),
    "max_position_embeddings": (1, 10**18),
}
"""The smallest and the largest value of any model; one without key and value heads is recurrent."""
_USUAL = {"num_hidden_layers": 64, "hidden_size": 4096, "intermediate_size": 16_384, "vocab_size": 131_072}
_AT_LEAST = (
    (("vocab_size", "hidden_size"), 16),
    (("num_hidden_layers", "hidden_size"), 1),
    (("hidden_size", "intermediate_size"), 16),
)
"""Products of sizes, each a lower bound of a model's numbers, and how many of these may be packed into one."""
_WINDOWS = {"sliding_attention": "sliding_window", "chunked_attention": "attention_chunk_size"}
"""Kinds of layers, and the entry with the number of tokens that they look back."""
_MAX_SHOWN = 60
"""Cells of a wrong value in a message."""


class _AutoMap(TypedDict, total=False):
    """Old checkpoints have lists in it, of a slow tokenizer and a fast one, or of None."""

    AutoModelForCausalLM: str


_KINDS: dict[str, tuple[Any, str]] = {
    "model_type": (str, "the name of an architecture"),
    "architectures": (list[str], "a list of names"),
    "auto_map": (_AutoMap, "an object that names classes"),
    "text_config": (dict, "an object"),
    "quantization_config": (dict, "an object"),
}


def check_declared(name: str, declared: Mapping[str, Any]) -> None:
    """Raise ModelError if an entry of the config.json of the model ``name`` has a wrong type or size."""
    for entry, (kind, right) in _KINDS.items():
        try:
            msgspec.convert(declared.get(entry), kind | None)
        except msgspec.ValidationError:
            raise _impossible(name, entry, declared[entry], right) from None
    method = (declared.get("quantization_config") or {}).get("quant_method")
    if not isinstance(method, str | None):
        raise _impossible(name, "quant_method", method, "the name of a method")
    _check_sizes(name, declared)  # before lists of as many layers are made


def check_parsed(name: str, text: Any) -> None:
    """Raise ModelError if a text model's configuration, as transformers has parsed it, has an impossible entry."""
    # Not by getattr, which refuses what differs between layers.
    entries, aliases = vars(text), text.attribute_map
    _check_sizes(name, {size: entries.get(aliases.get(size, size)) for size in _SIZES})
    _check_rope(name, getattr(text, "rope_parameters", None))
    for kind, entry in _WINDOWS.items():
        window = entries.get(aliases.get(entry, entry), kind)  # the kind if it is not declared once for all layers
        if kind in (entries.get("layer_types") or ()) and (window is None or (isinstance(window, int) and window < 1)):
            raise _impossible(name, entry, window, f"a number of tokens where layer_types has {kind}")


def check_against_weights(name: str, text: Any, stored: int) -> None:
    """Raise ModelError if the weights hold far fewer numbers than these sizes ask for, before memory is taken for them.

    Args:
        name: the model's name in errors.
        text: the text model's configuration, parsed.
        stored: the numbers in its weights; several may be packed into one.
    """
    entries, aliases = vars(text), text.attribute_map
    for names, packed in _AT_LEAST:
        found = {entry: entries.get(aliases.get(entry, entry)) for entry in names}
        sizes = [size for size in found.values() if isinstance(size, int)]
        if len(sizes) == len(names) and math.prod(sizes) > packed * stored:
            entry = max(names, key=lambda each: found[each] / _USUAL[each])
            raise _impossible(name, entry, found[entry], f"less for weights of {stored:,} numbers")


def wrong_entry(name: str, text: Any, error: Exception) -> ModelError | None:
    """Return the error for the entry that made a model's construction fail; None if it is not known."""
    entries = dict(_flat(text.to_dict()))
    if isinstance(error, KeyError):
        found, right = [entry for entry, value in entries.items() if value in error.args], "one that transformers knows"
    elif isinstance(error, ZeroDivisionError):
        sizes = {text.attribute_map.get(size, size) for size in _SIZES}
        found, right = [entry for entry, value in entries.items() if entry in sizes and value == 0], "at least 1"
    else:
        ids = [entry for entry, value in entries.items() if entry == "pad_token_id" and isinstance(value, int)]
        found, right = [entry for entry in ids if entries[entry] >= text.vocab_size], f"below {text.vocab_size}"
    return _impossible(name, found[0], entries[found[0]], right) if found else None


def _flat(entries: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for entry, value in entries.items():
        if isinstance(value, dict):
            yield from _flat(value)
        else:
            yield entry, value


def _check_sizes(name: str, sizes: Mapping[str, Any]) -> None:
    """Raise ModelError for an impossible size: models made with one load for ever, or fail at the first question."""
    for size, (least, most) in _SIZES.items():
        value = sizes.get(size)
        if isinstance(value, int) and not least <= value <= most:
            right = f"at least {least}" if value < least else f"at most {most:,}"
            raise _impossible(name, size, value, right)


def _check_rope(name: str, parameters: Any) -> None:
    """Raise ModelError for a base of rotary positions that is not positive, of all layers or of one kind of them."""
    if isinstance(parameters, dict):
        base = parameters.get("rope_theta")
        if isinstance(base, (int, float)) and not base > 0:
            raise _impossible(name, "rope_theta", base, "above 0")
        for kind in parameters.values():
            _check_rope(name, kind)


def _impossible(name: str, entry: str, value: Any, right: str) -> ModelError:
    shown = cut("null" if value is None else repr(value), _MAX_SHOWN)
    return ModelError(f"The {CONFIG} of {name} says {entry}={shown}, which must be {right}: download it again.")
