"""A slash command is added in one place, and a setting of the chat in two."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.widgets import Select

from lade_chat.protocol.values import DecodingOptions, ModelOptions
from lade_chat.settings.catalogue import SETTINGS, Setting, Switch, Value
from lade_chat.settings.preferences import Preferences
from lade_chat.settings.settings import load
from lade_chat.store.store import Store
from lade_chat.tui.app.application import ChatApp
from lade_chat.tui.app.chat_settings import CHAT_SETTINGS, ChatSetting
from lade_chat.tui.chat.slash_commands import COMMANDS, SlashCommand
from tests.tui.driving import driven, opened, say, sees, status, wait_until
from tests.tui.scripted import MODEL, ScriptedEngine

TOY = SlashCommand(
    "toy",
    "[blue|red]",
    "play with it",
    action=lambda screen, colour: screen.hint(f"A {colour or 'plain'} toy."),
    words=("blue", "red"),
    title="A toy",
)


@pytest.fixture
def toy_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lade_chat.tui.chat.command_line.COMMANDS", commands := [*COMMANDS, TOY])
    monkeypatch.setattr("lade_chat.tui.chat.screen.COMMANDS", commands)
    monkeypatch.setattr("lade_chat.tui.chat.slash_commands.COMMANDS", commands)


@pytest.mark.usefixtures("toy_command")
async def test_a_slash_command_is_declared_in_one_place(engine: ScriptedEngine) -> None:
    async with opened(engine, size=(120, 40)) as (app, pilot):
        await pilot.press(*"/toy")
        await sees(pilot, "/toy", "[blue|red] play with it")
        await pilot.press("tab", "b", "tab", "enter")
        await wait_until(pilot, lambda: "A blue toy." in status(app))
        (line,) = [each for each in app.get_system_commands(app.screen) if each.title == "A toy"]
        assert line.help == "Play with it (/toy)"
        line.callback()
        assert "A plain toy." in status(app)
        await say(app, pilot, "/help commands")
        await wait_until(pilot, lambda: app.screen is not app.chat_screen)
        await pilot.press(*"play with")
        await sees(pilot, "/toy [blue|red]")


async def test_a_setting_of_the_chat_is_declared_in_two_places(
    engine: ScriptedEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(SETTINGS, "toy", Setting("toy", Switch(), "a thing to play with", default=False))
    played: dict[str, Value] = {}
    setting = ChatSetting(lambda _: played.get("toy", False), lambda _, value: played.update(toy=value))
    monkeypatch.setitem(CHAT_SETTINGS, "toy", setting)
    file = tmp_path / "settings.toml"
    file.write_text("toy = true\n")
    settings = load(file, {})
    assert settings.get("toy") is True
    assert load(file, {"LADE_CHAT_TOY": "off"}).get("toy") is False
    preferences = Preferences.of(settings, {}, None)
    app = ChatApp(engine, ModelOptions(), DecodingOptions(), store=Store(tmp_path), preferences=preferences)
    async with driven(app, (150, 60), MODEL, engine) as pilot:
        assert played == {"toy": True}
        await pilot.press("ctrl+s")
        await sees(pilot, "A thing to play with.")
        app.screen.query_one("#toy", Select).value = "false"
        await pilot.press("ctrl+s")
        await wait_until(pilot, lambda: app.screen is app.chat_screen)
    assert load(file, {}).get("toy") is played["toy"] is False
