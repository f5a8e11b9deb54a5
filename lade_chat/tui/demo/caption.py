"""Caption of the demo: what is being shown, in the top rows of whichever screen is up."""

from __future__ import annotations

from textual.content import Content
from textual.screen import Screen
from textual.widgets import Static


class Caption(Static):
    """A screen's caption, of constant height."""


def caption(screen: Screen[object], text: str) -> None:
    """Show a caption on a screen, in place of the one before."""
    shown = screen.query(Caption)
    if shown:
        shown.first().update(Content(text))
    else:
        screen.mount(Caption(Content(text), markup=False), before=0)
