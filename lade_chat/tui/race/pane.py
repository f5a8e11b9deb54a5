"""One side of a race: streamed text, progress, and metrics on its own clock."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static

from lade_chat.presentation.metric_words import counted, reason_forms, sampling_forms, seconds, speed
from lade_chat.presentation.status_parts import StatusPart, part
from lade_chat.protocol.events import Tokens
from lade_chat.protocol.values import FinishReason, Side, Statistics
from lade_chat.tui.reply.body import ReplyBody
from lade_chat.tui.theme.colouring import show_legend
from lade_chat.tui.widgets.metric_lines import MetricLine, explain, sparkline
from lade_chat.tui.widgets.stack import FollowScroll

SPARKS = 24
"""The widest sparkline."""
TITLE_MARGIN = 6
"""Columns of the border that its title cannot have."""
TRACK_NAME, SPARKS_NAME = "tokens ", "  tok/s "


class RacePane(Vertical):
    """One side of a race, whose title says how it decodes."""

    def __init__(self, side: Side, title: str, *, guesses: bool = True) -> None:
        """``guesses``: whether its method has guessed tokens to show, and so colours to explain."""
        super().__init__(id=side)
        self._guesses = guesses
        self.side = side
        self.border_title = self._title = title
        self._heads: tuple[str, ...] = ()
        """Additions to its title, from the longest; the first that fits stands there."""
        self._run: tuple[int, int] = (-1, 0)
        """The number of the last step, and its tokens so far."""
        self._longest = 0
        self.statistics = Statistics()
        self.ended = self.finished = False
        """Whether it has nothing more to say; whether by itself."""
        self.speeds: list[float] = []
        self._text = ReplyBody()

    def compose(self) -> ComposeResult:
        yield FollowScroll(self._text)
        yield Static(markup=False, classes="race-track")
        yield MetricLine([part(0, "waiting")])

    def on_mount(self) -> None:
        if self._guesses:
            show_legend(self)
        explain(self.query_one(".race-track"), "race track")
        self.query_one(FollowScroll).follow()

    def reading(self, done: int, total: int) -> None:
        self._show([part(0, f"reading the prompt {done}/{total}")])

    def stop(self) -> None:
        """Show that the race was stopped before this side began."""
        if not self.ended and not self.statistics.steps:
            self._show([part(0, "stopping")])

    def grow(self, tokens: Tokens) -> None:
        self.statistics = tokens.statistics
        self.speeds.append(tokens.statistics.recent_tokens_per_second)
        self._text.extend(tokens.pieces)
        for piece in tokens.pieces:
            self._run = (piece.step, self._run[1] + 1 if piece.step == self._run[0] else 1)
            self._longest = max(self._longest, self._run[1])
        self._head(f"{counted(self._run[1], 'token')} in this step", f"{self._run[1]} in this step")
        self._show(self._metrics())

    def end(self, reason: FinishReason, statistics: Statistics) -> None:
        self.statistics, self.ended, self.finished = statistics, True, reason != "cancelled"
        self._text.end()
        if self._longest:
            self._head(f"at most {counted(self._longest, 'token')} in a step", f"at most {self._longest} a step")
        # A normal end is the least important.
        self._show([*self._metrics(), part(7 if reason == "eos" else 4, *reason_forms(statistics, reason))])

    def on_resize(self) -> None:
        self._head(*self._heads)

    def _head(self, *more: str) -> None:
        """Show the title and the first of ``more`` that has room beside it."""
        self._heads = more
        room = self.outer_size.width - TITLE_MARGIN
        titles = (f"{self._title} · {each}" for each in more)
        self.border_title = next((each for each in titles if len(each) <= room), self._title)

    def show_track(self, goal: int, top_speed: float) -> None:
        """Show progress towards ``goal`` tokens, and the speeds so far on the scale of both sides."""
        track = self.query_one(".race-track", Static)
        width = track.size.width - len(TRACK_NAME) - len(SPARKS_NAME)
        sparks = min(SPARKS, max(0, width // 3))  # whether filled or not, so that both sides have one scale
        room = max(1, width - sparks)
        full = round(room * min(1.0, self.statistics.generated_tokens / max(1, goal)))
        track.update(
            Content.assemble(
                (TRACK_NAME, "$foreground-muted"),
                ("━" * full, "$success" if self.ended else "$primary"),
                ("─" * (room - full), "$foreground 25%"),
                (SPARKS_NAME, "$foreground-muted"),
                (sparkline(self.speeds, sparks, top_speed), "$foreground 60%"),
            )
        )

    def _metrics(self) -> list[StatusPart]:
        s = self.statistics
        parts = [
            part(0, speed(s.tokens_per_second), metric="race clock"),
            part(1, counted(s.steps, "step")),
            part(3, counted(s.generated_tokens, "token")),
            part(2, seconds(s.seconds)),
        ]
        return parts if s.sampling is None else [*parts, part(6, sampling_forms(s.sampling)[-1])]

    def _show(self, parts: list[StatusPart]) -> None:
        self.query_one(MetricLine).show(parts)
