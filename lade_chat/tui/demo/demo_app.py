"""The demo as an application: the chat, which plays its script by itself and may be recorded as a film."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from time import monotonic
from typing import TypeAlias

from rich.segment import Segment
from textual.events import Event, Key
from textual.screen import Screen
from textual.strip import Strip

from lade_chat.engine.process.client import EngineConnection
from lade_chat.errors import LadeChatError
from lade_chat.export.card import Film, FilmRow
from lade_chat.protocol.values import DecodingOptions, ModelOptions
from lade_chat.settings.effective import Preferences
from lade_chat.store.all_conversations import Store
from lade_chat.tui.app.application import ChatApp
from lade_chat.tui.demo.script import Director, Prompts, perform, prompts_for
from lade_chat.tui.terminal.textual_private import key_event, strips_of

FRAMES_PER_SECOND = 10
Script: TypeAlias = Callable[[Director, Prompts], Awaitable[None]]


class Recorder:
    """Records frames as the rows that have changed since the previous frame."""

    def __init__(self, columns: int, rows: int, report: Callable[[float], None] = lambda _: None) -> None:
        """``report`` gets the seconds recorded so far, at every frame."""
        self.film = Film(columns, rows)
        self._report = report
        self._began = monotonic()

    def take(self, screen: Screen[object]) -> None:
        """Take a frame, unless nothing has changed."""
        now = monotonic()
        if not self.film.frames:
            self._began = now
        self.film.seconds = now - self._began
        self._report(self.film.seconds)
        self.film.show([_row(strip) for strip in strips_of(screen)], self.film.seconds)


def _row(strip: Strip) -> FilmRow:
    """Return a row without the actions of a pointer: only looks are recorded."""
    runs = [(run.text, run.style and run.style.clear_meta_and_links()) for run in strip if not run.control]
    return tuple(Segment.simplify(Segment(*run) for run in runs))


class DemoApp(ChatApp):
    """Runs the chat by a script. Afterwards ``trouble`` says in one line why the demo failed; empty if it did not."""

    def __init__(
        self,
        engine: EngineConnection,
        model_options: ModelOptions,
        store: Store,
        theme: str | None = None,
        *,
        recorder: Recorder | None = None,
        script: Script = perform,
        tempo: float = 1.0,
    ) -> None:
        self._recorder, self._script = recorder, script
        preferences = Preferences(theme=theme, given={"read_ahead": False})
        super().__init__(engine, model_options, DecodingOptions(), store=store, preferences=preferences)
        self.trouble = ""
        self._pressed: list[Key] = []
        """By the demo itself, until they arrive."""
        self._prompts = prompts_for(model_options)
        self._director = Director(self, self._press, tempo, ends_by_key=recorder is None)

    @property
    def has_few_colours(self) -> bool:
        """False in a recording, whatever the terminal has."""
        return self._recorder is None and super().has_few_colours

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
            await self._script(self._director, self._prompts)
        except LadeChatError as error:
            self.trouble = str(error)
        self.call_after_refresh(self._finish)

    def _finish(self) -> None:
        self._record()
        self.exit()
