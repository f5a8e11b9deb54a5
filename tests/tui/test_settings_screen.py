"""Settings in the chat: the screen that changes them, themes and keys that are kept, and the list of models."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from textual.color import Color
from textual.pilot import Pilot
from textual.theme import Theme
from textual.widgets import Input, Select

from lade_chat.engine.load_run import CANCELLED
from lade_chat.protocol.commands import Load, Reply
from lade_chat.protocol.control import Stop
from lade_chat.protocol.events import Loaded, LoadFailed, Loading
from lade_chat.protocol.values import DecodingOptions, ModelOptions, Sampling
from lade_chat.settings.catalogue import SETTINGS
from lade_chat.settings.hub_search import HubSearchError
from lade_chat.settings.models import KnownModel, recent
from lade_chat.settings.preferences import Preferences
from lade_chat.settings.settings import Origin, load
from lade_chat.store.store import Store
from lade_chat.tui.app.application import ChatApp
from lade_chat.tui.screens.model import ModelScreen
from lade_chat.tui.screens.model_list import ModelList
from lade_chat.tui.screens.settings import SettingsScreen
from lade_chat.tui.theme.themes import THEMES
from tests.tui.driving import driven, say, screen_text, sees, status, wait_until
from tests.tui.scripted import MODEL, ScriptedEngine


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The settings file, which is not there yet."""
    return tmp_path / "settings.toml"


@asynccontextmanager
async def settled(
    engine: ScriptedEngine,
    path: Path,
    *,
    options: DecodingOptions | None = None,
    origins: Mapping[str, Origin] | None = None,
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


# --- the screen ---------------------------------------------------------------------------------------------------


async def test_what_is_changed_is_kept_and_counts_at_once(engine: ScriptedEngine, path: Path) -> None:
    path.write_text("seed = 3 # lucky\n")
    async with settled(engine, path) as (app, pilot):
        screen = await opened_settings(app, pilot)
        for name, text in {"temperature": "0.5", "max_new_tokens": "9", "stop": "END | \\n", "system": "Hm."}.items():
            screen.query_one(f"#{name}", Input).value = text
        await pilot.press("enter")
        await closed(app, pilot)
        await say(app, pilot, "Hello")
        await wait_until(pilot, lambda: engine.sent_of(Reply))
        (reply,) = engine.sent_of(Reply)
        assert isinstance(reply, Reply)
        assert reply.options.sampling == Sampling(temperature=0.5)
        assert (reply.options.max_new_tokens, reply.options.stop) == (9, ("END", "\n"))
        assert reply.messages[0].content == "Hello"  # this conversation had begun
    assert "seed = 3 # lucky" in path.read_text()
    assert load(path, {}).get("system") == "Hm."
    assert load(path, {}).get("stop") == ("END", "\n")


async def test_a_wrong_value_is_told_and_nothing_is_kept(engine: ScriptedEngine, path: Path) -> None:
    async with settled(engine, path) as (app, pilot):
        screen = await opened_settings(app, pilot)
        screen.query_one("#seed", Input).value = "3"
        screen.query_one("#top_p", Input).value = "2"
        await pilot.press("enter")
        await sees(pilot, "top_p must be a number above 0, at most 1, not 2")
        assert app.focused is screen.query_one("#top_p")
        await pilot.press("up", "down", "down", "up")
        assert app.focused is screen.query_one("#top_p")
        await pilot.press("up")
        assert app.focused is not screen.query_one("#top_p")
        await pilot.press("escape")
        await closed(app, pilot)
    assert not path.exists()


async def test_an_emptied_field_is_forgotten(engine: ScriptedEngine, path: Path) -> None:
    path.write_text("max_new_tokens = 5\nseed = 1\n")
    async with settled(engine, path, options=DecodingOptions(max_new_tokens=5)) as (app, pilot):
        screen = await opened_settings(app, pilot)
        screen.query_one("#max_new_tokens", Input).value = ""
        await pilot.press("ctrl+s")
        await closed(app, pilot)
        assert app.chat_screen.chat.options.max_new_tokens == DecodingOptions().max_new_tokens
    assert path.read_text() == "seed = 1\n"


async def test_a_flag_stays_in_force(engine: ScriptedEngine, path: Path) -> None:
    options = DecodingOptions(max_new_tokens=7)
    async with settled(engine, path, options=options, origins={"max_new_tokens": "flag"}, size=(150, 40)) as (
        app,
        pilot,
    ):
        screen = await opened_settings(app, pilot)
        await sees(pilot, "a flag overrides it now")
        screen.query_one("#max_new_tokens", Input).value = "9"
        await pilot.press("enter")
        await closed(app, pilot)
        assert app.chat_screen.chat.options.max_new_tokens == 7
    assert load(path, {}).get("max_new_tokens") == 9


async def test_a_file_that_is_no_toml_is_told_and_left_alone(engine: ScriptedEngine, path: Path) -> None:
    path.write_text("seed = = 1\n")
    async with settled(engine, path) as (app, pilot):
        await sees(pilot, "is not used, because it is not TOML")
        screen = await opened_settings(app, pilot)
        screen.query_one("#seed", Input).value = "3"
        await pilot.press("enter")
        await sees(pilot, "Nothing was saved")
    assert path.read_text() == "seed = = 1\n"


@pytest.mark.parametrize("size", [(60, 18), (80, 24), (160, 50)])
async def test_every_field_can_be_reached(engine: ScriptedEngine, path: Path, size: tuple[int, int]) -> None:
    async with settled(engine, path, size=size) as (app, pilot):
        screen = await opened_settings(app, pilot)
        reached = set()
        for _press in range(20):
            await pilot.press("tab")
            assert app.focused is not None
            assert screen.can_view_entire(app.focused)
            reached.add(app.focused.id)
        assert reached >= {"theme", "seed", "debug"}


@pytest.mark.parametrize("size", [(60, 18), (80, 24)])
async def test_every_description_stands_there_whole(engine: ScriptedEngine, path: Path, size: tuple[int, int]) -> None:
    path.write_text("repetition_penalty = 1.125\nread_ahead = false\n")
    origins: dict[str, Origin] = {"read_ahead": "file"}
    async with settled(engine, path, size=size, origins=origins) as (app, pilot):
        screen = await opened_settings(app, pilot)
        screen.query_one("#repetition_penalty").focus()
        await sees(pilot, "repetition_penalty", "1.12")  # what the file has is never hidden
        assert not screen.query_one("#top_k").region
        screen.query_one("#more").focus()
        await pilot.press("space")
        for field in screen.query(".setting Input, .setting Select"):
            field.focus()
            await pilot.pause()
            assert field.id is not None
            meaning = SETTINGS[field.id].meaning if field.id != "stop" else "texts before which a reply ends, with |"
            area = screen.query_one(".line").region
            rows = screen_text(app).splitlines()[area.y : area.bottom]
            described = " ".join(" ".join(row[area.x : area.right] for row in rows).split())
            assert meaning[1:] in described
            assert ("Now off, from this file." in described) is (field.id == "read_ahead")
            assert field.region.bottom <= area.y
        screen.query_one("#more").focus()
        await pilot.press("space")
        await wait_until(pilot, lambda: not screen.query_one("#top_k").region)
        assert screen.query_one("#repetition_penalty").region


async def test_values_are_told_in_words_with_their_source(engine: ScriptedEngine, path: Path) -> None:
    path.write_text("read_ahead = false\n")
    sampled = Sampling(temperature=0.7, from_model=True)
    options = DecodingOptions(max_new_tokens=7, sampling=sampled)
    origins: dict[str, Origin] = {"max_new_tokens": "flag", "sampling": "flag"}
    async with settled(engine, path, options=options, origins=origins, size=(80, 30)) as (app, pilot):
        await say(app, pilot, "/lookahead off")
        await opened_settings(app, pilot)
        rows = {row.split()[1]: " ".join(row.strip(" │▼").split()[1:]) for row in screen_text(app).splitlines()[4:18]}
        assert rows["read_ahead"] == "off"
        assert rows["max_new_tokens"] == "7 · from a flag"
        assert rows["sampling"] == "as the model says · from a flag"
        assert rows["temperature"] == "0.7 · as the model says"
        assert rows["top_p"] == "as the model says"
        assert rows["lookahead"] == "off · set in this chat"
        assert rows["remember"] == "on · by default"
        assert rows["system"] == "none"
        app.screen.query_one("#seed").focus()
        await sees(pilot, "Now drawn anew.")


async def test_a_theme_is_shown_while_the_cursor_is_on_it(engine: ScriptedEngine, path: Path) -> None:
    async with settled(engine, path, theme="lade-dark") as (app, pilot):
        screen = await opened_settings(app, pilot)
        screen.query_one("#theme").focus()
        await pilot.press("enter", "down")
        await wait_until(pilot, lambda: app.theme == "lade-contrast")
        await pilot.press("down", "down")
        await wait_until(pilot, lambda: app.theme == "lade-dark-underlined")
        await pilot.press("escape", "tab")
        await wait_until(pilot, lambda: app.theme == "lade-dark")
        assert app.screen is screen  # Esc has closed the choices alone
        await pilot.press("shift+tab", "enter", "down")
        await wait_until(pilot, lambda: app.theme != "lade-dark")
        await pilot.press("enter", "escape")
        await closed(app, pilot)
        assert app.theme == "lade-dark"
    assert not path.exists()


# --- themes and keys ----------------------------------------------------------------------------------------------


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
        await wait_until(pilot, lambda: not app.chat_screen.chat.options.lookahead)
        await pilot.press("f2")
        await pilot.pause()
        assert not app.chat_screen.chat.options.lookahead


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


# --- models -------------------------------------------------------------------------------------------------------


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with two models, and an empty hub cache."""
    for name in ("apple", "pear"):
        folder = tmp_path / "work" / "models" / name
        folder.mkdir(parents=True)
        (folder / "config.json").write_text("{}")
        (folder / "model.safetensors").write_bytes(b"")
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setattr("lade_chat.tui.screens.model_list.in_hub_cache", lambda: ())
    return tmp_path / "work"


async def opened_models(app: ChatApp, pilot: Pilot[None]) -> ModelScreen:
    await pilot.press("ctrl+o")
    await wait_until(pilot, lambda: isinstance(app.screen, ModelScreen) and app.screen.query("#keep"))
    assert isinstance(app.screen, ModelScreen)
    return app.screen


@pytest.mark.usefixtures("folders")
async def test_a_model_is_chosen_from_the_list(engine: ScriptedEngine, path: Path) -> None:
    async with settled(engine, path) as (app, pilot):
        await opened_models(app, pilot)
        await sees(pilot, "./models/apple", "./models/pear")
        await pilot.press("p", "e", "down", "enter")
        await wait_until(pilot, lambda: len(engine.sent_of(Load)) == 2)
        asked = engine.sent_of(Load)[1]
        assert isinstance(asked, Load)
        assert asked.options.path == "./models/pear"
        engine.tell(Loaded(MODEL))
        await wait_until(pilot, lambda: recent(path.parent / "data"))
    assert recent(path.parent / "data")[0].path == str(path.parent / "work" / "models" / "pear")
    assert not path.exists()


@pytest.mark.usefixtures("folders")
async def test_folders_are_walked_down(engine: ScriptedEngine, path: Path) -> None:
    async with settled(engine, path) as (app, pilot):
        screen = await opened_models(app, pilot)
        await sees(pilot, "./models/apple")
        await pilot.press(*"./mo")
        chosen = screen.query_one(ModelList)
        while chosen.chosen is None or chosen.chosen.is_model:
            await pilot.press("down")
        await pilot.press("enter")
        await wait_until(pilot, lambda: screen.query_one("#path", Input).value == "./models/")
        assert app.screen is screen


@pytest.mark.usefixtures("folders")
async def test_the_hub_is_searched_where_it_is_asked_for(
    engine: ScriptedEngine, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def search(words: str) -> tuple[KnownModel, ...]:
        asked.append(words)
        if "offline" in words:
            raise HubSearchError("The Hugging Face Hub cannot be reached: check the connection.")
        return (KnownModel("maker/Pear-1B", "2.0 GB safetensors bfloat16 · 12.3k downloads"),)

    monkeypatch.setattr("lade_chat.tui.screens.model_list.search", search)
    path.write_text('[aliases]\nfruit = "maker/apple-pear"\nf = "maker/apple-pear"\n')
    async with settled(engine, path) as (app, pilot):
        screen = await opened_models(app, pilot)
        await sees(pilot, "./models/pear  0 bytes safetensors", "maker/apple-pear  -m fruit, -m f")
        await pilot.press(*"offline", "down")
        await sees(pilot, "search the Hugging Face Hub for “offline”")
        await pilot.press("enter")
        await sees(pilot, "cannot be reached: check the connection")
        assert app.screen is screen
        screen.query_one("#path", Input).value = "pear"
        await sees(pilot, "./models/pear", "maker/apple-pear", "search the Hugging Face Hub for “pear”")
        assert asked == ["offline"]
        await pilot.press("down", "down", "down", "enter")
        await sees(pilot, "maker/Pear-1B  2.0 GB safetensors bfloat16 · 12.3k downloads")
        await pilot.press("down", "down", "down", "enter")
        await wait_until(pilot, lambda: len(engine.sent_of(Load)) == 2)
        command = engine.sent_of(Load)[1]
        assert isinstance(command, Load)
        assert command.options.path == "maker/Pear-1B"


async def test_a_download_tells_how_far_it_is_and_is_cancelled_by_escape(engine: ScriptedEngine, path: Path) -> None:
    async with settled(engine, path) as (app, pilot):
        await say(app, pilot, "/model org/large")
        engine.tell(Loading("download", 250_000_000, 1_000_000_000))
        await sees(pilot, "downloading: 250.0 MB of 1.0 GB · Esc cancels", "25%")
        await pilot.press("escape")
        assert engine.sent[-1] == Stop()
        engine.tell(LoadFailed(CANCELLED, kept=True))
        await sees(pilot, "The download was cancelled", "tiny-12M is still loaded")


async def test_names_of_the_settings_stand_for_models_and_system_prompts(engine: ScriptedEngine, path: Path) -> None:
    path.write_text('[aliases]\nqwen = "maker/qwen"\n[prompts]\nbrief = "One sentence."\n')
    async with settled(engine, path) as (app, pilot):
        system = lambda: app.chat_screen.chat.conversation.current.about.system  # noqa: E731
        await pilot.press(*"/system br", "tab", "enter")
        await sees(pilot, "System prompt: One sentence.")
        await wait_until(pilot, lambda: system() == "One sentence.")
        await say(app, pilot, "/system You are a pirate.")
        await say(app, pilot, "/system save pirate")
        assert "Saved: /system pirate" in status(app)
        await say(app, pilot, "/system brief")
        await pilot.press(*"/system pi", "tab", "enter")
        await wait_until(pilot, lambda: system() == "You are a pirate.")
        await say(app, pilot, "/system save off")
        assert "off cannot be a name" in status(app)
        await say(app, pilot, "/system priate")
        assert "no system prompt named priate. Did you mean pirate?" in status(app)
        await say(app, pilot, "/model qwne")
        assert "no folder or short name qwne. Did you mean qwen?" in status(app)
        await pilot.press("ctrl+u", *"/model qw", "tab", "enter")
        await wait_until(pilot, lambda: len(engine.sent_of(Load)) == 2)
        command = engine.sent_of(Load)[1]
        assert isinstance(command, Load)
        assert command.options.path == "maker/qwen"
    assert load(path, {}).prompts == {"brief": "One sentence.", "pirate": "You are a pirate."}


@pytest.mark.usefixtures("folders")
async def test_a_model_to_begin_with_is_kept(engine: ScriptedEngine, path: Path) -> None:
    async with settled(engine, path) as (app, pilot):
        screen = await opened_models(app, pilot)
        screen.query_one("#path", Input).value = "org/model"
        screen.query_one("#dtype", Input).value = "float32"
        screen.query_one("#keep").toggle()  # type: ignore[attr-defined]
        await pilot.press("enter")
        await wait_until(pilot, lambda: load(path, {}).get("model_path") == "org/model")
    assert load(path, {}).get("dtype") == "float32"
