"""One side of the race: its text as it comes, and its figures on its own clock."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Vertical

from lade_chat.figures import Part, counted, part, reason_forms, sampling_forms, seconds, speed
from lade_chat.protocol import FinishReason, Side, Statistics, Tokens
from lade_chat.tui.figure_line import FigureLine
from lade_chat.tui.follow_scroll import FollowScroll
from lade_chat.tui.tinted_text import TintedText


class RacePane(Vertical):
    """Left runs with lookahead, right without."""

    def __init__(self, side: Side) -> None:
        super().__init__(id=side)
        self.side = side
        self.border_title = "lookahead ON" if side == "left" else "lookahead OFF"
        self.statistics = Statistics()
        self._text = TintedText()

    def compose(self) -> ComposeResult:
        yield FollowScroll(self._text)
        yield FigureLine([part(0, "waiting")])

    def on_mount(self) -> None:
        self.query_one(FollowScroll).follow()

    def reading(self, done: int, total: int) -> None:
        self._show([part(0, f"reading the prompt {done}/{total}")])

    def grow(self, tokens: Tokens) -> None:
        self.statistics = tokens.statistics
        self._text.extend((piece.text, piece.origin) for piece in tokens.pieces if piece.text)
        self._show(self._figures())

    def end(self, reason: FinishReason, statistics: Statistics) -> None:
        self.statistics = statistics
        self._show([*self._figures(), part(4, *reason_forms(statistics, reason))])

    def _figures(self) -> list[Part]:
        s = self.statistics
        parts = [
            part(0, speed(s.tokens_per_second)),
            part(1, counted(s.steps, "step")),
            part(3, counted(s.generated_tokens, "token")),
            part(2, seconds(s.seconds)),
        ]
        return parts if s.sampling is None else [*parts, part(5, sampling_forms(s.sampling)[-1])]

    def _show(self, parts: list[Part]) -> None:
        self.query_one(FigureLine).show(parts)
