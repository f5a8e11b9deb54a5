"""The demo's application: the chat, played by its script; any key ends it."""

from __future__ import annotations

from textual.events import Event, Key

from lade_chat.errors import LadeChatError
from lade_chat.protocol.values import DecodingOptions, ModelOptions
from lade_chat.settings.preferences import Preferences
from lade_chat.store.store import Store
from lade_chat.tui.app.application import ChatApp
from lade_chat.tui.app.engine_link import Engine
from lade_chat.tui.demo.director import Director
from lade_chat.tui.demo.recorder import FRAMES_PER_SECOND, Recorder
from lade_chat.tui.demo.script import perform
from lade_chat.tui.terminal.textual_private import key_event


class DemoApp(ChatApp):
    """Runs the chat by the script. Afterwards ``trouble`` says in one line why the demo failed; empty if it did not."""

    def __init__(
        self,
        engine: Engine,
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
        self._director = Director(self, self._press, tempo, ends_by_key=recorder is None)

    def on_mount(self) -> None:
        if self._recorder is not None:
            self.set_interval(1 / FRAMES_PER_SECOND, self._record)
        self.call_after_refresh(lambda: self.run_worker(self._perform()))

    async def on_event(self, event: Event) -> None:
        """End with the first key that a user presses."""
        if isinstance(event, Key) and not event.is_forwarded:
            if event not in self._pressed:
                self._end(0)
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
            await perform(self._director)
        except LadeChatError as error:
            self.trouble = str(error)
        self.call_after_refresh(self._finish)

    def _finish(self) -> None:
        self._record()
        self._end(0)
