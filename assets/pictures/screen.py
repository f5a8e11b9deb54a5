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

PROMPTS = (
    "Write a Python function that returns the sum of a list.",
    "Count from 3 to 30.",
    "What is 17 plus 25?",
)
RACE_PROMPT = "Count from 3 to 30."
Act: TypeAlias = Callable[[Pilot[None], Watched], Awaitable[None]]


async def chat(pilot: Pilot[None], engine: Watched) -> None:
    """A few turns, finished."""
    for turn, prompt in enumerate(PROMPTS, start=1):
        await _type(pilot, prompt)
        await pilot.press("enter")
        await engine.until(pilot, ReplyFinished, turn)


async def race(pilot: Pilot[None], engine: Watched) -> None:
    """A race, finished."""
    await _type(pilot, RACE_PROMPT)
    await pilot.pause(0.5)
    await pilot.press("ctrl+r")
    await engine.until(pilot, ComparisonFinished)


SCREENS: dict[str, tuple[tuple[int, int], Act]] = {"chat": ((100, 30), chat), "race": ((110, 14), race)}
"""Each with its size in cells and what is done in it."""


async def screen(name: str, folder: Path, model: ModelOptions, engine: Watched, theme: str) -> Path:
    """Run the chat, act in it, and save what the screen shows."""
    size, act = SCREENS[name]
    with TemporaryDirectory() as conversations:
        app = ChatApp(engine, model, DecodingOptions(), store=Store(Path(conversations)))
        return await _drawn(app, size, act, engine, theme, folder / f"{name}.svg")


async def _drawn(app: ChatApp, size: tuple[int, int], act: Act, engine: Watched, theme: str, path: Path) -> Path:
    async with app.run_test(size=size) as pilot:
        app.theme = f"lade-{theme}"
        app.chat_screen.prompt.cursor_blink = False
        await engine.until(pilot, Loaded)
        await act(pilot, engine)
        path.write_text(app.export_screenshot(title="lade-chat"), encoding="utf-8")
    return path


async def _type(pilot: Pilot[None], text: str) -> None:
    await pilot.press(*("space" if character == " " else character for character in text))
