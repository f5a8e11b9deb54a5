"""Pictures of the method's explanation at fixed sizes; ``UPDATE_SNAPSHOTS=1`` draws them anew, as the chat's."""

from __future__ import annotations

import pytest

from tests.tui.explained import explaining, sees
from tests.tui.scripted import ScriptedEngine
from tests.tui.test_snapshots import SNAPSHOTS, compare, normalised

PAGES = {
    "question": (1, "several guesses checked"),
    "settling": (6, "two at once"),
    "collecting": (16, "read downwards, is an n-gram"),
    "verifying": (24, "One step has written four tokens"),
    "comparison": (26, "Both wrote the same"),
}
"""How many times Space is pressed, and what then stands there."""


@pytest.mark.parametrize(
    ("page", "size", "look"),
    [
        ("question", (80, 24), "light"),
        ("settling", (80, 24), "dark"),
        ("settling", (160, 50), "light"),
        ("collecting", (80, 24), "light"),
        ("collecting", (160, 50), "dark"),
        ("verifying", (80, 24), "dark"),
        ("verifying", (160, 50), "light"),
        ("verifying", (60, 18), "light"),
        ("comparison", (80, 24), "dark"),
    ],
)
async def test_the_page_looks_as_it_did(engine: ScriptedEngine, page: str, size: tuple[int, int], look: str) -> None:
    presses, words = PAGES[page]
    async with explaining(engine, size=size, theme=f"textual-{look}") as (app, pilot):
        await pilot.press(*["space"] * presses)
        await sees(pilot, words)
        before, now = "", normalised(app.export_screenshot(title="lade-chat"))
        while before != now:
            await pilot.pause(0.05)
            before, now = now, normalised(app.export_screenshot(title="lade-chat"))
        compare(SNAPSHOTS / f"explain_{page}-{size[0]}x{size[1]}-{look}.svg", now)
