"""Race screen: one prompt, one model, two methods side by side, and the result."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Vertical
from textual.content import Content
from textual.events import Key
from textual.widgets import Static

from lade_chat.export.content import Content as Picture
from lade_chat.export.content import Recording
from lade_chat.presentation.attachments import folded
from lade_chat.presentation.methods import FIXED, LOOKAHEAD, METHODS
from lade_chat.presentation.metric_words import seconds
from lade_chat.presentation.race_outcome import STOPPED, lead, outcome, sameness, unverified, winner
from lade_chat.presentation.sanitize import printable
from lade_chat.protocol.events import ComparisonFinished, EngineLost, Event, Failed, Prefilling, ReplyFinished, Tokens
from lade_chat.protocol.values import DecodingOptions, ModelInfo, Side, Statistics
from lade_chat.tui.chat.decisions.controls import stop
from lade_chat.tui.chat.decisions.races import explain as explain_answer
from lade_chat.tui.chat.decisions.races import race_again
from lade_chat.tui.race.menu import RaceMenu
from lade_chat.tui.race.pane import RacePane
from lade_chat.tui.race.queue import Race, Races
from lade_chat.tui.reply.body import ReplyBody
from lade_chat.tui.screens.save_as import PictureName, default_name, save_picture
from lade_chat.tui.theme.colouring import view_of
from lade_chat.tui.widgets.bars import KeyFooter
from lade_chat.tui.widgets.dialog import ClosingScreen
from lade_chat.tui.widgets.metric_lines import explain

LONGER_THAN_CLOCKS = "The race takes longer than the clocks say: the sides take turns, each with its own clock."
MIN_COLUMNS, MIN_ROWS = 30, 8
TOO_SMALL = f"This terminal is too small for a race: {MIN_COLUMNS}×{MIN_ROWS} at least."
LEARNT, NOTHING_LEARNT = "Both start alike, with n-grams of earlier replies, if any.", "Both start with nothing learnt."


class RaceScreen(ClosingScreen[None]):
    """A race on the screen: Esc stops it, and closes the screen once it has ended; other keys start another."""

    HORIZONTAL_BREAKPOINTS = [(0, "-thin"), (MIN_COLUMNS, "-stacked"), (100, "-beside")]  # noqa: RUF012
    VERTICAL_BREAKPOINTS = [(0, "-flat"), (MIN_ROWS, "-low"), (16, "-high")]  # noqa: RUF012
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "stop", "Stop"),
        Binding("escape", "close", "Close"),
        Binding("ctrl+r", "again", "Again"),
        Binding("ctrl+o", "menu", "Methods, suites"),
        Binding("ctrl+e", "explain", "Explain"),
        Binding("ctrl+s", "picture", "Picture"),
        Binding("f5", "toggle_thoughts", "Thoughts", show=False, id="toggle_thoughts"),
        Binding("f1", "app.help", "Help", id="help"),
        Binding("ctrl+q", "app.quit", "Quit", priority=True),
    ]

    def __init__(self, races: Races, model: ModelInfo, options: DecodingOptions, decide: Callable[..., None]) -> None:
        """``races``: the queue that the race belongs to; ``options``: those of both sides; ``decide``: the chat's."""
        super().__init__()
        self._races, self._model, self._options, self._decide = races, model, options, decide
        self._titles = races.titles(options)
        self._recordings: dict[Side, Recording] = {"left": Recording(), "right": Recording()}
        self._outcome: tuple[str, ...] = ()
        self.has_ended = False
        self._stopped = self._leaving = self._thoughts_open = False
        # What an engine tells before the panes are laid out.
        self._early: list[Event] | None = []

    def compose(self) -> ComposeResult:
        question = " ".join(printable(folded(self._race.question)).split())
        yield Static(TOO_SMALL, markup=False, id="race-too-small")
        with Vertical(id="race"):
            yield Static(Content(f"Race: {question}"), markup=False, id="race-question")
            yield Static(Content(self._races.heading()), markup=False, id="race-score")
            with Container(id="race-panes"):
                races = self._races
                yield RacePane("left", self._titles[0], guesses=METHODS[races.left.name].guesses)
                yield RacePane("right", self._titles[1], guesses=METHODS[races.right.name].guesses)
            yield Static("" if self.has_class("-low") else self._circumstances, markup=False, id="race-verdict")
            yield Static(markup=False, id="race-hint")
        yield KeyFooter()

    def on_resize(self) -> None:
        self.call_after_refresh(self._show_tracks)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Offer another race only after this one, and its steps only if lookahead took them in a single race."""
        if action == "explain":
            has_steps = any(each.name in (LOOKAHEAD, FIXED) for each in (self._races.left, self._races.right))
            both_wrote = all(side.generated_tokens for side in self._statistics)
            return self.has_ended and bool(self._outcome) and has_steps and both_wrote
        if action == "stop":
            return not self.has_ended and not self._stopped
        if action == "close":
            return self.has_ended or self._stopped
        return self.has_ended if action in ("menu", "again", "picture") else True

    @property
    def _race(self) -> Race:
        assert self._races.current is not None
        return self._races.current

    @property
    def _circumstances(self) -> str:
        """The conditions of the race, as long as it runs."""
        return f"{LONGER_THAN_CLOCKS} {NOTHING_LEARNT if self._race.fresh else LEARNT}"

    @property
    def _statistics(self) -> tuple[Statistics, Statistics]:
        return self._pane("left").statistics, self._pane("right").statistics

    def action_stop(self) -> None:
        """Stop the race, and its suite with it."""
        self._stopped = True
        self._decide(stop)
        self._verdict("Stopping…")
        for pane in self.query(RacePane):
            pane.stop()
        self.refresh_bindings()

    def action_close(self) -> None:
        """Close the screen, as soon as the race that is being stopped has ended."""
        if not self.has_ended:
            self._leaving = True
            self._verdict("Stopping, then back…")
        else:
            self.dismiss()

    def refuse(self, reason: str) -> None:
        """Say why nothing happens, and which key leads out; those that ``reason`` goes on to name are the chat's."""
        self.hint(f"{reason.partition('.')[0]}. Esc leads back to the chat.")

    def on_screen_suspend(self) -> None:
        """Another screen was opened: what was typed before does not count any more."""
        self.query_one("#race-hint").display = False

    def on_key(self, event: Key) -> None:
        """Say that letters do nothing here: they might be meant for the prompt."""
        if event.is_printable and event.character and not event.key.startswith("alt+"):
            self.hint("Nothing is typed here: Esc leads back.")

    def action_explain(self) -> None:
        self._decide(explain_answer, self._race.messages, raced=True)

    def action_again(self) -> None:
        self._decide(race_again)

    def action_menu(self) -> None:
        menu = RaceMenu(self._races.left, self._races.right, self._options.sizes)
        self.app.push_screen(menu, lambda choice: self._decide(race_again, *choice) if choice is not None else None)

    def action_picture(self) -> None:
        sides, question = tuple(self._recordings.values()), self._race.question
        content = Picture(question, self._model, sides, self._outcome, view_of(self))
        name = default_name(f"race {question}", ".html")
        self.app.push_screen(PictureName(name, lambda name: save_picture(self, name, content)))

    def action_toggle_thoughts(self) -> None:
        self._thoughts_open = not self._thoughts_open
        for text in self.query(ReplyBody):
            text.open_thoughts(self._thoughts_open)

    def on_mount(self) -> None:
        self.query_one("#race-score").display = bool(self._races.heading())
        explain(self.query_one("#race-score"), "race score")
        explain(self.query_one("#race-verdict"), "race result", "race clock")
        self.call_after_refresh(self._catch_up)

    def _catch_up(self) -> None:
        early, self._early = self._early or [], None
        for event in early:
            self.show_event(event, self._races)

    def show_event(self, event: Event, races: Races) -> None:
        """Show an event of the race, after which its queue is ``races``."""
        self._races = races
        if self._early is not None:
            self._early.append(event)
            return
        if isinstance(event, Tokens | ReplyFinished):
            self._recordings[event.side].take(event)
        match event:
            case Prefilling():
                self._pane(event.side).reading(event.done, event.total)
            case Tokens():
                self._pane(event.side).grow(event)
                self._compare()
            case ReplyFinished():
                self._pane(event.side).end(event.finish_reason, event.statistics)
                self._compare()
            case ComparisonFinished():
                first = winner(event.speedup, self._statistics)
                if first is not None and not self._stopped:
                    self._pane(first).add_class("winner")
                won = "won" if first != "right" and event.identical else "lost"
                self._end(self._result(event), "stopped" if self._stopped else won)
            case Failed(message) | EngineLost(message):
                self._end(f"The race broke off: {printable(message)}", "failed")

    def _pane(self, side: Side) -> RacePane:
        return self.query_one(f"#{side}", RacePane)

    def _show_tracks(self) -> None:
        """Show each side's progress: towards the end once one side is there, else towards the other side."""
        panes = [pane for pane in self.query(RacePane) if pane.is_mounted]  # none at first, nor in a closed screen
        ended = [pane.statistics.generated_tokens for pane in panes if pane.ended]
        counts = ended or [pane.statistics.generated_tokens for pane in panes]
        top = max((speed for pane in panes for speed in pane.speeds), default=1.0)
        for pane in panes:
            pane.show_track(max(counts), top)

    def _compare(self) -> None:
        """Show how far each side is, and who is ahead."""
        self._show_tracks()
        if not self.has_ended and not self._stopped:
            leads = self._lead()
            self._verdict(leads if self.has_class("-low") else f"{leads}\n{self._circumstances}")

    def _lead(self) -> str:
        """Return who is ahead; of a race that was stopped, who was."""
        finished = [pane.finished for pane in (self._pane("left"), self._pane("right"))]
        return lead(self._titles, self._statistics, finished, stopped=self._stopped)

    def _result(self, event: ComparisonFinished) -> str:
        """Return the verdict; where there is little room, without the times and unbroken."""
        low = self.has_class("-low")
        sides = left, right = self._statistics
        times = left.seconds, right.seconds
        score = self._races.score
        if self._stopped:
            self._outcome = (STOPPED, self._lead())
            lines = [f"stopped at {' and '.join(map(seconds, times))}", self._lead()]
        else:
            same = sameness(event, self._model.dtype)
            self._outcome = (outcome(event.speedup, *self._titles, sides=sides), same)
            result = outcome(event.speedup, *self._titles, None if low else times, sides)
            lines = [result, same, *unverified(self._titles, sides)]
        if score is not None and not self._races.waiting:
            lines = [*(lines if self._stopped else ()), *score.lines(*self._titles)]
        return (" " if low else "\n").join(f"{line[:1].upper()}{line[1:]}." for line in lines)

    def _end(self, text: str, outcome: str) -> None:
        self.has_ended = True
        self.query_one("#race-score", Static).update(Content(self._races.heading()))
        self.query_one("#race-verdict").add_class(outcome)
        self._verdict(text)
        self.refresh_bindings()
        if self._leaving:
            self.dismiss()

    def _verdict(self, text: str) -> None:
        self.query_one("#race-verdict", Static).update(Content(text))

    def hint(self, text: str) -> None:
        """Show a line below the verdict."""
        for hint in self.query("#race-hint").results(Static):
            hint.update(text)
            hint.display = True
