"""Opens the chat on a scripted engine, waits for what should happen, and reads what is on the screen."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from weakref import WeakSet

import msgspec
from textual._context import visible_screen_stack
from textual.app import App
from textual.events import Key, Paste
from textual.keys import _character_to_key
from textual.pilot import Pilot

from lade_chat.protocol.values import DecodingOptions, ModelInfo, ModelOptions
from lade_chat.store.all_conversations import Store
from lade_chat.tui.app.application import ChatApp
from lade_chat.tui.chat.chat_state import Phase
from lade_chat.tui.conversations.conversation_session import NEW, Start
from lade_chat.tui.reply.tinted_text import TextChunk
from tests.tui.scripted import MODEL, ScriptedEngine

PATIENCE = 20.0
FRAME_SECONDS = 0.02
"""By the clock of the tests: a little more than Textual waits before it draws."""
MAX_WAIT_SECONDS = 0.16
MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None
"""Conversations are kept in memory: the tests are not about the disk's speed."""
_read: WeakSet[App[None]] = WeakSet()
"""Applications of which the test has read a screen."""


class FramePilot(Pilot[None]):
    """Waits by frames of the tests' clock, which stands still while the application has anything to do."""

    async def press(self, *keys: str) -> None:
        for key in keys:
            burst(self.app, key)
            await self.pause()

    async def pause(self, delay: float | None = None) -> None:
        await asyncio.sleep(FRAME_SECONDS if delay is None else delay)


async def wait_until(pilot: Pilot[None], predicate: Callable[[], object]) -> None:
    """Let the application run until ``predicate`` holds; looking costs time, waiting hardly any."""
    deadline, wait = time.monotonic() + PATIENCE, FRAME_SECONDS
    while not predicate():
        assert time.monotonic() < deadline, f"this never came true; on the screen:\n{screen_text(pilot.app)}"
        await pilot.pause(wait)
        wait = min(2 * wait, MAX_WAIT_SECONDS)


async def sees(pilot: Pilot[None], *texts: str) -> None:
    """Wait until all of ``texts`` stand on the screen."""
    await pilot.pause()
    await wait_until(pilot, lambda: all(map(screen_text(pilot.app).__contains__, texts)))


async def sees_no(pilot: Pilot[None], *texts: str) -> None:
    """Wait until none of ``texts`` stands on the screen."""
    await pilot.pause()
    await wait_until(pilot, lambda: not any(map(screen_text(pilot.app).__contains__, texts)))


@asynccontextmanager
async def opened(
    engine: ScriptedEngine,
    *,
    size: tuple[int, int] = (80, 24),
    model: ModelInfo | None = MODEL,
    system: str | None = None,
    debug: bool = False,
    options: DecodingOptions | None = None,
    store: Store | None = None,
    start: Start = NEW,
) -> AsyncIterator[tuple[ChatApp, Pilot[None]]]:
    """The application with ``model`` loaded, or still loading if that is None; a ``store`` of its own unless given."""
    with TemporaryDirectory(dir=MEMORY) as folder:
        app = ChatApp(
            engine,
            ModelOptions(),
            msgspec.structs.replace(options or DecodingOptions(), debug=debug),
            system=system,
            store=store or Store(Path(folder)),
            start=start,
        )
        app.animation_level = "none"
        async with driven(app, size, model, engine) as pilot:
            yield app, pilot


@asynccontextmanager
async def driven(
    app: ChatApp, size: tuple[int, int], model: ModelInfo | None, engine: ScriptedEngine
) -> AsyncIterator[Pilot[None]]:
    async with app.run_test(size=size, notifications=True):
        pilot = FramePilot(app)
        app.chat_screen.prompt.cursor_blink = False
        await wait_until(pilot, lambda: engine.sent and not app.chat_screen.store_worker.busy)
        if model is not None:
            engine.load(model)
            await wait_until(pilot, lambda: app.chat_screen.state.phase is Phase.READY)
        yield pilot
        if app.is_running and app not in _read:
            screen_text(app)  # or it might fail to be drawn, and nobody saw it


async def resize(pilot: Pilot[None], width: int, height: int) -> None:
    """Give the terminal this size, and wait until the screen has it."""
    await pilot.resize_terminal(width, height)
    await wait_until(pilot, lambda: pilot.app.screen._compositor.size == (width, height))


async def say(app: ChatApp, pilot: Pilot[None], text: str) -> None:
    """Put ``text`` into the prompt and press Enter; a command has been carried out then, a question asked.

    A busy machine makes an application look idle that has not yet taken the key.
    """
    app.chat_screen.prompt.put(text)
    await pilot.press("enter")
    await wait_until(pilot, lambda: _is_done(app) or not app.is_running)


def _is_done(app: ChatApp) -> bool:
    return app.key_order.is_idle and not app.chat_screen.store_worker.busy


def burst(app: App[None], *keys: str | Paste) -> None:
    """Press keys as one write of a terminal does: all of them are there before the first is handled."""
    for key in keys:
        if isinstance(key, Paste):
            app.post_message(key)
        else:
            character = key if len(key) == 1 else " " if key == "space" else None
            app.post_message(Key(_character_to_key(key) if len(key) == 1 else key, character))


def screen_text(app: App[None]) -> str:
    """Return the screen's text, line by line."""
    _read.add(app)
    visible_screen_stack.set(app._background_screens)
    return "\n".join(strip.text for strip in app.screen._compositor.render_strips())


def reply_text(app: ChatApp) -> str:
    """All the tinted text of the present screen, scrolled out of sight or not."""
    return "\n".join(str(chunk.render()) for chunk in app.screen.query(TextChunk) if chunk.parent and chunk.display)


def status(app: ChatApp) -> str:
    return app.chat_screen.status.render().plain
