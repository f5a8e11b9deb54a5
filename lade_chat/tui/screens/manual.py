"""Manual screen: a list of pages, the selected page, and a search over all of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import ClassVar

from markdown_it import MarkdownIt
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Vertical, VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Input, Markdown, OptionList, Static
from textual.widgets.option_list import Option

from lade_chat.protocol.values import ModelInfo
from lade_chat.tui.prompt.completion import CompletableCommand
from lade_chat.tui.screens.manual_pages import ManualPage, manual_pages, page_named
from lade_chat.tui.terminal.key_names import keys_of
from lade_chat.tui.theme.colouring import follow_view, legend
from lade_chat.tui.widgets.dialog import Dialog

FOUND = "reverse"


def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark").enable("table")


class PageList(OptionList, can_focus=False):
    """List of pages that leaves the focus in the search field."""


class HelpScreen(Dialog[None]):
    """The manual with its search field. ``topic`` is a page's name or words to search for; Esc closes it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "Close", priority=True),
        Binding("f1", "dismiss", show=False, priority=True, id="help"),
        Binding("ctrl+q", "app.quit", show=False, priority=True, id="quit"),
        Binding("ctrl+e", "explain", show=False, priority=True),
        Binding("up", "turn(-1)", show=False),
        Binding("down", "turn(1)", show=False),
        Binding("pageup", "scroll(-1)", show=False),
        Binding("pagedown", "scroll(1)", show=False),
        Binding("enter", "next_found", show=False, priority=True),
    ]

    def __init__(self, model: ModelInfo | None, topic: str = "", commands: Sequence[CompletableCommand] = ()) -> None:
        super().__init__()
        self._model = model
        self._topic = topic
        self._commands = commands
        self._pages: tuple[ManualPage, ...] = ()
        self._listed: tuple[ManualPage, ...] = ()
        self._found: list[Widget] = []
        self._wanted: list[ManualPage | None] = []
        """The pages to be shown; only the last of them is."""
        self._drawing = False

    def compose(self) -> ComposeResult:
        with Vertical(classes="dialog") as dialog:
            dialog.border_title = "Manual"
            dialog.border_subtitle = "↑↓ pages · PgUp, PgDn · Ctrl+E live · Esc closes"
            yield Input(placeholder="Search", compact=True)
            with Container(classes="halves"):
                yield PageList(compact=True)
                with VerticalScroll(classes="page", can_focus=False):
                    yield Markdown(parser_factory=_parser)
            yield Static(markup=False, classes="legend")

    def on_mount(self) -> None:
        self._pages = manual_pages(keys_of(self), self._model, self._commands)
        follow_view(self, lambda view: self.query_one(".legend", Static).update(legend(view)))
        wanted = page_named(self._pages, self._topic)
        search = self.query_one(Input)
        search.focus()
        self._list(self._pages, wanted or self._pages[0])
        if wanted is None:
            search.value = self._topic

    # --- what the user does ------------------------------------------------------------------------------------

    def on_input_changed(self, event: Input.Changed) -> None:
        event.stop()
        matching = tuple(page for page in self._pages if page.holds(self._words))
        shown = self._shown
        defining = next((page for page in matching if page.defines(self._typed)), None)
        self._list(matching, defining or (shown if shown in matching else next(iter(matching), None)))

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        event.stop()
        self._show(self._listed[event.option_index])

    async def action_explain(self) -> None:
        """Shown is better than told: the method, on steps of the model."""
        await self.dismiss()
        await self.app.run_action("app.explain")

    def action_turn(self, direction: int) -> None:
        """The page before or after."""
        pages = self.query_one(PageList)
        place = (pages.highlighted or 0) + direction
        if 0 <= place < len(self._listed):
            pages.highlighted = place

    def action_scroll(self, direction: int) -> None:
        page = self.query_one(".page", VerticalScroll)
        page.scroll_page_down(animate=False) if direction > 0 else page.scroll_page_up(animate=False)

    def action_next_found(self) -> None:
        """Go to the next match; after the last one, to the next page."""
        if self._found:
            self._bring_up(self._found.pop(0))
        elif self._words:
            self.action_turn(1)

    # --- what is shown -----------------------------------------------------------------------------------------

    @property
    def _typed(self) -> str:
        return " ".join(self.query_one(Input).value.lower().split())

    @property
    def _words(self) -> tuple[str, ...]:
        """Return the search terms: the whole input if it occurs somewhere, else each of its words."""
        typed = self._typed
        return (typed,) if typed and any(page.holds([typed]) for page in self._pages) else tuple(typed.split())

    @property
    def _shown(self) -> ManualPage | None:
        place = self.query_one(PageList).highlighted
        return self._listed[place] if place is not None and place < len(self._listed) else None

    def _list(self, pages: tuple[ManualPage, ...], chosen: ManualPage | None) -> None:
        listed = self.query_one(PageList)
        self._listed = pages
        with self.prevent(OptionList.OptionHighlighted):
            listed.clear_options()
            listed.add_options(Option(Content(page.name.capitalize()), page.name) for page in pages)
            listed.highlighted = pages.index(chosen) if chosen is not None else None
        self._show(chosen)

    def _show(self, page: ManualPage | None) -> None:
        self._wanted.append(page)
        if not self._drawing:
            self._drawing = True
            self.run_worker(self._draw_wanted())

    async def _draw_wanted(self) -> None:
        """One page after another: a document whose update is cancelled keeps widgets that never answer."""
        while self._wanted and self.is_on_stack:
            page = self._wanted[-1]
            self._wanted.clear()
            await self._draw(page)
        self._drawing = False

    async def _draw(self, page: ManualPage | None) -> None:
        document = self.query_one(Markdown)
        text = page.text if page is not None else "Nothing found."
        if document.source != text:
            await document.update(text)
        if not self.is_on_stack:
            return
        self._mark()
        if self._found:
            self._bring_up(self._found.pop(0))
        else:
            self.query_one(".page").scroll_home(animate=False)

    def _mark(self) -> None:
        """Show where the words stand that are searched for; where they are defined is the first place."""
        self._found, defining = [], list[Widget]()
        words = re.compile("|".join(map(re.escape, self._words)) or r"(?!)", re.IGNORECASE)
        for widget in self.query_one(Markdown).walk_children(Static):
            if isinstance(widget.content, Content) and widget.content.plain:
                bare = Content(widget.content.plain, [span for span in widget.content.spans if span.style != FOUND])
                if words.search(bare.plain):
                    (defining if bare.plain.strip().lower() == self._typed else self._found).append(widget)
                if words.search(bare.plain) or bare.spans != widget.content.spans:
                    widget.update(bare.highlight_regex(words, style=FOUND))
        self._found = [*defining, *self._found]

    def _bring_up(self, widget: Widget) -> None:
        self.call_after_refresh(self.query_one(".page").scroll_to_widget, widget, animate=False, top=True)
