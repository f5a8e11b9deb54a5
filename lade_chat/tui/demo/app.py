"""The demo as an application: the chat, which plays its script by itself and may be recorded as a film."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

from rich.color import Color
from rich.style import Style
from textual.events import Event, Key
from textual.screen import Screen
from textual.strip import Strip

from lade_chat.engine.process.client import EngineConnection
from lade_chat.errors import LadeChatError
from lade_chat.export.film import Film, FilmRow, FilmRun, Frame, Mark
from lade_chat.protocol.values import DecodingOptions, ModelOptions
from lade_chat.settings.preferences import Preferences
from lade_chat.store.store import Store
from lade_chat.tui.app.application import ChatApp
from lade_chat.tui.demo.director import Director
from lade_chat.tui.demo.script import perform, prompts_for
from lade_chat.tui.terminal.textual_private import key_event, strips_of

FRAMES_PER_SECOND = 10
_INK, _GROUND = "#e0e0e0", "#121212"
"""Default text and background colours of a cell."""


class Recorder:
    """Records frames as the rows that have changed since the previous frame."""

    def __init__(self, columns: int, rows: int, report: Callable[[float], None] = lambda _: None) -> None:
        """``report`` gets the seconds recorded so far, at every frame."""
        self.film = Film(columns, rows)
        self._report = report
        self._before: list[FilmRow] = [()] * rows
        self._began = monotonic()

    def take(self, screen: Screen[object]) -> None:
        """Take a frame, unless nothing has changed."""
        now = monotonic()
        if not self.film.frames:
            self._began = now
        rows = [_row(strip) for strip in strips_of(screen)]
        changed = {place: row for place, row in enumerate(rows) if row != self._before[place]}
        self.film.seconds = now - self._began
        self._report(self.film.seconds)
        if changed:
            self._before = rows
            self.film.frames.append(Frame(self.film.seconds, changed))


def _row(strip: Strip) -> FilmRow:
    runs = list[FilmRun]()
    for segment in strip:
        if segment.control or not segment.text:
            continue
        run = _run(segment.text, segment.style or Style())
        if runs and runs[-1][1:] == run[1:]:
            run = run._replace(text=runs.pop().text + run.text)
        runs.append(run)
    return tuple(runs)


def _run(text: str, style: Style) -> FilmRun:
    ink, ground = _hex(style.color, _INK), _hex(style.bgcolor, _GROUND)
    if style.reverse:
        ink, ground = ground, ink
    mark: Mark = "strike" if style.strike else "underline" if style.underline else ""
    return FilmRun(text, ink, ground, bool(style.bold), mark)


def _hex(colour: Color | None, otherwise: str) -> str:
    if colour is None or colour.is_default:
        return otherwise
    return "#{:02x}{:02x}{:02x}".format(*colour.get_truecolor())


class DemoApp(ChatApp):
    """Runs the chat by the script. Afterwards ``trouble`` says in one line why the demo failed; empty if it did not."""

    def __init__(
        self,
        engine: EngineConnection,
        model_options: ModelOptions,
        store: Store,
        theme: str | None = None,
        *,
        recorder: Recorder | None = None,
        tempo: float = 1.0,
    ) -> None:
        super().__init__(
            engine,
            model_options,
            DecodingOptions(),
            store=store,
            preferences=Preferences(theme=theme, given={"read_ahead": False}),
        )
        self.trouble = ""
        self._recorder = recorder
        self._pressed: list[Key] = []
        """By the demo itself, until they arrive."""
        self._prompts = prompts_for(model_options)
        self._director = Director(self, self._press, tempo, ends_by_key=recorder is None)

    def on_mount(self) -> None:
        if self._recorder is not None:
            self.set_interval(1 / FRAMES_PER_SECOND, self._record)
        self.call_after_refresh(lambda: self.run_worker(self._perform()))

    async def on_event(self, event: Event) -> None:
        """End with the first key that a user presses."""
        if isinstance(event, Key) and not event.is_forwarded:
            if event not in self._pressed:
                self.exit()
                return
            self._pressed.remove(event)
        await super().on_event(event)

    def _press(self, key: str) -> None:
        self._pressed.append(key_event(key))
        self.post_message(self._pressed[-1])

    def _record(self) -> None:
        if self._recorder is not None:
            self._recorder.take(self.screen)

    async def _perform(self) -> None:
        self.chat_screen.prompt.cursor_blink = False
        try:
            await perform(self._director, self._prompts)
        except LadeChatError as error:
            self.trouble = str(error)
        self.call_after_refresh(self._finish)

    def _finish(self) -> None:
        self._record()
        self.exit()
