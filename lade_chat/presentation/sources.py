"""The sources of guesses as people see them: words, colours and marks. All that names the sources follows from here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from lade_chat.protocol.inspection import Origin

Shown: TypeAlias = Origin | Literal["verified"]
"""What a token is shown as: in the view ``verified`` all that were guessed are that."""


@dataclass(frozen=True)
class Look:
    """Colours of tokens, as ``#rrggbb``, and marks where there are none.

    Attributes:
        dark, light: the ground behind the text in either theme.
        terminal: the text and its ground on a terminal, which read well in dark and light ones alike.
        mark: letters beside the underline, in the terms of Rich: ``bold`` or ``italic``, or empty.
    """

    dark: str
    light: str
    terminal: tuple[str, str]
    mark: str = ""

    @property
    def marks(self) -> str:
        """The whole style without colours."""
        return f"underline {self.mark}".rstrip()


@dataclass(frozen=True)
class SourceInWords:
    """A source of guesses.

    Attributes:
        meaning: a guess of it, for the legend.
        place: where it finds its guesses.
        entry: an entry of its table, and several.
        look: of its tokens.
    """

    meaning: str
    place: str
    entry: tuple[str, str]
    look: Look


VERIFIED = Look("#1d5136", "#bfe8cd", ("#f0fff4", "#14602c"))
"""The look of all guesses where sources are not told apart."""

# The looks differ in lightness as well as in hue, so that they are told apart by people who see two hues as one.
SOURCES: dict[Origin, SourceInWords] = {
    "trajectory": SourceInWords(
        "an n-gram that the window had guessed",
        "the window and its pool",
        ("n-gram", "n-grams"),
        VERIFIED,
    ),
    "context": SourceInWords(
        "an n-gram of the text so far",
        "the text so far",
        ("token of text", "tokens of text"),
        Look("#2a4682", "#c9dcff", ("#f2f5ff", "#2a4682"), "italic"),
    ),
    "successor": SourceInWords(
        "a likely next token recycled from earlier logits",
        "what earlier logits held likely",
        ("token with successors", "tokens with successors"),
        Look("#6e4c10", "#ffdf9e", ("#fff8ea", "#6e4c10"), "bold"),
    ),
}
LOOKS: dict[Shown, Look] = {"verified": VERIFIED, **{name: source.look for name, source in SOURCES.items()}}
"""Of every kind of verified token, by what it is shown as."""
