"""The demo: a director that acts on the chat's screen like a user, and its script of a minute and a half."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from time import monotonic
from typing import NamedTuple

import msgspec
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Static

from lade_chat.errors import LadeChatError
from lade_chat.presentation.texts import texts_beside
from lade_chat.protocol.values import ModelOptions, Sizes
from lade_chat.tui.app.application import ChatApp
from lade_chat.tui.chat.chat_state import ChatState, Phase
from lade_chat.tui.chat.decisions.controls import set_options
from lade_chat.tui.explain.explain_screen import ExplainScreen
from lade_chat.tui.race.race_screen import RaceScreen
from lade_chat.tui.transcript.notices import Notice

TYPING_SECONDS, MAX_TYPING_SECONDS = 0.045, 3.0
"""Of a character, and of a prompt however long it is."""
PATIENCE_SECONDS = 600.0
"""Maximum time that a model may take for anything."""
_LOOK_SECONDS = 0.05


class Caption(Static):
    """A screen's caption, of constant height."""


def caption(screen: Screen[object], text: str) -> None:
    """Show a caption on a screen, in place of the one before; nothing once the application ends."""
    shown = screen.query(Caption)
    if shown:
        shown.first().update(Content(text))
    elif screen.is_attached:
        screen.mount(Caption(Content(text), markup=False), before=0)


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


class Prompts(NamedTuple):
    """The prompts of all scenes."""

    asked: tuple[str, str, str]
    """Of the chat."""
    switched: str
    raced: str
    slow: str


def _prompts(kind: str) -> Prompts:
    texts = texts_beside(__file__, "prompts.txt").items()
    first, second, third, *others = (text.replace("\\n", "\n") for name, text in texts if name.startswith(kind))
    return Prompts((first, second, third), *others)


BUNDLED, INSTRUCT = _prompts("bundled"), _prompts("instruct")
"""For the bundled model, and for any other."""


def prompts_for(model: ModelOptions) -> Prompts:
    """Return the prompts that suit a model."""
    return BUNDLED if model.path is None else INSTRUCT


SIZES = Sizes(window_size=5, ngram_size=5, guess_set_size=5)
"""Of what is shown step by step: automatic sizes may find that no guess pays on a busy machine."""


async def perform(do: Director, prompts: Prompts) -> None:
    """Play all scenes; captions fit two lines of 58 cells. Raises LadeChatError: the model cannot show them."""
    do.say("lade-chat: a chat with a language model that guesses several tokens ahead.")
    await do.wait(3)
    await do.until_ready()
    model = do.state.model
    if model is None or not model.lookahead_supported:
        raise LadeChatError("Lookahead cannot serve this model, so there is nothing to show.")
    for scene in (_chat, _switch, _race, _slow_motion):
        await scene(do, prompts)
    do.say("That is all. lade-chat opens the chat, lade-chat explain shows how it works.")
    await do.wait(4)


async def _chat(do: Director, prompts: Prompts) -> None:
    first, second, third = prompts.asked
    await do.ask(first)
    await do.until_ready()
    await do.wait(3)
    await do.ask(second)
    await do.until_ready()
    if do.has_verified:
        do.say("Tinted tokens were guessed, and then verified: they are what the model writes anyway.")
    else:
        do.say("No token is tinted: on this machine, just now, guesses would take longer than they save.")
    await do.wait(4)
    await do.ask(third)
    await do.until_ready()
    if do.has_verified:
        do.say("The more a text is like what was said before, the more of it is guessed. Tinted: verified.")
    else:
        do.say("No token is tinted here: it guesses only where that saves time. Next it will, to show how.")
    await do.wait(5)


async def _switch(do: Director, prompts: Prompts) -> None:
    do.say("Ctrl+L switches lookahead, also in mid-reply. Slowed down to 8 steps a second:")
    do.fix_sizes(SIZES)
    await do.press("f9")
    await do.ask(prompts.switched)
    await do.press("]", "]", "]", "]")
    await do.wait(2.5, lambda: do.is_ready)
    await do.press("ctrl+l")
    do.say("Off: no guesses, one token a step. The text goes on as if nothing had happened.")
    await do.wait(4, lambda: do.is_ready)
    await do.press("ctrl+l")
    do.say("And on again. The text is the same either way.")
    await do.wait(6, lambda: do.is_ready)
    await do.hurry()
    await do.wait(2)


async def _race(do: Director, prompts: Prompts) -> None:
    do.say("Ctrl+R races it against plain decoding, each side on a clock of its own.")
    do.fix_sizes(None)
    await do.type(prompts.raced)
    await do.press("ctrl+r")
    await do.until_raced()
    await do.wait(8)
    do.say("Ctrl+E explains the very steps just raced. Each line is what one step wrote.")
    await do.press("ctrl+e")
    await do.until_explained()
    await do.wait(7)
    await do.press("escape", "escape", "ctrl+c")


async def _slow_motion(do: Director, prompts: Prompts) -> None:
    do.say("Slow motion. F9 before Enter: the reply starts paused. F10 takes a step.")
    do.fix_sizes(SIZES)
    await do.press("f9")
    await do.ask(prompts.slow)
    for _ in range(4):
        await do.wait(1.5)
        await do.press("f10")
    await do.wait(1.5)
    do.say("] lets it run, a step a second. Guesses hang where the text ends; one run of the model checks all.")
    await do.press("]")
    await do.wait(12, lambda: do.is_ready)
    do.say("Right guesses take their source's colour and are written. The others fade.")
    await do.press("]")
    await do.wait(8, lambda: do.is_ready)
    do.say("] again, up to full speed.")
    await do.hurry()
    await do.wait(4)
