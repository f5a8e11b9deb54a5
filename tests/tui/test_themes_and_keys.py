"""Themes and keys that are chosen: shown at once, kept for next time, refused in a line."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual._ansi_sequences import ANSI_SEQUENCES_KEYS
from textual._keyboard_protocol import FUNCTIONAL_KEYS
from textual._xterm_parser import XTermParser
from textual.color import Color
from textual.events import Key
from textual.keys import Keys
from textual.theme import Theme
from textual.widgets import Select

from lade_chat.protocol.values import DecodingOptions, ModelOptions
from lade_chat.settings.catalogue import SETTINGS, Setting, Switch, Value
from lade_chat.settings.effective import Preferences, load
from lade_chat.store.all_conversations import Store
from lade_chat.tui.app.application import ChatApp
from lade_chat.tui.chat.chat_settings import CHAT_SETTINGS, ChatSetting
from lade_chat.tui.chat.slash_commands import COMMANDS, SlashCommand
from lade_chat.tui.key_map import keymap_for
from lade_chat.tui.theme.themes import THEMES
from tests.tui.driving import driven, opened, say, sees, status, wait_until
from tests.tui.scripted import MODEL, ScriptedEngine
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
    [
        ('raze = "f11"', "did you mean race?"),
        ('race = "f1"', "race: f1 belongs to help"),
        ('race = "f11,enter"', "race: enter is needed to write a message"),
        ('race = "x"', "race: x is needed to write a message"),
        ('race = "ctrl+rr"', "race: there is no key ctrl+rr"),
        ('race = "f99"', "keys are written like ctrl+r"),
        ('race = "["', "race: left_square_bracket belongs to slower"),
    ],
)
async def test_keys_that_cannot_be_given_are_told(engine: ScriptedEngine, path: Path, line: str, words: str) -> None:
    path.write_text(f"[keys]\n{line}\n")
    async with settled(engine, path, size=(120, 24)) as (app, pilot):
        await sees(pilot, words)
        await pilot.press("f1")
        await wait_until(pilot, lambda: app.screen is not app.chat_screen)


@pytest.mark.parametrize(("written", "sent"), [("?", "question_mark"), ("shift+ctrl+/", "ctrl+shift+slash")])
def test_a_key_is_known_however_it_is_written(written: str, sent: str) -> None:
    assert keymap_for({"race": written}, {"race": "ctrl+r"}) == ({"race": sent}, [])


def sent(typed: str) -> set[str]:
    """The keys that Textual makes of what a terminal sends."""
    parser = XTermParser()
    return {event.key for event in (*parser.feed(typed), *parser.feed("")) if isinstance(event, Key)}


def test_no_key_that_textual_sends_is_unknown() -> None:
    characters = [chr(code) for code in range(32, 0x2100)]
    with_alt = [f"\x1b{character}" for character in map(chr, range(33, 127))]
    codes = (*FUNCTIONAL_KEYS, "97u", "47u")
    kitty = [f"\x1b[{code[:-1]};{modifiers}{code[-1]}" for code in codes for modifiers in range(1, 65)]
    keys = set[str]().union(*map(sent, (*characters, *with_alt, *kitty, *ANSI_SEQUENCES_KEYS)))
    assert {"a", "Z", "é", "ctrl+l", "ctrl+@", "f24", "ctrl+shift+left", "alt+slash", "alt+shift+f1", "pageup"} <= keys
    for key in keys - {Keys.ScrollUp.value, Keys.ScrollDown.value, Keys.Ignore.value}:
        keymap, problems = keymap_for({"race": key}, {"race": "ctrl+r"})
        assert keymap == {"race": key} or "needed to write a message" in problems[0]


# --- A slash command is added in one place, and a setting of the chat in two

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
    monkeypatch.setattr("lade_chat.tui.chat.slash_dispatch.COMMANDS", commands := [*COMMANDS, TOY])
    monkeypatch.setattr("lade_chat.tui.chat.chat_screen.COMMANDS", commands)
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
