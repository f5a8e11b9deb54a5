"""Themes and keys that are chosen: shown at once, kept for next time, refused in a line."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.color import Color
from textual.theme import Theme
from textual.widgets import Select

from lade_chat.settings.settings import load
from lade_chat.tui.theme.themes import THEMES
from tests.tui.driving import sees, wait_until
from tests.tui.scripted import ScriptedEngine
from tests.tui.settled import closed, opened_settings, settled


async def test_a_theme_that_is_chosen_is_there_next_time(engine: ScriptedEngine, path: Path) -> None:
    async with settled(engine, path) as (app, pilot):
        app.theme = "lade-paper"
        await wait_until(pilot, lambda: load(path, {}).get("theme") == "lade-paper")
    async with settled(ScriptedEngine(), path, theme="lade-paper") as (again, _pilot):
        assert again.theme == "lade-paper"


async def test_a_theme_of_the_settings_screen_is_shown_at_once(engine: ScriptedEngine, path: Path) -> None:
    async with settled(engine, path) as (app, pilot):
        screen = await opened_settings(app, pilot)
        screen.query_one("#theme", Select).value = "nord"
        await pilot.press("ctrl+s")
        await closed(app, pilot)
        assert app.theme == "nord"
    assert load(path, {}).get("theme") == "nord"


async def test_an_unknown_theme_is_told_with_the_nearest(engine: ScriptedEngine, path: Path) -> None:
    async with settled(engine, path, theme="lade_drak") as (app, pilot):
        await sees(pilot, "there is no theme lade_drak; did you mean lade-dark?")
        assert app.theme == "lade-dark"
    assert not path.exists()


def contrast(one: Color, other: Color) -> float:
    """WCAG's ratio, from 1 to 21."""

    def luminance(colour: Color) -> float:
        parts = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colour.normalized]
        return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]

    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", [each for each in THEMES if not each.ansi], ids=lambda theme: theme.name)
def test_text_is_readable_on_every_ground(theme: Theme) -> None:
    colours = theme.to_color_system().generate()
    background = Color.parse(colours["background"])
    foreground = Color.parse(colours["foreground"])
    verified = background.blend(Color.parse(colours["success"]), 0.25)
    for ground in (background, Color.parse(colours["surface"]), Color.parse(colours["panel"]), verified):
        assert contrast(foreground, ground) >= 7
    for name in ("primary", "error", "warning"):
        assert contrast(Color.parse(colours[name]), background) >= 3
    assert verified.rgb != background.rgb


async def test_keys_are_given_to_actions_by_name(engine: ScriptedEngine, path: Path) -> None:
    path.write_text('[keys]\ntoggle_lookahead = "f11"\n')
    async with settled(engine, path) as (app, pilot):
        await pilot.press("f11")
        await wait_until(pilot, lambda: not app.chat_screen.state.options.lookahead)
        await pilot.press("f2")
        await pilot.pause()
        assert not app.chat_screen.state.options.lookahead


@pytest.mark.parametrize(
    ("line", "words"),
    [('raze = "f11"', "did you mean race?"), ('race = "f1"', "race: f1 belongs to help")],
)
async def test_keys_that_cannot_be_given_are_told(engine: ScriptedEngine, path: Path, line: str, words: str) -> None:
    path.write_text(f"[keys]\n{line}\n")
    async with settled(engine, path, size=(120, 24)) as (app, pilot):
        await sees(pilot, words)
        await pilot.press("f1")
        await wait_until(pilot, lambda: app.screen is not app.chat_screen)
