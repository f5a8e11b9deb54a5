"""Tutorial screen: a sentence, a picture, the mask; Space turns the page."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.events import Resize
from textual.geometry import Size
from textual.timer import Timer
from textual.widgets import Static

from lade_chat.presentation.sanitize import printable
from lade_chat.presentation.status_parts import SEPARATOR
from lade_chat.protocol import tutorial
from lade_chat.protocol.events import EngineLost, Event, Failed
from lade_chat.protocol.values import ModelInfo
from lade_chat.tui.explain.guess_pages import jacobi_pages, ngram_pages
from lade_chat.tui.explain.overview import beginning_pages, comparison_pages, raced_pages
from lade_chat.tui.explain.page import Page, draw_legend, draw_mask, mask_width
from lade_chat.tui.explain.verification_pages import verification_pages
from lade_chat.tui.terminal.key_order import OrderedApp
from lade_chat.tui.widgets.bars import KeyFooter
from lade_chat.tui.widgets.dialog import ClosingScreen

PLAY_SECONDS = 6.0
"""The time of a page while all are played: two sentences are read in it."""
QUESTION = "Write a Python function that returns the largest number of a list."
"""The tutorial's question, whose reply is partly predictable."""
MOMENT = "One moment: the model is taking its steps."
MIN_WIDTH, MIN_HEIGHT = 60, 18
"""Size of the smallest screen on which every page fits."""
TOO_SMALL = f"It needs a screen of {MIN_WIDTH} × {MIN_HEIGHT} or more."
MARGIN = 2
PAGES: Mapping[type[tutorial.Chapter], Callable[[Any], list[Page]]] = {
    tutorial.Convergence: jacobi_pages,
    tutorial.Collection: ngram_pages,
    tutorial.ComparedSteps: raced_pages,
    tutorial.Verification: verification_pages,
    tutorial.Comparison: comparison_pages,
}
"""What shows each chapter behind the beginning."""
LABELLED = 70
"""From this width on the rows of the mask are named."""


class ExplainScreen(ClosingScreen[bool]):
    """Space goes on, and closes from the last page; Backspace goes back; P plays; Esc leaves.

    Its result is True if the engine was still taking steps.
    """

    CSS_PATH: ClassVar = Path(__file__).with_name("explain_screen.tcss")
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("space,right,pagedown", "next", "Next"),
        Binding("space,right,pagedown", "close", "Close"),
        Binding("backspace,left,pageup", "back", "Back"),
        Binding("p,enter", "play", "Play"),
        Binding("escape", "leave", "Leave"),
        Binding("ctrl+q", "app.quit", "Quit", priority=True),
    ]

    def __init__(self, model: ModelInfo) -> None:
        super().__init__()
        self._model = model
        self._pages: list[Page] = []
        self._number = 0
        self._complete = self._wanting = self._closes = False
        self._playing: Timer | None = None

    def compose(self) -> ComposeResult:
        yield Static(markup=False, id="explain-title")
        yield Static(markup=False, id="explain-says")
        with Horizontal(id="explain-body"):
            yield Static(markup=False, id="explain-picture")
            yield Static(markup=False, id="explain-mask")
        yield KeyFooter()

    def on_mount(self) -> None:
        self._draw()

    def on_resize(self, _event: Resize) -> None:
        self.refresh_bindings()
        self.call_after_refresh(self._draw)

    def show_event(self, event: Event) -> None:
        """Handle an event of the engine: append a chapter's pages."""
        match event:
            case tutorial.Explained(walk):
                model = SEPARATOR.join((printable(self._model.name), self._model.device, self._model.dtype))
                self._pages += (
                    beginning_pages(walk, model) if isinstance(walk, tutorial.Beginning) else PAGES[type(walk)](walk)
                )
            case tutorial.ExplainFinished():
                self._complete = True
            case Failed(message) | EngineLost(message):
                self._pages.append(Page("It broke off", printable(message)))
                self._complete = True
        if self._wanting and self._number + 1 < len(self._pages):
            self._number += 1
            self._wanting = False
        self._draw()

    def action_next(self) -> None:
        """Turn to the next page, now or once it is there."""
        self._halt()
        self._go_on()

    def action_close(self) -> None:
        """Close the tutorial from its last page; repeats of a held key must not type into the prompt below."""
        if isinstance(self.app, OrderedApp):
            self.app.key_order.drop_repeats()
        self.action_leave()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """The same keys turn the page, and on the last one close; pages that cannot be seen are not turned."""
        if action in ("next", "close", "back", "play") and self._is_too_small:
            return False
        return self._at_end is (action == "close") if action in ("next", "close") else True

    def action_back(self) -> None:
        self._halt()
        self._wanting = False
        self._number = max(0, self._number - 1)
        self._draw()

    def action_play(self) -> None:
        """Start or stop turning the pages automatically."""
        if self._playing is not None:
            self._halt()
        elif not self._at_end:
            self._playing = self.set_interval(PLAY_SECONDS, self._play_on)
        self._draw()

    def action_leave(self) -> None:
        self.dismiss(not self._complete)

    @property
    def _at_end(self) -> bool:
        return self._complete and self._number >= len(self._pages) - 1

    def _go_on(self) -> None:
        if self._number + 1 < len(self._pages):
            self._number += 1
        else:
            self._wanting = True
        self._draw()

    def _play_on(self) -> None:
        if self._at_end:
            self._halt()
            self._draw()
        else:
            self._go_on()

    def _halt(self) -> None:
        if self._playing is not None:
            self._playing.stop()
            self._playing = None

    def _draw(self) -> None:
        if not self.is_mounted or not self.size.width:
            return
        if self._closes is not self._at_end:  # each page would only redraw the footer
            self._closes = self._at_end
            self.refresh_bindings()
        page = self._page
        says = f"{page.says}\n{MOMENT}" if self._wanting else page.says
        self.query_one("#explain-title", Static).update(self._title(page))
        self.query_one("#explain-says", Static).update(Content(says))
        self._draw_body()
        # A longer text leaves the picture less room, which is known once it is laid out.
        self.call_after_refresh(self._draw_body)

    @property
    def _page(self) -> Page:
        if self._is_too_small or not self._pages:
            return Page("How lookahead decoding works", TOO_SMALL if self._is_too_small else MOMENT)
        return self._pages[self._number]

    @property
    def _is_too_small(self) -> bool:
        return self.size.width < MIN_WIDTH or self.size.height < MIN_HEIGHT

    def _draw_body(self) -> None:
        """Draw the picture and the mask in the room that there is."""
        if not (self.is_attached and self.query("#explain-mask")):
            return  # closed meanwhile, or the application is ending
        page, mask = self._page, self.query_one("#explain-mask", Static)
        body = self.query_one("#explain-body", Horizontal).content_size
        width = body.width
        mask.display, mask.visible = page.mask is not None, not page.unseen
        if page.mask is not None:
            # All pages of a walk keep the same room for their masks, so that their pictures stay where they are.
            masks = [each.mask for each in self._pages if each.title == page.title and each.mask is not None]
            labelled = self.size.width >= LABELLED
            taken = max(mask_width(each, labelled=labelled) for each in masks)
            mask.styles.width = taken
            drawn = draw_mask(page.mask, page.lit, labelled=labelled)
            legend = draw_legend(page.mask, taken, body.height - len(drawn))
            mask.update(Content("\n").join([*drawn, *legend]))
            width -= taken + MARGIN
        picture = Content("\n").join(page.draw(Size(max(1, width), body.height)))
        self.query_one("#explain-picture", Static).update(picture)

    def _title(self, page: Page) -> Content:
        where = f"{self._number + 1} / {len(self._pages)}" if self._complete else f"{self._number + 1}"
        playing = "playing · " if self._playing is not None else ""
        right = f" {playing}{where}"
        room = max(1, self.size.width - 2 - len(right))
        return Content(f"{page.title:<{room}}{right}")
