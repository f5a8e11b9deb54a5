"""Settings changed in the chat count at once, are saved beside the screen, and are taken back where that fails."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from textual.pilot import Pilot

from lade_chat.protocol.values import DecodingOptions, ModelOptions
from lade_chat.settings import file
from lade_chat.settings.effective import Preferences, load
from lade_chat.store.all_conversations import Store
from lade_chat.tui.app.application import ChatApp
from tests.tui.driving import driven, say, sees, status, wait_until
from tests.tui.scripted import MODEL, ScriptedEngine


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "settings" / "settings.toml"


@asynccontextmanager
async def chatting(engine: ScriptedEngine, path: Path) -> AsyncIterator[tuple[ChatApp, Pilot[None]]]:
    app = ChatApp(
        engine,
        ModelOptions(),
        DecodingOptions(),
        store=Store(path.parent.parent / "data"),
        preferences=Preferences.of(load(path, {}), {}, None),
    )
    async with driven(app, (120, 24), MODEL, engine) as pilot:
        yield app, pilot


async def test_a_slow_disk_holds_the_screen_up_in_nothing(
    engine: ScriptedEngine, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    released, threads, change = threading.Event(), list[int](), file.change

    def slow(to: Path, values: Mapping[str, Any], **keywords: Any) -> None:
        threads.append(threading.get_ident())
        released.wait(20)
        change(to, values, **keywords)

    monkeypatch.setattr(file, "change", slow)
    async with chatting(engine, path) as (app, pilot):
        app.theme = "lade-paper"
        await wait_until(pilot, lambda: threads)
        app.theme = "nord"
        await pilot.pause()
        assert app.preferences.file_values["theme"] == "nord"
        assert not path.exists()
        released.set()
        await wait_until(pilot, lambda: load(path, {}).get("theme") == "nord")
    assert threading.get_ident() not in threads


async def test_what_is_changed_last_is_saved_though_the_chat_ends(engine: ScriptedEngine, path: Path) -> None:
    async with chatting(engine, path) as (app, _pilot):
        app.keep({"theme": "lade-paper"})
        app.keep({"colours": "sources"})
    found = load(path, {})
    assert (found.get("theme"), found.get("colours")) == ("lade-paper", "sources")


async def test_what_cannot_be_saved_is_told_and_not_taken_for_kept(engine: ScriptedEngine, path: Path) -> None:
    path.parent.write_text("a file where the folder should be")
    async with chatting(engine, path) as (app, pilot):
        app.theme = "lade-paper"
        await sees(pilot, str(path)[:20])
        await wait_until(pilot, lambda: not app.chat_screen.store_worker.busy)
        assert "theme" not in app.preferences.file_values
        assert app.theme == "lade-paper"
        await say(app, pilot, "/system Be brief.")
        await say(app, pilot, "/system save brief")
        assert "Saved:" not in status(app)
        assert app.preferences.prompts == {}
