"""Line below a question with several alternatives: `‹ 1 of 2 ›`, switched by key or click."""

from __future__ import annotations

from dataclasses import dataclass

from textual.content import Content
from textual.message import Message
from textual.style import Style
from textual.widgets import Static

from lade_chat.tui.conversations.session import ShownTurn


class Alternatives(Static):
    """``‹ 2 of 3 ›``, to be clicked on."""

    @dataclass
    class Wanted(Message):
        """The user wants the alternative before (-1) or after (1) that turn."""

        turn: int
        direction: int

    def __init__(self, shown: ShownTurn) -> None:
        self._turn = shown.turn.id
        super().__init__(
            Content.assemble(
                ("‹", Style.from_meta({"@click": "step(-1)"})),
                f" {shown.place} of {shown.count} ",
                ("›", Style.from_meta({"@click": "step(1)"})),
            ),
            markup=False,
        )

    def action_step(self, direction: int) -> None:
        self.post_message(self.Wanted(self._turn, direction))
