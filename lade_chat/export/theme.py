"""The colours of pictures: what an origin looks like in the dark and in the light."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from lade_chat.presentation.token_looks import LOOKS, SOURCES, Shown

Theme: TypeAlias = Literal["auto", "dark", "light"]
"""``auto`` follows the reader's preference where the format can (HTML, SVG), and is dark elsewhere."""
Ink: TypeAlias = Shown | Literal["dim", "title", "question", "verdict", "rule"]
"""The ink of a character: that of its token, or of its part in the picture."""
INKS: tuple[Ink, ...] = ("plain", "verified", *SOURCES, "dim", "title", "question", "verdict")
"""Those of text, which has to be readable; a rule's need not be."""
ALL_INKS: tuple[Ink, ...] = (*INKS, "rule")


@dataclass(frozen=True)
class Colours:
    """One theme, as ``#rrggbb``. Every ink has a contrast of 4.5 at least on its ground (WCAG AA)."""

    ground: str
    bar: str
    rule: str
    text: str
    dim: str
    question: str
    verdict: str
    tints: dict[Shown, str]
    """The grounds behind verified tokens."""

    def of(self, ink: Ink) -> tuple[str, str]:
        """The colours of a character and of the ground behind it."""
        match ink:
            case "dim" | "question" | "verdict" | "rule":
                return str(getattr(self, ink)), self.ground
            case "title":
                return self.text, self.bar
            case _:
                return self.text, self.tints.get(ink, self.ground)


DARK = Colours(
    ground="#121212",
    bar="#242f38",
    rule="#3a4650",
    text="#e8e8e8",
    dim="#a0a0a0",
    question="#6cb6f0",
    verdict="#8fd694",
    tints={shown: look.dark for shown, look in LOOKS.items()},
)
LIGHT = Colours(
    ground="#ffffff",
    bar="#e9eef2",
    rule="#c5ced6",
    text="#1b1b1b",
    dim="#5a6067",
    question="#0b5aa2",
    verdict="#17672d",
    tints={shown: look.light for shown, look in LOOKS.items()},
)


def fixed(theme: Theme) -> Colours:
    """The colours of a format that holds only one theme."""
    return LIGHT if theme == "light" else DARK
