"""Side bar: the latest conversations beside the transcript, where there is room and they are asked for."""

from __future__ import annotations

from collections.abc import Sequence

from textual.events import Resize
from textual.widgets import OptionList
from textual.widgets.option_list import Option

from lade_chat.store.records import Summary
from lade_chat.tui.conversations.row import narrow_row
from lade_chat.tui.conversations.store_worker import StoreWorker

MAX_SHOWN = 100


class SideBar(OptionList):
    """The latest conversations, refreshed by ``look``; while hidden, it does not query the store."""

    def __init__(self, worker: StoreWorker) -> None:
        super().__init__(markup=False, classes="-off")
        self._worker = worker
        self._here = ""
        self._shown: Sequence[Summary] = ()

    @property
    def wanted(self) -> bool:
        """True if the user wants the side bar, even if there is no room for it."""
        return not self.has_class("-off")

    @wanted.setter
    def wanted(self, wanted: bool) -> None:
        self.set_class(not wanted, "-off")

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
