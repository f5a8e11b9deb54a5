"""The error that every unusable GGUF file raises, in one line."""

from __future__ import annotations

_MAX_SHOWN = 80


class GgufError(ValueError):
    """A GGUF file that cannot be read, or is not a model that can be run; the text is one line."""


def quoted(text: str) -> str:
    """Quote text from a file for a message: control characters escaped, long text cut."""
    return repr(text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}…")
