"""Colouring: an application with themes and a colour view; and widgets that follow the view."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import cast

from textual.color import Color
from textual.reactive import var
from textual.widget import Widget

from lade_chat.presentation.token_looks import FEW_COLOURS, ColourView, other
from lade_chat.settings.catalogue import Value
from lade_chat.tui.terminal.key_order import OrderedApp
from lade_chat.tui.terminal.textual_private import replace_monochrome
from lade_chat.tui.theme.no_colour import WithoutColours
from lade_chat.tui.theme.themes import MARKED, THEMES
from lade_chat.tui.theme.token_tints import legend, origin_variables


class Colouring(OrderedApp):
    """An application with the themes, the sizes that styles tell apart, and a colour view that tokens follow."""

    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (80, "-wide"), (120, "-very-wide")]  # noqa: RUF012
    VERTICAL_BREAKPOINTS = [(0, "-short"), (22, "-tall")]  # noqa: RUF012
    colours: var[ColourView] = var[ColourView]("verified", init=False)

    def __init__(self) -> None:
        self._without_colours = WithoutColours()
        super().__init__()
        for theme in THEMES:
            self.register_theme(theme)
        if self.no_color:
            replace_monochrome(self, self._without_colours)

    @property
    def has_few_colours(self) -> bool:
        """True if the terminal has sixteen colours, in which all tints would be alike."""
        return self.console.color_system in FEW_COLOURS

    def get_css_variables(self) -> dict[str, str]:
        variables = super().get_css_variables()
        # The sixteen colours of a terminal cannot be blended, and unblended a tint would hide the text.
        tinted = not (self.no_color or self.native_ansi_color or self.has_few_colours)
        theme = self.current_theme
        if self.no_color:
            self._without_colours.ground = Color.parse(variables["background"])
        origins = origin_variables(self.colours, variables, dark=theme.dark, tinted=tinted, marked=theme.name in MARKED)
        return {**variables, **origins}

    def action_toggle_colours(self) -> None:
        """Show verified tokens alike, or each by its source; kept for next time."""
        self.colours = other(self.colours)
        self.keep({"colours": self.colours})

    def watch_colours(self) -> None:
        """Show the colour view on every screen."""
        self.refresh_css(animate=False)
        for screen in self.screen_stack:
            for widget in screen.query():  # no rule has changed, so they would not redraw by themselves
                widget.refresh()

    def keep(self, values: Mapping[str, Value | None]) -> None:
        """Keep settings for next time; an application without settings keeps none."""


def show_legend(widget: Widget) -> None:
    """Show the legend of the colours in the lower edge of a widget's border, and follow the view."""
    follow_view(widget, lambda view: setattr(widget, "border_subtitle", legend(view)))


def follow_view(widget: Widget, show: Callable[[ColourView], None]) -> None:
    """Have ``show`` called with the view that is in force, and whenever another one is."""
    widget.watch(widget.app, "colours", show)


def view_of(widget: Widget) -> ColourView:
    """Return the colour view in force for a widget."""
    return cast(Colouring, widget.app).colours
