"""Line above a long conversation that shows its earlier turns on demand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from textual.content import Content
from textual.widgets import Static

from lade_chat.presentation.metrics import counted
from lade_chat.store.tree import wholes
from lade_chat.store.values import Turn
from lade_chat.tui.conversations.session import ShownTurn


def split(turns: Sequence[Turn], most: int) -> tuple[Sequence[Turn], Sequence[Turn]]:
    """The last ``most`` turns and those before them; a few more, rather than a reply torn apart."""
    place = max((first for first, _ in wholes(turns) if first <= max(len(turns) - most, 0)), default=0)
    return turns[:place], turns[place:]


AT_ONCE = 20


class Show(Protocol):
    """Shows turns above those that stand there."""

    def __call__(self, turns: Sequence[ShownTurn], *, all_shown: bool) -> None: ...


class Earlier(Static):
    """The line that stands for hidden earlier turns; a click, or Page Up at the top, shows some of them."""

    def __init__(
        self, turns: Sequence[Turn], shown: Callable[[Sequence[Turn]], Sequence[ShownTurn]], show: Show
    ) -> None:
        super().__init__(markup=False)
        self._turns = turns
        self._shown = shown
        self._show = show

    def on_mount(self) -> None:
        self._draw()

    def hold(self, turns: Sequence[Turn]) -> None:
        """Stand for these turns from now on."""
        self._turns = turns
        self._draw()

    def on_click(self) -> None:
        self._turns, late = split(self._turns, AT_ONCE)
        self._draw()
        self._show(self._shown(late), all_shown=not self._turns)

    def _draw(self) -> None:
        self.update(Content(f"▴ {counted(len(self._turns), 'earlier turn')}: a click or Page Up shows them"))
