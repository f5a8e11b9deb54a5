"""Text made safe for HTML and SVG."""

from __future__ import annotations

import re
from html import escape

from lade_chat.presentation.sanitize import REPLACEMENT, printable

_LAST_OF_PLANES = "".join(chr(plane + last) for plane in range(0, 0x110000, 0x10000) for last in (0xFFFE, 0xFFFF))
_NO_CHARACTERS = re.compile(f"[\ufdd0-\ufdef{_LAST_OF_PLANES}]")
"""Code points that Unicode keeps for no character at all; XML forbids some of them."""


def safe(text: str) -> str:
    """Text that is shown as it is, inside an element or a quoted attribute."""
    return escape(_NO_CHARACTERS.sub(REPLACEMENT, printable(text)))
