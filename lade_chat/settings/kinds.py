"""Kinds of settings: their values as TOML gives them, and as text from the environment or a form."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Protocol, TypeAlias

Value: TypeAlias = bool | int | float | str | tuple[str, ...]

_MAX_WHOLE = 2**64 - 1
"""The largest whole number that is passed between processes."""
_QUOTED = re.compile(r"""\A(["'])(.+)\1\Z""")
_ESCAPE = re.compile(r"\\(n|\\)")
_ESCAPES = {"n": "\n", "\\": "\\"}
_SWITCHES = {"true": True, "1": True, "yes": True, "on": True, "false": False, "0": False, "no": False, "off": False}


class Kind(Protocol):
    """A kind of value. Its ValueErrors read on after "must be"."""

    def check(self, value: object) -> Value:
        """Validate a value as TOML gives it."""

    def parse(self, text: str) -> Value:
        """Validate a value written as text."""


@dataclass(frozen=True)
class Switch:
    """True or false."""

    def check(self, value: object) -> Value:
        if not isinstance(value, bool):
            raise ValueError("true or false")
        return value

    def parse(self, text: str) -> Value:
        if text.strip().lower() not in _SWITCHES:
            raise ValueError("true or false")
        return _SWITCHES[text.strip().lower()]


@dataclass(frozen=True)
class Number:
    """A finite number from ``low`` (excluded if ``above``) to ``high``."""

    low: float = 0
    high: float = math.inf
    above: bool = False
    whole: bool = False

    @property
    def words(self) -> str:
        kind = "a whole number" if self.whole else "a number"
        if self.high == math.inf:
            return f"{kind} above {self.low:g}" if self.above else f"{kind} of at least {self.low:g}"
        high = "2⁶⁴ - 1" if self.high >= 2**63 else f"{self.high}"
        return f"{kind} above {self.low:g}, at most {high}" if self.above else f"{kind} from {self.low:g} to {high}"

    def check(self, value: object) -> Value:
        if isinstance(value, bool) or not isinstance(value, int if self.whole else (int, float)):
            raise ValueError(self.words)
        if isinstance(value, int) and value > _MAX_WHOLE:  # too large for a float, perhaps
            raise ValueError("a number below 2⁶⁴" if self.high == math.inf else self.words)
        enough = value > self.low if self.above else value >= self.low
        if not (math.isfinite(value) and enough and value <= self.high):
            raise ValueError(self.words)
        return value if self.whole else float(value)

    def parse(self, text: str) -> Value:
        try:
            value = int(text) if self.whole else float(text)
        except ValueError:
            raise ValueError(self.words) from None
        return self.check(value)


@dataclass(frozen=True)
class Text:
    """A text; one of ``choices`` if there are any. A name is not empty."""

    choices: tuple[str, ...] = ()
    is_name: bool = False

    def check(self, value: object) -> Value:
        if not isinstance(value, str):
            raise ValueError(self._words)
        return self.parse(value)

    def parse(self, text: str) -> Value:
        if (self.choices and text not in self.choices) or (self.is_name and not text.strip()):
            raise ValueError(self._words)
        return text

    @property
    def _words(self) -> str:
        if self.choices:
            return " or ".join(self.choices)
        return "a text in quotes that is not empty" if self.is_name else "a text in quotes"


@dataclass(frozen=True)
class Texts:
    """Non-empty texts; written one per line, in quotes or not, with \\n for a line break and \\\\ for a backslash."""

    def check(self, value: object) -> Value:
        texts = [value] if isinstance(value, str) else value
        if not isinstance(texts, list) or not all(isinstance(text, str) and text for text in texts):
            raise ValueError("a list of non-empty texts")
        return tuple(texts)

    def parse(self, text: str) -> Value:
        lines = (_QUOTED.sub(r"\2", line) for line in text.split("\n") if line)
        return tuple(_ESCAPE.sub(lambda found: _ESCAPES[found[1]], line) for line in lines)


def as_text(value: Value) -> str:
    """Write a value for a form; ``Kind.parse`` reads it back."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return "\n".join(map(_written, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def _written(text: str) -> str:
    """Write one of several texts, in quotes where it would lose its spaces or quotes otherwise."""
    line = re.sub(r"\\(?=[n\\\n])", r"\\\\", text).replace("\n", "\\n")
    return f'"{line}"' if line != line.strip() or _QUOTED.fullmatch(line) else line
