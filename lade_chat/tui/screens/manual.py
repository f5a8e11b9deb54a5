"""Manual screen: a list of pages, the selected page, and a search over all of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, NamedTuple

from markdown_it import MarkdownIt
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, VerticalScroll
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Input, Markdown, OptionList, Static
from textual.widgets.option_list import Option

from lade_chat.presentation.metric_help import METRIC_HELP
from lade_chat.presentation.token_looks import ORIGINS
from lade_chat.protocol.values import ModelInfo
from lade_chat.tui.key_map import BROWSER_KEYS, KeyNames, displayed, keys_of
from lade_chat.tui.prompt.completion import CompletableCommand
from lade_chat.tui.theme.colouring import follow_view
from lade_chat.tui.theme.token_tints import legend
from lade_chat.tui.widgets.dialog import Dialog, DialogBox

NAMES = (
    *("keys", "commands", "conversations", "attachments", "settings", "sampling"),
    *("models", "lookahead", "metrics", "web", "pipes", "pictures"),
)
"""In the order in which they are listed; each is a file, and what ``/help`` calls the page."""
_FOLDER = Path(__file__).parent / "manual_text"
_TERM = re.compile(r"^\| ((?:[^|\\\n]|\\.)*[^|\\\s]) \|", re.MULTILINE)
"""The first cell of a table's row: the term that it explains."""
FOUND = "reverse"
MENTIONED = "mentioned in"


class ManualPage(NamedTuple):
    """``text`` is Markdown."""

    name: str
    text: str

    def holds(self, words: Sequence[str]) -> bool:
        """Return whether the page contains all of the words (lower case)."""
        text = self.text.lower()
        return all(word in text for word in words)

    def is_about(self, words: Sequence[str]) -> bool:
        """Return whether all of the words (lower case) stand in its name, a heading or the head of a table's row."""
        heads = re.findall(r"^#+ (.*)$|^\| \*\*(.*?)\*\* \|", self.text.lower(), re.MULTILINE)
        places = [self.name, *(heading or term for heading, term in heads)]
        return any(all(word in place for word in words) for place in places)


def manual_pages(
    keys: KeyNames, model: ModelInfo | None = None, commands: Sequence[CompletableCommand] = ()
) -> tuple[ManualPage, ...]:
    """Return all pages with the current keys, the loaded model, and a list of the slash commands."""
    lists = {
        "{commands}": _table([(f"/{each.name} {each.takes}".strip(), each.does) for each in commands]),
        "{actions}": _table([(action, keys.first(action)) for action in keys.keys]),
        "{browser_keys}": ", ".join(f"{displayed(key)} is {keys.first(name)}" for name, key in BROWSER_KEYS.items()),
        "{origins}": _table([*ORIGINS.items()]),
        "{metrics}": _table([*METRIC_HELP.items()]),
        "{model}": f"{model.name} runs on {model.device} in {model.dtype}." if model is not None else "",
    }
    return tuple(_page(name, keys, lists) for name in NAMES)


def page_named(pages: Sequence[ManualPage], topic: str) -> ManualPage | None:
    """The page with this name, or beginning of a name; None if there is none."""
    begun = topic.strip().lower()
    return next((page for page in pages if begun and page.name.startswith(begun)), None)


def _page(name: str, keys: KeyNames, lists: dict[str, str]) -> ManualPage:
    text = (_FOLDER / f"{name}.md").read_text(encoding="utf-8")
    for place, listed in lists.items():
        text = text.replace(place, listed)
    text = re.sub(r"\n{3,}", "\n\n", text)  # where no model is loaded
    return ManualPage(name, _TERM.sub(r"| **\1** |", keys.put_into(text)))


def _table(rows: Sequence[tuple[str, str]]) -> str:
    """A table without headings."""
    lines = [" | ".join(cell.replace("|", "\\|") for cell in row) for row in rows]
    return "\n".join(["| | |", "|---|---|", *(f"| {line} |" for line in lines)])


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
        with DialogBox("Manual", "↑↓ pages · PgUp, PgDn · Ctrl+E live · Esc closes"):
            yield Input(placeholder="Search", compact=True)
            with Container(classes="halves"):
                yield PageList(compact=True)
                with VerticalScroll(classes="page", can_focus=False):
                    yield Markdown(parser_factory=lambda: MarkdownIt("commonmark").enable("table"))
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
        words, shown = self._words, self._shown
        matching = [page for page in self._pages if page.holds(words)]
        matching.sort(key=lambda page: not page.is_about(words))
        best = [page for page in matching if page.is_about(words) == matching[0].is_about(words)]
        self._list(matching, shown if shown in best else next(iter(matching), None))

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        event.stop()
        self._show(self._shown)

    async def action_explain(self) -> None:
        """Close the manual and show the method on steps of the model."""
        await self.dismiss()
        await self.app.run_action("app.explain")

    def action_turn(self, direction: int) -> None:
        """Turn to the page before or after."""
        shown = self._shown
        place = self._listed.index(shown) + direction if shown is not None else -1
        if 0 <= place < len(self._listed):
            listed = self.query_one(PageList)
            listed.highlighted = listed.get_option_index(self._listed[place].name)

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
        option = self.query_one(PageList).highlighted_option
        return next((page for page in self._listed if option is not None and page.name == option.id), None)

    def _list(self, pages: Sequence[ManualPage], chosen: ManualPage | None) -> None:
        """List the pages, those that only mention what is searched for below a line that says so."""
        listed, words = self.query_one(PageList), self._words
        self._listed = tuple(pages)
        rows = [Option(Content(page.name.capitalize()), page.name) for page in pages]
        about = sum(page.is_about(words) for page in pages)
        if words and about < len(rows):
            rows.insert(about, Option(Content.styled(MENTIONED, "$foreground-muted"), disabled=True))
        with self.prevent(OptionList.OptionHighlighted):
            listed.clear_options()
            listed.add_options(rows)
            listed.highlighted = listed.get_option_index(chosen.name) if chosen is not None else None
        self._show(chosen)

    def _show(self, page: ManualPage | None) -> None:
        self._wanted.append(page)
        if not self._drawing:
            self._drawing = True
            self.run_worker(self._draw_wanted())

    async def _draw_wanted(self) -> None:
        """Draw page after page: a document whose update is cancelled keeps widgets that never answer."""
        while self._wanted and self.is_on_stack:
            page = self._wanted[-1]
            self._wanted.clear()
            await self._draw(page)
        self._drawing = False

    async def _draw(self, page: ManualPage | None) -> None:
        document, search = self.query_one(Markdown), self.query_one(Input)
        text = page.text if page is not None else "Nothing found."
        if document.source != text:
            await document.update(text)
        if not (self.is_on_stack and document.is_attached and search.is_attached):
            return  # closed meanwhile, or the application is ending
        self._mark()
        if self._found:
            self._bring_up(self._found.pop(0))
        else:
            self.query_one(".page").scroll_home(animate=False)

    def _mark(self) -> None:
        """Show where the words stand that are searched for: first where they are defined, then in headings."""
        found, headings = list[tuple[int, Widget]](), set(self.query("MarkdownHeader"))
        words = re.compile("|".join(map(re.escape, self._words)) or r"(?!)", re.IGNORECASE)
        for widget in self.query_one(Markdown).walk_children(Static):
            widget.tooltip = None  # a table's cell has one, which only repeats it
            if isinstance(widget.content, Content) and widget.content.plain:
                bare = Content(widget.content.plain, [span for span in widget.content.spans if span.style != FOUND])
                if words.search(bare.plain):
                    defines = bare.plain.strip().lower() == self._typed
                    found.append((0 if defines else 1 if widget in headings else 2, widget))
                if words.search(bare.plain) or bare.spans != widget.content.spans:
                    widget.update(bare.highlight_regex(words, style=FOUND))
        self._found = [widget for _, widget in sorted(found, key=lambda each: each[0])]

    def _bring_up(self, widget: Widget) -> None:
        self.call_after_refresh(self.query_one(".page").scroll_to_widget, widget, animate=False, top=True)
