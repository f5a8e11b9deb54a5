"""A finished reply as Markdown, its code highlighted, with the tints of its tokens laid over it."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from textual.content import Content
from textual.widgets import Markdown, Static
from textual.widgets.markdown import MarkdownBlock, MarkdownFence

from lade_chat.protocol import Origin
from lade_chat.sanitize import printable
from lade_chat.tui.overlay import TintedSource, guessed_runs
from lade_chat.tui.tint import style_of


def _parser() -> MarkdownIt:
    """A line break stays one, and what looks like HTML is text: nothing that a model says may get lost."""
    parser = MarkdownIt("gfm-like", {"html": False}).disable("image")
    parser.core.ruler.push("hard_breaks", _harden)
    return parser


def _harden(state: StateCore) -> None:
    for token in state.tokens:
        for child in token.children or ():
            if child.type == "softbreak":
                child.type = "hardbreak"


class MarkdownReply(Markdown):
    """Calls ``ready`` when it is on the screen."""

    def __init__(self, tokens: Iterable[tuple[str, Origin]], ready: Callable[[], None]) -> None:
        self._tinted = TintedSource((printable(text), origin) for text, origin in tokens)
        super().__init__(self._tinted.text, parser_factory=_parser)
        self._ready = ready
        self._cells: dict[Static, Content] = {}
        """A table's cells without tints."""

    def on_mount(self) -> None:
        self.app.theme_changed_signal.subscribe(self, lambda _theme: self.call_after_refresh(self._tint))

    def on_unmount(self) -> None:
        # Else the signal would keep it for as long as the application runs.
        self.app.theme_changed_signal.unsubscribe(self)

    def on_markdown_table_of_contents_updated(self, event: Markdown.TableOfContentsUpdated) -> None:
        """Its blocks are there."""
        event.stop()
        self._tint()
        self._ready()

    def _tint(self) -> None:
        """Lay the tints over what each widget shows; again after a change of the theme, which draws code anew."""
        at = end = 0
        for widget in self.walk_children(Static):
            if isinstance(widget, MarkdownBlock):
                start, end = self._tinted.lines(*widget.source_range)
                at = max(at, start)
                if not isinstance(widget, MarkdownFence) and widget._content.plain:
                    at = self._tint_one(widget, widget._content, at, end)
            elif isinstance(widget.parent, MarkdownFence):
                at = self._tint_one(widget, widget.parent._highlighted_code, at, end)
            elif isinstance(widget.content, Content):  # a cell of a table
                at = self._tint_one(widget, self._cells.setdefault(widget, widget.content), at, end)

    def _tint_one(self, widget: Static, content: Content, start: int, end: int) -> int:
        runs, at = guessed_runs(content.plain, self._tinted, start, end)
        tinted = content
        for run in runs:
            tinted = tinted.stylize(style_of(run.origin), run.start, run.end)
        widget.update(tinted)
        return at
