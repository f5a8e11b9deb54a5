"""Director of the demo: presses keys on the chat's screen, waits for their effects, and captions what is shown."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import monotonic

import msgspec
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Static

from lade_chat.errors import LadeChatError
from lade_chat.protocol.values import Sizes
from lade_chat.tui.app.application import ChatApp
from lade_chat.tui.chat.chat_state import ChatState, Phase
from lade_chat.tui.chat.decisions.controls import set_options
from lade_chat.tui.explain.screen import ExplainScreen
from lade_chat.tui.race.screen import RaceScreen
from lade_chat.tui.transcript.notice import Notice


class Caption(Static):
    """A screen's caption, of constant height."""


def caption(screen: Screen[object], text: str) -> None:
    """Show a caption on a screen, in place of the one before; nothing once the application ends."""
    shown = screen.query(Caption)
    if shown:
        shown.first().update(Content(text))
    elif screen.is_attached:
        screen.mount(Caption(Content(text), markup=False), before=0)


TYPING_SECONDS, MAX_TYPING_SECONDS = 0.045, 3.0
"""Of a character, and of a prompt however long it is."""
PATIENCE_SECONDS = 600.0
"""Maximum time that a model may take for anything."""
_LOOK_SECONDS = 0.05


class Director:
    """Acts like a user; ``tempo`` stretches every wait, and 0 leaves them out."""

    def __init__(
        self, app: ChatApp, press: Callable[[str], None], tempo: float = 1.0, *, ends_by_key: bool = True
    ) -> None:
        """With ``ends_by_key`` the first caption tells that any key ends the demo."""
        self._app, self._press, self._tempo = app, press, tempo
        self._text = ""
        self._hint = " Any key ends this demo." if ends_by_key else ""

    @property
    def state(self) -> ChatState:
        return self._app.chat_screen.state

    @property
    def is_ready(self) -> bool:
        """True while the model has nothing to do."""
        return self.state.phase is Phase.READY

    @property
    def has_verified(self) -> bool:
        """True if tokens of the last reply are tinted."""
        last = self.state.conversation.last_statistics
        return last is not None and last.verified_tokens > 0

    def say(self, text: str) -> None:
        """Show a caption, also on screens that come up later."""
        self._text, self._hint = f"{text}{self._hint}", ""
        caption(self._app.screen, self._text)

    async def press(self, *keys: str) -> None:
        """Press keys, one after the other."""
        for key in keys:
            self._press(key)
            await self._sleep(_LOOK_SECONDS)
            while not self._app.key_order.is_idle:
                await asyncio.sleep(_LOOK_SECONDS / 10)
        if self._text:
            caption(self._app.screen, self._text)

    async def ask(self, question: str) -> None:
        """Type a question and send it."""
        conversation = self._app.chat_screen.conversation
        said = len(conversation.messages)
        await self.type(question)
        await self.press("enter")
        await self.until(lambda: not self.is_ready or len(conversation.messages) > said)

    def fix_sizes(self, sizes: Sizes | None) -> None:
        """Have the next replies decoded with these sizes; None for automatic ones."""
        options = msgspec.structs.replace(self.state.options, sizes=sizes)
        self._app.chat_screen.decide(set_options, options)

    async def hurry(self) -> None:
        """Run a slow reply at full speed, and wait for its end."""
        while self.state.is_slow and not self.is_ready:
            await self.press("]")
            await self.wait(1.5, lambda: self.is_ready)
        await self.until_ready()

    async def type(self, text: str) -> None:
        """Type a text of any length; nothing is sent."""
        pause = min(TYPING_SECONDS, MAX_TYPING_SECONDS / len(text))
        for character in text:
            self._press("ctrl+j" if character == "\n" else character)
            await self._sleep(pause)
        await self._sleep(0.5)

    async def wait(self, seconds: float, unless: Callable[[], bool] = lambda: False) -> None:
        """Wait so many seconds for the audience, but no longer once ``unless()`` is true."""
        end = monotonic() + self._tempo * seconds
        while monotonic() < end and not unless():
            await asyncio.sleep(_LOOK_SECONDS)

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait until ``holds()`` is true. Raises LadeChatError after an error or a timeout."""
        end = monotonic() + PATIENCE_SECONDS
        while not holds():
            if self.state.phase in (Phase.UNLOADED, Phase.LOST):
                raise LadeChatError(self._trouble())
            if monotonic() > end:
                raise LadeChatError("The model takes too long for a demo.")
            await asyncio.sleep(_LOOK_SECONDS)

    async def until_raced(self) -> None:
        """Wait for the end of a race that a key has begun."""
        await self.until(lambda: isinstance(self._app.screen, RaceScreen) and self._app.screen.has_ended)

    async def until_explained(self) -> None:
        """Wait for the first page of the tutorial, and until the model is ready."""
        await self.until(lambda: isinstance(self._app.screen, ExplainScreen) and self.is_ready)

    async def until_ready(self) -> None:
        await self.until(lambda: self.is_ready)

    def _trouble(self) -> str:
        errors = [notice.what for notice in self._app.chat_screen.query(Notice) if notice.is_error]
        return errors[-1] if errors else "The model could not be loaded."

    async def _sleep(self, seconds: float) -> None:
        await asyncio.sleep(self._tempo * seconds)
