"""The chat with a settings file, its settings screen and its list of models opened and closed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

from textual.pilot import Pilot

from lade_chat.protocol.values import DecodingOptions, ModelOptions
from lade_chat.settings.effective import Preferences, SettingSource, load
from lade_chat.store.all_conversations import Store
from lade_chat.tui.app.application import ChatApp
from lade_chat.tui.screens.settings import SettingsScreen
from tests.tui.driving import driven, wait_until
from tests.tui.scripted import MODEL, ScriptedEngine


@asynccontextmanager
async def settled(
    engine: ScriptedEngine,
    path: Path,
    *,
    options: DecodingOptions | None = None,
    origins: Mapping[str, SettingSource] | None = None,
    theme: str | None = None,
    size: tuple[int, int] = (80, 24),
) -> AsyncIterator[tuple[ChatApp, Pilot[None]]]:
    """The application with the settings in this file."""
    preferences = Preferences.of(load(path, {}), origins or {}, theme)
    store = Store(path.parent / "data")
    app = ChatApp(engine, ModelOptions(), options or DecodingOptions(), store=store, preferences=preferences)
    app.animation_level = "none"
    async with driven(app, size, MODEL, engine) as pilot:
        yield app, pilot


async def opened_settings(app: ChatApp, pilot: Pilot[None]) -> SettingsScreen:
    await pilot.press("ctrl+s")
    await wait_until(pilot, lambda: isinstance(app.screen, SettingsScreen) and app.screen.query("#system"))
    assert isinstance(app.screen, SettingsScreen)
    return app.screen


async def closed(app: ChatApp, pilot: Pilot[None]) -> None:
    await wait_until(pilot, lambda: app.screen is app.chat_screen)
