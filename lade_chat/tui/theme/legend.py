"""Legend of the token colours, drawn in the border of its widget to save a line."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, cast

from textual.content import Content
from textual.widget import Widget

from lade_chat.presentation.colours import ColourView, meanings
from lade_chat.tui.theme.tint import GUESSED

if TYPE_CHECKING:
    from lade_chat.tui.theme.colouring import Colouring


def bear_legend(widget: Widget) -> None:
    """Have the lower edge of a widget's border say what the colours stand for, in either view."""

    def show(view: ColourView) -> None:
        widget.border_subtitle = legend(view)

    follow_view(widget, show)


def follow_view(widget: Widget, show: Callable[[ColourView], object]) -> None:
    """Have ``show`` called with the view that is in force, and whenever another one is."""
    show(view_of(widget))
    cast("Colouring", widget.app).colours_changed.subscribe(widget, show)


def view_of(widget: Widget) -> ColourView:
    """Return the colour view in force for a widget."""
    return cast("Colouring", widget.app).colours


def legend(view: ColourView) -> Content:
    """``verified  plain``, or every source, each as its tokens look."""
    shown = [each for each in meanings(view) if each in GUESSED]
    parts = [(f" {each} ", f"$foreground $origin-{each}") for each in shown]
    return Content(" ").join([*(Content.styled(*part) for part in parts), Content.styled("plain", "$foreground 70%")])
