"""Pictures of the screen: the chat runs without a terminal, is acted in, and saves what it shows as SVG."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeAlias

from textual.pilot import Pilot

from assets.pictures.watched import Watched
from lade_chat.protocol.events import ComparisonFinished, Loaded, ReplyFinished
from lade_chat.protocol.values import DecodingOptions, ModelOptions
from lade_chat.store.store import Store
from lade_chat.tui.app.application import ChatApp
from lade_chat.tui.demo.script import Prompts, prompts_for

Act: TypeAlias = Callable[[Pilot[None], Watched, Prompts], Awaitable[None]]


async def chat(pilot: Pilot[None], engine: Watched, prompts: Prompts) -> None:
    """A few turns, finished."""
    for turn, prompt in enumerate(prompts.asked, start=1):
        await _type(pilot, prompt)
        await pilot.press("enter")
        await engine.until(pilot, ReplyFinished, turn)


async def race(pilot: Pilot[None], engine: Watched, prompts: Prompts) -> None:
    """A race, finished."""
    await _type(pilot, prompts.raced)
    await pilot.pause(0.5)
    await pilot.press("ctrl+r")
    await engine.until(pilot, ComparisonFinished)


KEYS = {" ": "space", "\n": "ctrl+j"}
"""Of characters that are no key's name."""
SCREENS: dict[str, tuple[tuple[int, int], Act]] = {"chat": ((100, 40), chat), "race": ((110, 14), race)}
"""Each with its size in cells and what is done in it."""


async def screen(name: str, folder: Path, model: ModelOptions, engine: Watched, theme: str) -> Path:
    """Run the chat, act in it, and save what the screen shows."""
    size, act = SCREENS[name]
    path = folder / f"{name}.svg"
    with TemporaryDirectory() as conversations:
        app = ChatApp(engine, model, DecodingOptions(), store=Store(Path(conversations)))
        async with app.run_test(size=size) as pilot:
            app.theme = f"lade-{theme}"
            app.chat_screen.prompt.cursor_blink = False
            await engine.until(pilot, Loaded)
            await act(pilot, engine, prompts_for(model))
            path.write_text(app.export_screenshot(title="lade-chat"), encoding="utf-8")
    return path


async def _type(pilot: Pilot[None], text: str) -> None:
    await pilot.press(*(KEYS.get(character, character) for character in text))
