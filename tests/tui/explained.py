"""What the method's explanation is driven with: an engine that tells walks, and the application that shows them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
from textual.pilot import Pilot

from lade_chat.protocol.codec import decode_event
from lade_chat.protocol.events import Event
from lade_chat.protocol.tutorial import (
    Chapter,
    ComparedSteps,
    Comparison,
    Explained,
    ExplainFinished,
    Mask,
    Verification,
)
from lade_chat.protocol.values import ModelInfo, ModelOptions
from lade_chat.tui.explain.explain_app import ExplainApp
from lade_chat.tui.explain.explain_screen import ExplainScreen
from tests.tui.driving import FramePilot, screen_text, wait_until
from tests.tui.scripted import MODEL, ScriptedEngine

MASK = Mask(7, (("input", 1), ("candidates", 2), ("window", 1)), ("x...", "xx..", "xxx.", "x..x"))


def walks() -> list[Event]:
    """What an engine told of a small model's steps, to the end."""
    lines = Path(__file__).with_name("walks.jsonl").read_bytes().splitlines()
    return [decode_event(line) for line in lines]


def walk_of(kind: type[Chapter]) -> Chapter:
    return next(event.chapter for event in walks() if isinstance(event, Explained) and isinstance(event.chapter, kind))


def raced_walks() -> list[Event]:
    """The same steps, told as those of a race whose second step wrote the most."""
    chapters = {type(event.chapter): event.chapter for event in walks() if isinstance(event, Explained)}
    verification, comparison = chapters[Verification], chapters[Comparison]
    assert isinstance(verification, Verification)
    assert isinstance(comparison, Comparison)
    tokens = comparison.lookahead
    steps = (tokens[:1], tokens[1:5], *((token,) for token in tokens[5:]))
    return [
        Explained(ComparedSteps(steps, "lookahead auto", "plain decoding", comparison.plain_steps, best=2)),
        Explained(msgspec.structs.replace(verification, number=2)),
        Explained(comparison),
        ExplainFinished(),
    ]


@asynccontextmanager
async def explaining(
    engine: ScriptedEngine,
    *,
    events: list[Event] | None = None,
    size: tuple[int, int] = (80, 24),
    model: ModelInfo | None = MODEL,
    theme: str | None = None,
) -> AsyncIterator[tuple[ExplainApp, Pilot[None]]]:
    """The application with ``model`` loaded unless None, and all of ``events`` told (those of ``walks`` if None)."""
    app = ExplainApp(engine, ModelOptions(), "Which is it?", theme)
    app.animation_level = "none"
    async with app.run_test(size=size):
        pilot = FramePilot(app)
        await wait_until(pilot, lambda: engine.sent)
        if model is not None:
            engine.load(model)
            await wait_until(pilot, lambda: isinstance(app.screen, ExplainScreen) or not app.is_running)
        engine.tell(*(walks() if events is None else events))
        if app.is_running:
            await pilot.pause()
        yield app, pilot


async def sees(pilot: Pilot[None], *texts: str) -> None:
    """Wait until all of ``texts`` stand on the screen, whatever lines they are broken into."""
    await wait_until(pilot, lambda: all(text in one_line(pilot) for text in texts))


def one_line(pilot: Pilot[None]) -> str:
    """What stands on the screen, in one line."""
    return " ".join(screen_text(pilot.app).split())


async def pages(pilot: Pilot[None], most: int = 60) -> list[str]:
    """All pages as they read, from the present one to the last, by the space bar alone; the application ends there."""
    found = list[str]()
    for _ in range(most):
        await pilot.pause()
        found.append(screen_text(pilot.app))
        await pilot.press("space")
        if not pilot.app.is_running or not isinstance(pilot.app.screen, ExplainScreen):
            return found
    raise AssertionError("this never ended")


def said(pages: list[str]) -> Iterator[str]:
    """Each page as one line."""
    return (" ".join(page.split()) for page in pages)
