"""A finished reply as Markdown, its code highlighted, with the tints of its tokens laid over it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from textual.content import Content
from textual.widgets import Markdown, Static
from textual.widgets.markdown import MarkdownBlock, MarkdownFence

from lade_chat.presentation.sanitize import printable
from lade_chat.protocol.inspection import Origin
from lade_chat.tui.reply.overlay import Run, TintedSource, guessed_runs
from lade_chat.tui.theme.tint import style_of


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


class TintedFence(MarkdownFence):
    """A code block that keeps its tints: it highlights its code anew with every change of style, as by a resize."""

    runs: Sequence[Run] = ()

    def set_content(self, content: Content) -> None:
        super().set_content(tinted(content, self.runs))

    def tint(self, runs: Sequence[Run]) -> None:
        """Lay these over the code, now and whenever it is highlighted anew."""
        self.runs = runs
        self.set_content(self._highlighted_code)


class MarkdownReply(Markdown):
    """Calls ``ready`` when it is on the screen."""

    def __init__(self, tokens: Iterable[tuple[str, Origin]], ready: Callable[[], None]) -> None:
        self._tinted = TintedSource((printable(text), origin) for text, origin in tokens)
        super().__init__(self._tinted.text, parser_factory=_parser)
        self._ready = ready

    def get_block_class(self, block_name: str) -> type[MarkdownBlock]:
        return TintedFence if block_name in ("fence", "code_block") else super().get_block_class(block_name)

    def on_markdown_table_of_contents_updated(self, event: Markdown.TableOfContentsUpdated) -> None:
        """Its blocks are there."""
        event.stop()
        self._tint()
        self._ready()

    def _tint(self) -> None:
        """Lay the tints over what each widget shows. They name variables, so that they follow the theme."""
        at = end = 0
        for widget in self.walk_children(Static):
            if isinstance(widget, MarkdownBlock):
                start, end = self._tinted.lines(*widget.source_range)
                at = max(at, start)
            if isinstance(widget, TintedFence):
                runs, at = guessed_runs(widget._highlighted_code.plain, self._tinted, at, end)
                widget.tint(runs)
            elif isinstance(widget, MarkdownBlock):
                if widget._content.plain:
                    at = self._tint_one(widget, widget._content, at, end)
            elif not isinstance(widget.parent, TintedFence) and isinstance(widget.content, Content):
                at = self._tint_one(widget, widget.content, at, end)  # a cell of a table

    def _tint_one(self, widget: Static, content: Content, start: int, end: int) -> int:
        runs, at = guessed_runs(content.plain, self._tinted, start, end)
        widget.update(tinted(content, runs))
        return at


def tinted(content: Content, runs: Iterable[Run]) -> Content:
    """The content with its guessed characters tinted."""
    for run in runs:
        content = content.stylize(style_of(run.origin), run.start, run.end)
    return content
