"""Side bar: the latest conversations beside the transcript, where there is room; and all conversations' rows."""

from __future__ import annotations

import time
from collections.abc import Sequence

from rich.cells import cell_len, set_cell_size
from textual.content import Content
from textual.events import Resize
from textual.reactive import var
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from lade_chat.presentation.metric_words import counted
from lade_chat.presentation.sanitize import printable
from lade_chat.presentation.status_parts import cut
from lade_chat.store.records import Summary
from lade_chat.store.search import pattern
from lade_chat.tui.conversations.store_worker import StoreWorker

MAX_SHOWN = 100
MAX_MODEL_CELLS = 18
MIN_CELLS = {True: (48, 68), False: (80, 48)}
"""Cells of a row from which on it has the columns of models and turns, by whether models differ."""
DATED_SECONDS = 7 * 86400
"""From this age on a date tells more."""
FOUND = "reverse"


class SideBar(OptionList):
    """The latest conversations, refreshed by ``look``; while hidden, it does not query the store."""

    wanted: var[bool] = var(False, toggle_class="-wanted")
    """True if the user wants it, even if there is no room for it."""

    def __init__(self, worker: StoreWorker) -> None:
        super().__init__(markup=False)
        self._worker = worker
        self._here = ""
        self._shown: Sequence[Summary] = ()

    def show_here(self, conversation: str) -> None:
        """Mark this conversation, which is open and has just changed."""
        self._here = conversation
        self.look()

    def look(self) -> None:
        """Show the conversations as they are stored now."""
        if self.is_attached and self.styles.display != "none":
            self._worker.look_up(lambda: self._worker.store.page(size=MAX_SHOWN), self._show)

    def on_resize(self, _event: Resize) -> None:
        self._draw()
        self.look()

    def _show(self, found: Sequence[Summary]) -> None:
        self._shown = found
        self._draw()

    def _draw(self) -> None:
        if not self.is_attached:
            return
        here, width = self._here, self.scrollable_content_region.width
        ids = [each.id for each in self._shown]
        self.clear_options()
        self.add_options(Option(narrow_row(each, width, here=each.id == here), each.id) for each in self._shown)
        self.highlighted = ids.index(here) if here in ids else None


def wide_row(summary: Summary, width: int, search: str, *, here: bool, differ: bool) -> Content:
    """Return the title, the model, the number of turns and the age in columns; in a search, below it a match.

    In place of turns stands ``here``, or ``ask`` if it is of the command line. Narrow rows have fewer columns, and the
    models if the list's ``differ``.
    """
    from_model, from_turns = MIN_CELLS[differ]
    turns = "here" if here else counted(summary.turns, "turn") if summary.record.chat else "ask"
    about = f"{ago(time.time() - summary.record.updated):>10}"
    if width >= from_turns:
        about = f"{turns:>9}  {about}"
    if width >= from_model:
        about = f"{set_cell_size(model_name(summary), MAX_MODEL_CELLS)}  {about}"
    found, room = pattern(search), width - cell_len(about) - 2
    title = cut_inside(summary.title, room) or "(no title)"
    first = Content(title).highlight_regex(found, style=FOUND)
    row = Content.assemble(first, " " * (room - cell_len(title) + 2), (about, "dim"))
    if not summary.excerpt:
        return row
    excerpt = Content(f"  {one_line(summary.excerpt, width - 2)}")
    return Content.assemble(row, "\n", excerpt.highlight_regex(found, style=FOUND))


def narrow_row(summary: Summary, width: int, *, here: bool) -> Content:
    """Return the title, and below it the time, whether it is of the command line, and the model."""
    title = Content.styled(cut_inside(summary.title, width) or "(no title)", "bold" if here else "")
    source = "" if summary.record.chat else "ask"
    about = " · ".join(filter(None, (moment(summary.record.updated), source, model_name(summary))))
    return Content.assemble(title, "\n", (one_line(about, width), "dim"))


def model_name(summary: Summary) -> str:
    """Return the model's name without its owner, cut to ``MAX_MODEL_CELLS``."""
    model = summary.record.model
    return "" if model is None else one_line(model.name.rpartition("/")[2], MAX_MODEL_CELLS)


def one_line(text: str, width: int) -> str:
    """Return a text as one line, cut to ``width`` cells."""
    return cut(" ".join(printable(text).split()), width)


def cut_inside(text: str, width: int) -> str:
    """Return a text as one line; of a long one its two ends, since titles that begin alike differ at the end."""
    line = " ".join(printable(text).split())
    if cell_len(line) <= width:
        return line
    # In place of half a wide character set_cell_size has a blank.
    heads = (set_cell_size(line, cell_len(line) - width // 2 + more) for more in (0, 1))
    tail = line[len(next(filter(line.startswith, heads), line)) :]
    return f"{set_cell_size(line, width - 1 - cell_len(tail))}…{tail}"


def moment(when: float) -> str:
    """Return the time of today, or a date: neither becomes wrong while it stands there."""
    then, now = time.localtime(when), time.localtime()
    return time.strftime("%H:%M" if then[:3] == now[:3] else "%Y-%m-%d", then)


def ago(seconds: float) -> str:
    """Return an age in its largest full unit, ``5 min ago``; the date of one of more than a week."""
    if seconds >= DATED_SECONDS:
        return time.strftime("%Y-%m-%d", time.localtime(time.time() - seconds))
    for unit, size in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{seconds // size:.0f} {unit} ago"
    return "just now"
