"""A GGUF file's metadata: values by key, and the error of every unusable file."""

from __future__ import annotations

from typing import Any, TypeAlias, TypeVar

import numpy as np

_MAX_SHOWN = 80
Array: TypeAlias = "np.ndarray[Any, Any]"
MetadataValue: TypeAlias = "bool | int | float | str | list[Any] | Array"
"""Arrays of numbers are numpy arrays; those of strings, and of arrays, lists."""

_Default = TypeVar("_Default")
_Kind = TypeVar("_Kind")


class GgufError(ValueError):
    """A GGUF file that cannot be read, or is not a model that can be run; the text is one line."""


def quoted(text: str) -> str:
    """Quote text from a file for a message: control characters escaped, long text cut."""
    return repr(text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}…")


class Metadata(dict[str, MetadataValue]):
    """Values by key.

    The methods check a value's type, and raise GgufError for a wrong one, and for a missing key without a default.
    """

    def text(self, key: str, *default: _Default) -> str | _Default:
        """Return a string."""
        return self._typed(key, str, "a string", default)

    def integer(self, key: str, *default: _Default) -> int | _Default:
        """Return an integer."""
        return self._typed(key, int, "an integer", default)

    def number(self, key: str, *default: _Default) -> float | _Default:
        """Return a number."""
        found = self.get(key)
        return float(found) if type(found) is int else self._typed(key, float, "a number", default)

    def flag(self, key: str, *default: _Default) -> bool | _Default:
        """Return a truth value."""
        return self._typed(key, bool, "true or false", default)

    def numbers(self, key: str, *default: _Default) -> Array | _Default:
        """Return an array of numbers."""
        return self._typed(key, np.ndarray, "an array of numbers", default)

    def texts(self, key: str) -> list[str]:
        """Return an array of strings."""
        found: list[Any] = self._typed(key, list, "an array of strings", ())
        if found and not isinstance(found[0], str):
            raise GgufError(f"{quoted(key)} in its metadata is not an array of strings")
        return found

    def _typed(self, key: str, kind: type[_Kind], named: str, default: tuple[_Default, ...]) -> _Kind | _Default:
        if key not in self:
            if default:
                return default[0]
            raise GgufError(f"its metadata has no {quoted(key)}")
        found = self[key]
        # A bool is an int to Python, but not to a file.
        if not isinstance(found, kind) or (isinstance(found, bool) and kind is not bool):
            raise GgufError(f"{quoted(key)} in its metadata is not {named}")
        return found
