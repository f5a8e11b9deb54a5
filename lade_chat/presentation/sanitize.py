"""Makes text that came from a model or a paste safe to show: on a terminal, in HTML and in SVG."""

from __future__ import annotations

import re
from html import escape

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


def _substitutes() -> dict[int, str]:
    """One harmless, visible character for each that a terminal would obey."""
    table = {code: chr(0x2400 + code) for code in range(0x20)}  # ESC becomes ␛, carriage return ␍
    for allowed in "\n\t":
        del table[ord(allowed)]
    table[0x7F] = "\N{SYMBOL FOR DELETE}"
    # C1 has 8-bit forms of the escape sequences, CSI (0x9B) and OSC (0x9D) among them.
    table |= dict.fromkeys(range(0x80, 0xA0), REPLACEMENT)
    # Bidirectional embeddings, overrides and isolates make code read otherwise than it runs.
    table |= dict.fromkeys((*range(0x202A, 0x202F), *range(0x2066, 0x206A)), REPLACEMENT)
    table |= dict.fromkeys((0x2028, 0x2029), "\N{SYMBOL FOR NEWLINE}")
    # Lone surrogates (a byte that was not UTF-8 in an argument) cannot be written to a terminal at all.
    table |= dict.fromkeys(range(0xD800, 0xE000), REPLACEMENT)
    return table


_SUBSTITUTES = _substitutes()


def printable(text: str) -> str:
    """``text`` with every control character but newline and tab replaced by a visible one.

    Works character by character and keeps the length, so an escape sequence split over several pieces is as
    harmless as a whole one, and positions in the text stay what they were.
    """
    return text.translate(_SUBSTITUTES)


_LAST_OF_PLANES = "".join(chr(plane + last) for plane in range(0, 0x110000, 0x10000) for last in (0xFFFE, 0xFFFF))
_NO_CHARACTERS = re.compile(f"[\ufdd0-\ufdef{_LAST_OF_PLANES}]")
"""Code points that Unicode keeps for no character at all; XML forbids some of them."""


def safe(text: str) -> str:
    """Text that is shown as it is, inside an element or a quoted attribute."""
    return escape(_NO_CHARACTERS.sub(REPLACEMENT, printable(text)))
