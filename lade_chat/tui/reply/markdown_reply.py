"""A reply's finished blocks as Markdown, their code highlighted, with the tints of the tokens laid over them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, groupby, pairwise
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from textual.content import Content
from textual.geometry import Offset
from textual.widget import Widget
from textual.widgets import Markdown, Static
from textual.widgets.markdown import MarkdownBlock, MarkdownFence

from lade_chat.protocol.inspection import TokenSource
from lade_chat.tui.reply.tinted_text import index_at
from lade_chat.tui.terminal.textual_private import code_of, content_of
from lade_chat.tui.theme.token_tints import style_of

_PART = re.compile(r"\w+|[^\w\s]")
_SPACE_BEFORE = re.compile(r"\s[^\w\s]*\Z")
_MARK = re.compile(r"\b(bold|italic|underline|dim)\b")
_NEAR = 12
"""Maximum distance, in characters, at which a single punctuation mark counts as the same one."""


class TintedSource:
    """A text with, for each of its characters, its token's origin."""

    def __init__(self, tokens: Iterable[tuple[str, TokenSource]]) -> None:
        self.text = ""
        self._origins: list[TokenSource] = []
        self._starts = [0]
        self.extend(tokens)

    def extend(self, tokens: Iterable[tuple[str, TokenSource]]) -> str:
        """Append tokens; return their text."""
        parts, at = list(tokens), len(self.text) - 1
        new = "".join(text for text, _ in parts)
        self.text += new
        self._origins += [origin for text, origin in parts for _ in text]
        while (at := self.text.find("\n", at + 1)) >= 0:
            self._starts.append(at + 1)
        return new

    def lines(self, first: int, end: int) -> tuple[int, int]:
        """The characters of the lines from ``first`` up to ``end``, as Markdown's blocks tell where they stand."""
        bounds = [*self._starts, len(self.text)]
        return bounds[min(first, len(bounds) - 1)], bounds[min(end, len(bounds) - 1)]

    def origin(self, position: int) -> TokenSource:
        return self._origins[position]


class StyledRun(NamedTuple):
    """Characters ``[start, end)`` of a rendered text that were guessed, all by one source."""

    start: int
    end: int
    origin: TokenSource


def guessed_runs(places: Sequence[int | None], source: TintedSource) -> list[StyledRun]:
    """Return the guessed characters of a text, each of which has a place in the source, or none."""
    origins: list[TokenSource] = ["plain" if place is None else source.origin(place) for place in places]
    ends = accumulate((len(list(group)) for _, group in groupby(origins)), initial=0)
    return [StyledRun(start, end, origins[start]) for start, end in pairwise(ends) if origins[start] != "plain"]


def places_in(source: TintedSource, rendered: str, start: int, end: int) -> tuple[list[int | None], int]:
    """Return where in ``source[start:end]`` each character of a text rendered from it stands, and where that ended.

    Both are scanned once, word by word: words are found as a whole, and marks between them are skipped.
    """
    places: list[int | None] = [None] * len(rendered)
    at = start
    gap = 0  # where the white space before a part begins
    for match in _PART.finditer(rendered):
        part = match.group()
        limit = end if len(part) > 1 or part.isalnum() else min(end, at + _NEAR)
        found = source.text.find(part, at, limit)
        if found >= 0:
            space = _SPACE_BEFORE.search(source.text, max(start, found - _NEAR), found)
            place, back = match.start() - 1, space.start() if space is not None else -1
            while place >= gap and back >= start and source.text[back].isspace():
                places[place] = back
                place, back = place - 1, back - 1
            places[match.start() : match.end()] = range(found, found + len(part))
            at = found + len(part)
        gap = match.end()
    return places, at


def _parser() -> MarkdownIt:
    """Return a Markdown parser that loses no part of a reply: line breaks stay, HTML and link definitions are text."""
    parser = MarkdownIt("gfm-like", {"html": False}).disable(["image", "reference"])
    parser.core.ruler.push("hard_breaks", _harden)
    parser.core.ruler.push("empty_items", _fill_empty_items)
    return parser


def _harden(state: StateCore) -> None:
    for token in state.tokens:
        for child in token.children or ():
            if child.type == "softbreak":
                child.type = "hardbreak"


def _fill_empty_items(state: StateCore) -> None:
    """Give list items without a text an empty paragraph: a reply may end in one, which has no height otherwise."""
    for place in range(len(state.tokens) - 1, 0, -1):
        item, end = state.tokens[place - 1 : place + 1]
        if (item.type, end.type) == ("list_item_open", "list_item_close"):
            blank = Token("text", "", 0, content=" ")
            state.tokens[place:place] = [
                Token("paragraph_open", "p", 1, map=item.map),
                Token("inline", "", 0, map=item.map, content=" ", children=[blank]),
                Token("paragraph_close", "p", -1),
            ]


class TintedFence(MarkdownFence):
    """A code block that keeps its token tints when Textual highlights the code again, as after a resize.

    Code is highlighted by colours alone: lines and letters mark tokens where there are no colours.
    """

    runs: Sequence[StyledRun] = ()

    @classmethod
    def highlight(cls, code: str, language: str, ansi: bool = False, dark: bool = False) -> Content:
        content = super().highlight(code, language, ansi, dark)
        spans = [span._replace(style=_MARK.sub("", str(span.style)).strip()) for span in content.spans]
        return Content(content.plain, [span for span in spans if span.style])

    def set_content(self, content: Content) -> None:
        super().set_content(tinted(content, self.runs))

    def tint(self, runs: Sequence[StyledRun]) -> None:
        """Apply tints to the code, now and after every new highlighting."""
        self.runs = runs
        self.set_content(code_of(self))


class MarkdownReply(Markdown):
    """A reply that grows by whole blocks. ``shown`` is called with the number of tokens it shows, whenever that grows.

    Textual appends rightly only to a document that began empty: after an update it loses the last block.
    """

    def __init__(self, shown: Callable[[int], None]) -> None:
        super().__init__(parser_factory=_parser)
        self.taken = self.on_screen = 0
        """Tokens that it was given, and those of them that it shows."""
        self._tinted = TintedSource(())
        self._shown = shown
        self._waiting: list[tuple[str, TokenSource]] = []
        self._busy = True
        self._is_there = False

    def get_block_class(self, block_name: str) -> type[MarkdownBlock]:
        return TintedFence if block_name in ("fence", "code_block") else super().get_block_class(block_name)

    def extend(self, tokens: Sequence[tuple[str, TokenSource]]) -> None:
        """Show further blocks, after those that were given before."""
        self.taken += len(tokens)
        self._waiting += tokens
        if not self._busy:
            self._begin()

    def on_markdown_table_of_contents_updated(self, event: Markdown.TableOfContentsUpdated) -> None:
        """Begin once the empty document is mounted; later headings are announced too."""
        event.stop()
        if not self._is_there:
            self._is_there = True
            self._begin()

    def _begin(self) -> None:
        self._busy = True
        self.run_worker(self._append_waiting())

    async def _append_waiting(self) -> None:
        """Append what waits. The screen is drawn again only when ``shown`` has hidden the same text elsewhere."""
        while self._waiting:
            tokens, self._waiting = self._waiting, []
            unchanged = max(len(self._shown_blocks) - 1, 0)  # the last one may go on
            with self.app.batch_update():
                await self.append(self._tinted.extend(tokens))
                self._mark_last()
                self._tint(unchanged)
                self.on_screen += len(tokens)
                self._shown(self.on_screen)
        self._busy = False

    @property
    def _shown_blocks(self) -> list[MarkdownBlock]:
        return [child for child in self.children if isinstance(child, MarkdownBlock)]

    def _mark_last(self) -> None:
        """Mark the last block, below which there is no margin."""
        blocks = self._shown_blocks
        for block in blocks:
            block.set_class(block is blocks[-1], "-last")

    def _tint(self, first: int) -> None:
        """Lay the tints over each widget from block ``first`` on; they name variables, and so follow the theme."""
        for block in self._shown_blocks[first:]:
            for widget, content, places in self._placed(block):
                runs = guessed_runs(places, self._tinted)
                if isinstance(widget, TintedFence):
                    widget.tint(runs)
                else:
                    widget.update(tinted(content, runs))
                    widget.tooltip = None  # a table's cell has one, which only repeats it

    def place_of(self, shown: Widget, offset: Offset) -> int | None:
        """Return the place in the source of the character that one of its widgets shows there; None if it has none."""
        shown = shown.parent if isinstance(shown.parent, TintedFence) else shown
        for block in self._shown_blocks:
            for widget, content, places in self._placed(block):
                if widget is shown and (index := index_at(content.plain, *offset)) is not None:
                    return next((place for place in places[index:] if place is not None), None)
        return None

    def _placed(self, block: MarkdownBlock) -> Iterator[tuple[Static, Content, list[int | None]]]:
        """Yield each widget of a block that has a text, with that, and the place in the source of each character."""
        at, end = self._tinted.lines(*block.source_range)
        for widget in (block, *block.walk_children(Static)):
            if isinstance(widget, TintedFence):
                content = code_of(widget)
            elif isinstance(widget, MarkdownBlock):
                content = content_of(widget)
            elif not isinstance(widget.parent, TintedFence) and isinstance(widget.content, Content):
                content = widget.content  # a cell of a table
            else:
                continue
            places, at = places_in(self._tinted, content.plain, at, end)
            if places:
                yield widget, content, places


def tinted(content: Content, runs: Iterable[StyledRun]) -> Content:
    """The content with its guessed characters tinted."""
    for run in runs:
        content = content.stylize(style_of(run.origin), run.start, run.end)
    return content
