"""Tokens as people see them: the words, colours and marks of each source of guesses, and the two ways to colour."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from lade_chat.protocol.inspection import TokenSource

Shown: TypeAlias = TokenSource | Literal["verified"]
"""The ways to show a token; in the view ``verified`` all guessed tokens look alike."""
ColourView: TypeAlias = Literal["verified", "sources"]
VIEWS: tuple[ColourView, ...] = get_args(ColourView)


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
class SourceLabel:
    """A source of guesses: what one means, for the legend; where it finds them; an entry of its table, and several."""

    meaning: str
    place: str
    entry: tuple[str, str]
    look: Look


VERIFIED = Look("#1d5136", "#bfe8cd", ("#f0fff4", "#14602c"))
"""The look of all guesses where sources are not told apart; the chat takes a shade of its theme instead."""

# The looks differ in lightness as well as in hue, so that people who cannot tell two hues apart can still tell the
# looks apart.
SOURCES: dict[TokenSource, SourceLabel] = {
    "trajectory": SourceLabel(
        "an n-gram that the window had guessed", "the pool of n-grams", ("n-gram", "n-grams"), VERIFIED
    ),
    "context": SourceLabel(
        "an n-gram of the text so far",
        "the text so far",
        ("token of text", "tokens of text"),
        Look("#2a4682", "#c9dcff", ("#f2f5ff", "#2a4682"), "italic"),
    ),
    "successor": SourceLabel(
        "a token that an earlier step found likely next",
        "what earlier steps found likely",
        ("token with successors", "tokens with successors"),
        Look("#6e4c10", "#ffdf9e", ("#fff8ea", "#6e4c10"), "bold"),
    ),
}
LOOKS: dict[Shown, Look] = {"verified": VERIFIED, **{name: source.look for name, source in SOURCES.items()}}
"""Of every kind of verified token, by what it is shown as."""
MARKS = {shown: look.marks for shown, look in LOOKS.items()}
"""Marks in place of colours: all that is verified is underlined, and the letters tell its source."""
FEW_COLOURS = ("standard", "windows")
"""Rich's names for a terminal's sixteen colours."""
ORIGINS: dict[TokenSource, str] = {
    "plain": "chosen by the model, one a step",
    **{name: source.meaning for name, source in SOURCES.items()},
}
"""Origins of tokens; all but the first were guessed and verified."""


def shown_as(origin: TokenSource, view: ColourView) -> Shown:
    """Return the look of a token of this origin."""
    return origin if origin == "plain" or view == "sources" else "verified"


def meanings(view: ColourView) -> dict[Shown, str]:
    """Return the legend: every look of a token, and its meaning."""
    if view == "verified":
        return {"plain": ORIGINS["plain"], "verified": "guessed before the step, and what the model chose in it"}
    return {origin: ORIGINS[origin] for origin in ORIGINS}


def other(view: ColourView) -> ColourView:
    """Return the view to switch to."""
    return VIEWS[(VIEWS.index(view) + 1) % len(VIEWS)]


def view_named(name: object) -> ColourView:
    """Return the view of this name; the default for any other value."""
    return next((view for view in VIEWS if view == name), VIEWS[0])
