"""The screen of models: chosen from a list, from folders and from the Hub, and kept to begin with."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from safetensors.numpy import save
from textual.pilot import Pilot
from textual.widgets import Input

from lade_chat.engine.job import CANCELLED
from lade_chat.errors import LadeChatError
from lade_chat.known_models.models_at_hand import KnownModel, recent, remember
from lade_chat.protocol.commands import Load, Stop
from lade_chat.protocol.events import Loaded, LoadFailed, Loading
from lade_chat.protocol.values import ModelOptions
from lade_chat.settings.effective import load
from lade_chat.tui.app.application import ChatApp
from lade_chat.tui.screens.model_choice import ModelScreen
from lade_chat.tui.screens.model_list import ModelList
from tests.tui.driving import say, sees, status, wait_until
from tests.tui.scripted import MODEL, ScriptedEngine
from tests.tui.settled import settled


@pytest.fixture
def folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with two models, and an empty hub cache."""
    for name in ("apple", "pear"):
        folder = tmp_path / "work" / "models" / name
        folder.mkdir(parents=True)
        (folder / "config.json").write_text("{}")
        (folder / "model.safetensors").write_bytes(save({}))
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setattr("lade_chat.known_models.models_at_hand.in_hub_cache", lambda: ())
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
@pytest.mark.parametrize(
    ("typed", "loaded"),
    [
        ("mod", "./models/apple"),
        ("fruit", "maker/apple-pear"),
        ("org/pear", "org/pear"),
        ("ollama:pear", "ollama:pear"),
        ("plum", "plum"),
    ],
)
async def test_a_text_that_names_no_model_as_it_stands_loads_the_first_match(
    engine: ScriptedEngine, path: Path, typed: str, loaded: str
) -> None:
    path.write_text('[aliases]\nfruit = "maker/apple-pear"\njuice = "maker/fruit"\n')
    async with settled(engine, path) as (app, pilot):
        await opened_models(app, pilot)
        await sees(pilot, "./models/apple", "./models/pear")
        await pilot.press(*typed, "enter")
        await wait_until(pilot, lambda: len(engine.sent_of(Load)) == 2)
        asked = engine.sent_of(Load)[1]
        assert isinstance(asked, Load)
        assert asked.options.path == loaded


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
            raise LadeChatError("The Hugging Face Hub cannot be reached: check the connection.")
        return (KnownModel("maker/Pear-1B", "2.0 GB safetensors bfloat16 · 12.3k downloads"),)

    monkeypatch.setattr("lade_chat.tui.screens.model_list.search", search)
    path.write_text('[aliases]\nfruit = "maker/apple-pear"\nf = "maker/apple-pear"\n')
    async with settled(engine, path) as (app, pilot):
        screen = await opened_models(app, pilot)
        await sees(pilot, "./models/pear  16 bytes safetensors", "maker/apple-pear  -m fruit, -m f")
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
        await wait_until(pilot, lambda: engine.sent[-1] == Stop())
        engine.tell(LoadFailed(CANCELLED, kept=True))
        await sees(pilot, "The download was cancelled", "tiny-12M is still loaded")


async def test_names_of_the_settings_stand_for_models_and_system_prompts(engine: ScriptedEngine, path: Path) -> None:
    path.write_text('[aliases]\nqwen = "maker/qwen"\n[prompts]\nbrief = "One sentence."\n')
    async with settled(engine, path) as (app, pilot):
        system = lambda: app.chat_screen.conversation.about.system  # noqa: E731
        await pilot.press(*"/system br", "tab", "enter")
        await sees(pilot, "System prompt: One sentence.")
        await wait_until(pilot, lambda: system() == "One sentence.")
        await say(app, pilot, "/system You are a pirate.")
        await say(app, pilot, "/system save pirate")
        await wait_until(pilot, lambda: "Saved: /system pirate" in status(app))
        await say(app, pilot, "/system brief")
        await pilot.press(*"/system pi", "tab", "enter")
        await wait_until(pilot, lambda: system() == "You are a pirate.")
        await say(app, pilot, "/system save off")
        await wait_until(pilot, lambda: "off cannot be a name" in status(app))
        await say(app, pilot, "/system priate")
        await wait_until(pilot, lambda: "no system prompt named priate. Did you mean pirate?" in status(app))
        await say(app, pilot, "/model qwne")
        await wait_until(pilot, lambda: "no folder or short name qwne. Did you mean qwen?" in status(app))
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


async def test_what_cannot_be_loaded_is_listed_last_with_the_reason_and_comes_into_sight(
    engine: ScriptedEngine, path: Path, folders: Path
) -> None:
    for name in ("apricot", "banana", "cherry", "damson", "elder"):
        shutil.copytree(folders / "models" / "apple", folders / "models" / name)
    (folders / "models" / "apple" / "model.safetensors").write_bytes(b"version https://git-lfs.github.com/spec/v1\n")
    (folders / "models" / "pear" / "config.json").write_text("{")
    (folders / "models" / "pear" / "model.safetensors").unlink()
    shards = {"a": "model-00001-of-00002.safetensors", "b": "model-00002-of-00002.safetensors"}
    (folders / "models" / "pear" / "model.safetensors.index.json").write_text(json.dumps({"weight_map": shards}))
    (folders / "models" / "elder" / "config.json").write_text("{")
    remember(path.parent / "data", ModelOptions("./models/fig"))
    async with settled(engine, path) as (app, pilot):
        screen = await opened_models(app, pilot)
        await sees(pilot, "./models/damson")
        models = screen.query_one(ModelList)
        while models.chosen is None or models.chosen.path != "./models/damson":
            await pilot.press("down")
        await sees(
            pilot,
            "./models/apple  damaged: model.safetensors is truncated or corrupt",
            "./models/pear  unfinished: 2 of 2 shards missing",
            "./models/elder  damaged: config.json cannot be read",
            "./models/fig  recent, no longer there",
        )


async def test_what_is_known_of_a_model_with_a_long_path_is_whole_beside_the_scroll_bar(
    engine: ScriptedEngine, path: Path, folders: Path
) -> None:
    for name in ("apricot", "banana", "cherry", "damson", "elder", "fig", "grape"):
        shutil.copytree(folders / "models" / "apple", folders / "models" / name)
    shutil.copytree(folders / "models" / "apple", folders / "long" / ("long-" * 12))
    async with settled(engine, path) as (app, pilot):
        await opened_models(app, pilot)
        await sees(pilot, "-long-  16 bytes safetensors")


async def test_without_a_working_folder_the_other_models_are_listed(
    engine: ScriptedEngine, path: Path, folders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    downloaded = (KnownModel("org/downloaded"),)
    monkeypatch.setattr("lade_chat.known_models.models_at_hand.in_hub_cache", lambda: downloaded)
    shutil.rmtree(folders)
    async with settled(engine, path) as (app, pilot):
        await opened_models(app, pilot)
        await sees(pilot, "org/downloaded")
