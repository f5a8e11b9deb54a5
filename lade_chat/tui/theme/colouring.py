"""Two colour views for tokens, switched by key and saved, and their legend."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import cast

from textual.color import Color
from textual.content import Content
from textual.signal import Signal
from textual.widget import Widget

from lade_chat.presentation.sources import ColourView, meanings, other
from lade_chat.settings.kinds import Value
from lade_chat.tui.terminal.key_order import OrderedApp
from lade_chat.tui.terminal.textual_private import replace_monochrome
from lade_chat.tui.theme.no_color import WithoutColours
from lade_chat.tui.theme.themes import MARKED
from lade_chat.tui.theme.tint import GUESSED, origin_variables


class Colouring(OrderedApp):
    """Mixin for an application with a colour view. Token styles follow it by CSS variables, other widgets subscribe."""

    colours: ColourView = "verified"

    def __init__(self) -> None:
        self._without_colours = WithoutColours()
        super().__init__()
        self.colours_changed: Signal[ColourView] = Signal(self, "colours-changed")
        if self.no_color:
            replace_monochrome(self, self._without_colours)

    def get_css_variables(self) -> dict[str, str]:
        variables = super().get_css_variables()
        # The sixteen colours of a terminal cannot be blended, and unblended a tint would hide the text.
        tinted = not (self.no_color or self.native_ansi_color)
        theme = self.current_theme
        if self.no_color:
            self._without_colours.ground = Color.parse(variables["background"])
        origins = origin_variables(self.colours, variables, dark=theme.dark, tinted=tinted, marked=theme.name in MARKED)
        return {**variables, **origins}

    def action_toggle_colours(self) -> None:
        """Show verified tokens alike, or each by its source; kept for next time."""
        self.show_colours(other(self.colours))
        self.keep({"colours": self.colours})

    def show_colours(self, view: ColourView) -> None:
        """Switch to this colour view, on every screen."""
        self.colours = view
        self.refresh_css(animate=False)
        for screen in self.screen_stack:
            for widget in screen.query():  # no rule has changed, so that none of them knows
                widget.refresh()
        self.colours_changed.publish(view)

    def keep(self, values: Mapping[str, Value | None]) -> None:
        """Keep settings for next time."""
        raise NotImplementedError


def show_legend(widget: Widget) -> None:
    """Show the legend of the colours in the lower edge of a widget's border, and follow the view."""

    def show(view: ColourView) -> None:
        widget.border_subtitle = legend(view)

    follow_view(widget, show)


def follow_view(widget: Widget, show: Callable[[ColourView], object]) -> None:
    """Have ``show`` called with the view that is in force, and whenever another one is."""
    show(view_of(widget))
    cast(Colouring, widget.app).colours_changed.subscribe(widget, show)


def view_of(widget: Widget) -> ColourView:
    """Return the colour view in force for a widget."""
    return cast(Colouring, widget.app).colours


def legend(view: ColourView) -> Content:
    """``verified  plain``, or every source, each as its tokens look."""
    shown = [each for each in meanings(view) if each in GUESSED]
    parts = [(f" {each} ", f"$foreground $origin-{each}") for each in shown]
    return Content(" ").join([*(Content.styled(*part) for part in parts), Content.styled("plain", "$foreground 70%")])
