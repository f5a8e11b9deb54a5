"""CONFIG_MAP: the configuration and the log, under the names that they have in the original implementation."""

from __future__ import annotations

from typing import Any

from decoding.config import LookaheadConfig

CONFIG_MAP: dict[str, Any] = {}
"""What `config_lade` was told, by its arguments' names, and the ``log``: [tokens, steps, ratio] for each `generate`.

It is looked up at every `generate`, so that a value written here holds from then on.
"""
_SIZES = {"WINDOW_SIZE": "window_size", "LEVEL": "ngram_size", "GUESS_SET_SIZE": "guess_set_size"}


def lookahead_config() -> LookaheadConfig:
    """Return the sizes asked for; where none was, those that suit the machine.

    Raises:
        ValueError: a size is out of range.
    """
    sizes = {name: CONFIG_MAP[key] for key, name in _SIZES.items() if CONFIG_MAP.get(key) is not None}
    return LookaheadConfig(**sizes) if sizes else LookaheadConfig.auto()
