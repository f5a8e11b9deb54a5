"""The race: one prompt, one model, lookahead on against off, and what came of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Footer, Static

from lade_chat.figures import exactness, seconds
from lade_chat.protocol import (
    EngineLost,
    Event,
    Failed,
    Prefilling,
    RaceFinished,
    ReplyFinished,
    Side,
    Tokens,
)
from lade_chat.sanitize import printable
from lade_chat.tui.race_pane import RacePane

SLOWER_THAN_LIFE = "Shown slower than life: both sides share this machine, and each clock runs only in its own steps."


class RaceScreen(Screen[None]):
    """Esc stops the race, and once it has ended leaves it."""

    HORIZONTAL_BREAKPOINTS = [(0, "-stacked"), (100, "-beside")]  # noqa: RUF012
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "leave", "Stop, then close"),
        Binding("f1", "app.help", "Help"),
        Binding("ctrl+q", "app.quit", "Quit", priority=True),
    ]

    def __init__(self, question: str, dtype: str, stop: Callable[[], None]) -> None:
        super().__init__()
        self._question = question
        self._dtype = dtype
        self._stop = stop
        self._racing = True
        self._stopped = False
        # What an engine tells before the panes are laid out.
        self._early: list[Event] | None = []

    def compose(self) -> ComposeResult:
        question = " ".join(printable(self._question).split())
        yield Static(Content(f"Race: {question}"), markup=False, id="race-question")
        with Container(id="race-panes"):
            yield RacePane("left")
            yield RacePane("right")
        yield Static(SLOWER_THAN_LIFE, markup=False, id="race-verdict")
        yield Footer(show_command_palette=False)

    def action_leave(self) -> None:
        if not self._racing:
            self.dismiss()
        elif not self._stopped:
            self._stopped = True
            self._verdict("Stopping…")
            self._stop()

    def on_mount(self) -> None:
        self.call_after_refresh(self._catch_up)

    def _catch_up(self) -> None:
        early, self._early = self._early or [], None
        for event in early:
            self.tell(event)

    def tell(self, event: Event) -> None:
        """Show what the engine tells of the race."""
        if self._early is not None:
            self._early.append(event)
            return
        match event:
            case Prefilling():
                self._pane(event.side).reading(event.done, event.total)
            case Tokens():
                self._pane(event.side).grow(event)
            case ReplyFinished():
                self._pane(event.side).end(event.finish_reason, event.statistics)
            case RaceFinished():
                outcome = "won" if event.speedup >= 1 and event.identical else "lost"
                self._end(self._result(event), "stopped" if self._stopped else outcome)
            case Failed(message) | EngineLost(message):
                self._end(f"The race broke off: {printable(message)}", "failed")

    def _pane(self, side: Side) -> RacePane:
        return self.query_one(f"#{side}", RacePane)

    def _result(self, event: RaceFinished) -> str:
        left, right = (self._pane(side).statistics for side in ("left", "right"))
        times = f"ON {seconds(left.seconds)}, OFF {seconds(right.seconds)}"
        if self._stopped:
            return f"Stopped: {times}. Esc closes."
        if event.speedup >= 1:
            verdict = f"{event.speedup:.2f}x as fast with lookahead"
        else:
            verdict = f"{1 / event.speedup:.2f}x slower with lookahead" if event.speedup > 0 else "no time taken"
        return f"{verdict} ({times}).\n{self._sameness(event)}"

    def _sameness(self, event: RaceFinished) -> str:
        if event.identical:
            return "The two texts are identical."
        if event.difference is None:
            return "The two texts differ."
        d = event.difference
        on, off = (printable(text).replace("\n", "↵") for text in (d.left, d.right))
        where = f"First difference at token {d.index + 1}: “{on}” with lookahead, “{off}” without"
        return f"{where} ({exactness(self._dtype)[-1]})."

    def _end(self, text: str, outcome: str) -> None:
        self._racing = False
        self.query_one("#race-verdict").add_class(outcome)
        self._verdict(text)

    def _verdict(self, text: str) -> None:
        self.query_one("#race-verdict", Static).update(Content(text))
