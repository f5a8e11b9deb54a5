"""Pictures of the screen at fixed sizes, compared with those in ``tests/snapshots``.

``UPDATE_SNAPSHOTS=1 pytest tests/tui/test_snapshots.py`` draws them anew; look at them before keeping them.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from textual.pilot import Pilot

from lade_chat.protocol.events import ComparisonFinished, LoadFailed, Loading, Tokens
from lade_chat.tui.app.application import ChatApp
from lade_chat.tui.race.screen import RaceScreen
from tests.tui.driving import opened, say, sees, status, wait_until
from tests.tui.scripted import FUNCTION, INSPECTED_STEP, MODEL, ScriptedEngine, finished, pieces, statistics, streamed

SNAPSHOTS = Path(__file__).parent.parent / "snapshots"
PLAIN = tuple((token,) for step in FUNCTION for token in step)
QUESTION = "Write a Python function that returns the sum of a list."

Scene = Callable[[ChatApp, Pilot[None], ScriptedEngine], Awaitable[None]]


async def empty(app: ChatApp, pilot: Pilot[None], engine: ScriptedEngine) -> None:
    await sees(pilot, "ready")


async def loading(app: ChatApp, pilot: Pilot[None], engine: ScriptedEngine) -> None:
    engine.tell(Loading("configuration"), Loading("tokenizer"), Loading("weights", 62, 100))
    await sees(pilot, "62%")


async def streaming(app: ChatApp, pilot: Pilot[None], engine: ScriptedEngine) -> None:
    await say(app, pilot, QUESTION)
    engine.tell(*streamed(FUNCTION[:12]))
    await sees(pilot, "+= number")


async def done(app: ChatApp, pilot: Pilot[None], engine: ScriptedEngine) -> None:
    await say(app, pilot, QUESTION)
    engine.tell(*streamed(FUNCTION[:8]), Tokens(pieces(FUNCTION[8:], 8), statistics(FUNCTION, lookahead=False)))
    engine.tell(finished(FUNCTION, lookahead=False))
    await wait_until(pilot, lambda: "ready" in status(app))
    await sees(pilot, "one by one.", "switched OFF")


async def debug(app: ChatApp, pilot: Pilot[None], engine: ScriptedEngine) -> None:
    await pilot.press("f4")
    await say(app, pilot, QUESTION)
    engine.tell(*streamed(FUNCTION, debug=True), finished(FUNCTION, debug=True))
    await sees(pilot, "SUMMARY", "3.00x")


async def inspected(app: ChatApp, pilot: Pilot[None], engine: ScriptedEngine) -> None:
    """Paused at its twelfth step; where a page is shown at a time, that of the window."""
    await pilot.press("ctrl+d")
    await say(app, pilot, QUESTION)
    engine.tell(*streamed(FUNCTION[:8], debug=True))
    engine.tell(Tokens(pieces(FUNCTION[8:12], 8), statistics(FUNCTION[:12], debug=True), inspection=INSPECTED_STEP))
    await sees(pilot, "+= number")
    await pilot.press("f9")
    if app.size.width < 120:
        await pilot.press("f4")
    await sees(pilot, "one four seven")


async def race_menu(app: ChatApp, pilot: Pilot[None], engine: ScriptedEngine) -> None:
    await race(app, pilot, engine)
    await pilot.press("m")
    await sees(pilot, "prompt lookup 10")


async def error(app: ChatApp, pilot: Pilot[None], engine: ScriptedEngine) -> None:
    await pilot.press("H", "i")
    engine.tell(LoadFailed("/models/llama: there is no config.json in this folder; give the checkpoint's folder"))
    await sees(pilot, "no config.json")


async def race(app: ChatApp, pilot: Pilot[None], engine: ScriptedEngine) -> None:
    app.chat_screen.prompt.put(QUESTION)
    await pilot.press("ctrl+r")
    await wait_until(pilot, lambda: isinstance(app.screen, RaceScreen))
    engine.tell(*streamed(FUNCTION)[1:], finished(FUNCTION))
    engine.tell(*streamed(PLAIN, side="right", lookahead=False)[1:])
    engine.tell(finished(PLAIN, side="right", lookahead=False), ComparisonFinished(2.94, identical=True))
    await sees(pilot, "identical", "51 steps")


def normalised(svg: str) -> str:
    """The picture without the ids that Rich makes up for each drawing, and without the fonts that it names."""
    without_fonts = re.sub(r"@font-face \{.*?\n\s*\}\n", "", svg, flags=re.DOTALL)
    return re.sub(r"terminal-\d+", "terminal", without_fonts)


PICTURES: list[tuple[Scene, tuple[int, int], str]] = [
    (empty, (80, 24), "dark"),
    (empty, (160, 50), "light"),
    (empty, (60, 18), "light"),
    (loading, (80, 24), "light"),
    (streaming, (80, 24), "dark"),
    (streaming, (160, 50), "dark"),
    (done, (80, 24), "light"),
    (done, (60, 18), "dark"),
    (debug, (80, 24), "dark"),
    (debug, (160, 50), "light"),
    (inspected, (80, 24), "light"),
    (inspected, (160, 50), "dark"),
    (race_menu, (80, 24), "dark"),
    (error, (80, 24), "dark"),
    (race, (80, 24), "light"),
    (race, (160, 50), "dark"),
]


@pytest.mark.parametrize(("scene", "size", "look"), PICTURES)
async def test_the_screen_looks_as_it_did(
    engine: ScriptedEngine, scene: Scene, size: tuple[int, int], look: str
) -> None:
    name = f"{scene.__name__}-{size[0]}x{size[1]}-{look}.svg"
    async with opened(engine, size=size, model=None if scene in (loading, error) else MODEL) as (app, pilot):
        app.theme = f"textual-{look}"
        await scene(app, pilot, engine)
        await settled(app, pilot)
        compare(SNAPSHOTS / name, normalised(app.export_screenshot(title="lade-chat")))


async def settled(app: ChatApp, pilot: Pilot[None]) -> None:
    """Wait until nothing changes any more."""
    before, now = "", normalised(app.export_screenshot())
    while before != now:
        await pilot.pause(0.05)
        before, now = now, normalised(app.export_screenshot())


def compare(path: Path, svg: str) -> None:
    if os.environ.get("UPDATE_SNAPSHOTS"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(svg, encoding="utf-8")
        return
    assert path.is_file(), f"{path.name} is missing: draw it with UPDATE_SNAPSHOTS=1"
    expected = path.read_text(encoding="utf-8")
    if svg != expected:
        difference = difflib.unified_diff(expected.splitlines(), svg.splitlines(), path.name, "now", lineterm="", n=0)
        pytest.fail("\n".join(line[:300] for line in difference))
