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
from textual.widgets import Input

from lade_chat.protocol.events import ComparisonFinished, LoadFailed, Tokens
from lade_chat.tui.app.application import ChatApp
from lade_chat.tui.race.race_screen import RaceScreen
from lade_chat.tui.screens.manual import ManualPage
from tests.pairs import pairs
from tests.tui.driving import opened, say, sees, status, wait_until
from tests.tui.explained import explaining
from tests.tui.explained import sees as explained
from tests.tui.scripted import FUNCTION, INSPECTED_STEP, MODEL, ScriptedEngine, finished, pieces, statistics, streamed

SNAPSHOTS = Path(__file__).parent.parent / "snapshots"
PLAIN = tuple((token,) for step in FUNCTION for token in step)
QUESTION = "Write a Python function that returns the sum of a list."

MANUAL = (
    ManualPage("keys", "# Keys\n\nPress one."),
    ManualPage(
        "figures",
        "# Colours and figures\n\nA *table* of `words`:\n\n| figure | meaning |\n| --- | --- |\n"
        "| tok/s | tokens a second |\n| **verified** | guessed and found right |\n\n- one\n- two\n",
    ),
)
"""Pages of its own, so that the picture is of the manual's looks and not of its words."""

Scene = Callable[[ChatApp, Pilot[None], ScriptedEngine], Awaitable[None]]


async def empty(app: ChatApp, pilot: Pilot[None], engine: ScriptedEngine) -> None:
    await sees(pilot, "ready")


async def streaming(app: ChatApp, pilot: Pilot[None], engine: ScriptedEngine) -> None:
    await say(app, pilot, QUESTION)
    engine.tell(*streamed(FUNCTION[:12]))
    await sees(pilot, "+= number")


async def done(app: ChatApp, pilot: Pilot[None], engine: ScriptedEngine) -> None:
    await say(app, pilot, QUESTION)
    off = statistics(FUNCTION, lookahead=False, switches=(25,))
    engine.tell(*streamed(FUNCTION[:8]), Tokens(pieces(FUNCTION[8:], 8), off))
    engine.tell(finished(FUNCTION, lookahead=False, switches=(25,)))
    await wait_until(pilot, lambda: "ready" in status(app))
    await sees(pilot, "one by one.", "switched OFF")


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
    await sees(pilot, "seven    eight    nine")


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


async def manual(app: ChatApp, pilot: Pilot[None], engine: ScriptedEngine) -> None:
    await pilot.press("f1", "down")
    app.screen.query_one(Input).cursor_blink = False
    await sees(pilot, "guessed and found right")


def normalised(svg: str) -> str:
    """The picture without the ids that Rich makes up for each drawing, and without the fonts that it names."""
    without_fonts = re.sub(r"@font-face \{.*?\n\s*\}\n", "", svg, flags=re.DOTALL)
    return re.sub(r"terminal-\d+", "terminal", without_fonts)


PICTURES: list[tuple[Scene, tuple[int, int], str]] = [
    (empty, (80, 24), "light"),
    (streaming, (80, 24), "dark"),
    (done, (60, 18), "dark"),
    (inspected, (160, 50), "dark"),
    (race, (80, 24), "light"),
    (manual, (80, 24), "light"),
    (error, (80, 24), "dark"),
]


@pytest.mark.parametrize(("scene", "size", "look"), PICTURES)
async def test_the_screen_looks_as_it_did(
    engine: ScriptedEngine, monkeypatch: pytest.MonkeyPatch, scene: Scene, size: tuple[int, int], look: str
) -> None:
    monkeypatch.setattr("lade_chat.tui.screens.manual.manual_pages", lambda *_: MANUAL)
    async with opened(engine, size=size, model=None if scene is error else MODEL) as (app, pilot):
        app.theme = f"textual-{look}"
        await scene(app, pilot, engine)
        await compare(scene.__name__, pilot, look)


async def test_the_explanation_looks_as_it_did(engine: ScriptedEngine) -> None:
    async with explaining(engine, size=(80, 24), theme="textual-dark") as (_app, pilot):
        await pilot.press(*["space"] * 24)
        await explained(pilot, "So this one step has written four tokens")
        await compare("explain_verifying", pilot, "dark")


@pytest.mark.parametrize(("scene", "size"), pairs((empty, streaming, done, inspected, error), ((60, 18), (160, 50))))
async def test_a_screen_of_any_size_keeps_its_parts_in_sight(
    engine: ScriptedEngine, scene: Scene, size: tuple[int, int]
) -> None:
    async with opened(engine, size=size, model=None if scene is error else MODEL) as (app, pilot):
        await scene(app, pilot, engine)
        screen = app.chat_screen
        assert screen.max_scroll_x == screen.max_scroll_y == 0
        for part in (screen.status, screen.prompt, screen.query_one("HeaderBar"), screen.query_one("KeyFooter")):
            assert part.region.area
            assert part.region in screen.region
        assert screen.prompt.has_focus


async def compare(scene: str, pilot: Pilot[None], look: str) -> None:
    """Compare what is on the screen, once nothing changes any more, with the picture that is kept of it."""
    before, svg = "", normalised(pilot.app.export_screenshot(title="lade-chat"))
    while before != svg:
        await pilot.pause(0.05)
        before, svg = svg, normalised(pilot.app.export_screenshot(title="lade-chat"))
    width, height = pilot.app.size
    path = SNAPSHOTS / f"{scene}-{width}x{height}-{look}.svg"
    if os.environ.get("UPDATE_SNAPSHOTS"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(svg, encoding="utf-8")
        return
    assert path.is_file(), f"{path.name} is missing: draw it with UPDATE_SNAPSHOTS=1"
    expected = path.read_text(encoding="utf-8")
    if svg != expected:
        difference = difflib.unified_diff(expected.splitlines(), svg.splitlines(), path.name, "now", lineterm="", n=0)
        pytest.fail("\n".join(line[:300] for line in difference))
