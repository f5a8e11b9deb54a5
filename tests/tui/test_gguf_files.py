"""GGUF files in the screen of models: found where they lie, and chosen where a folder has several."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace
from textual.pilot import Pilot
from textual.widgets import Input

from lade_chat.paths import bundled_model_path
from lade_chat.protocol.commands import Load, Stop
from lade_chat.protocol.events import LoadFailed
from lade_chat.protocol.values import ModelOptions
from lade_chat.settings.effective import load
from lade_chat.tui.app.application import ChatApp
from lade_chat.tui.chat.decisions.navigation import load_model
from lade_chat.tui.screens.model_choice import ModelScreen
from lade_chat.tui.screens.model_list import ModelList
from lade_chat.tui.transcript.notices import Notice
from tests.gguf_format.kept import pull, small_file
from tests.tui.driving import say, screen_text, sees, wait_until
from tests.tui.scripted import FUNCTION, ScriptedEngine, streamed
from tests.tui.settled import settled


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's folder, with Ollama's models in it; the working folder lies in it, too."""
    pull(tmp_path / ".ollama" / "models", "registry.ollama.ai/library/pear/1b", small_file(tmp_path / "file.gguf", 7))
    for name, kind in (("apple-Q4_0", 2), ("apple-Q8_0", 7)):
        small_file(tmp_path / "elsewhere" / f"{name}.gguf", kind)
    for name in ("OLLAMA_MODELS", "LLAMA_CACHE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / ".cache"))
    monkeypatch.setattr("lade_chat.known_models.models_at_hand.in_hub_cache", lambda: ())
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path


@pytest.mark.usefixtures("home")
async def test_another_programs_model_is_chosen_from_the_list(engine: ScriptedEngine, path: Path) -> None:
    async with settled(engine, path) as (app, pilot):
        await pilot.press("ctrl+o")
        await wait_until(pilot, lambda: isinstance(app.screen, ModelScreen))
        await sees(pilot, "ollama:pear:1b", "GGUF Q8_0 llama, Ollama")
        await pilot.press("p", "e", "down", "enter")
        await wait_until(pilot, lambda: len(engine.sent_of(Load)) == 2)
        command = engine.sent_of(Load)[1]
        assert isinstance(command, Load)
        assert command.options.path == "ollama:pear:1b"


@pytest.mark.parametrize("present", [False, True])
async def test_one_of_several_files_is_chosen(
    present: bool, engine: ScriptedEngine, path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = home / "elsewhere"
    if present:
        monkeypatch.chdir(folder)
    async with settled(engine, path) as (app, pilot):
        await say(app, pilot, f"/model {'./' if present else folder}")
        await wait_until(pilot, lambda: isinstance(app.screen, ModelScreen))
        name = "The present folder " if present else ""
        await sees(pilot, f"{name}holds several GGUF files: choose one.", "apple-Q4_0.gguf", "apple-Q8_0.gguf")
        await wait_until(pilot, lambda: len(app.screen.query_one(ModelList)._shown) >= 3)
        await pilot.press("down", "down", "enter")
        await wait_until(pilot, lambda: len(engine.sent_of(Load)) == 2)
        command = engine.sent_of(Load)[1]
        assert isinstance(command, Load)
        assert command.options.path == ("./apple-Q8_0.gguf" if present else str(folder / "apple-Q8_0.gguf"))


async def test_files_are_found_by_their_quantisation_and_architecture(
    engine: ScriptedEngine, path: Path, home: Path
) -> None:
    async with settled(engine, path) as (app, pilot):
        await pilot.press("ctrl+o")
        await wait_until(pilot, lambda: isinstance(app.screen, ModelScreen))
        await sees(pilot, "ollama:pear:1b", "GGUF Q8_0 llama, Ollama")
        for typed in ("q8_0", "gguf"):
            app.screen.query_one("#path", Input).value = typed
            await wait_until(
                pilot, lambda: "ollama:pear:1b" in [each.path for each in app.screen.query_one(ModelList)._shown]
            )


async def test_a_folder_of_several_files_offers_them(engine: ScriptedEngine, path: Path, home: Path) -> None:
    small_file(home / "work" / "two" / "pear-Q4_0.gguf", 2)
    small_file(home / "work" / "two" / "pear-Q8_0.gguf", 7)
    async with settled(engine, path) as (app, pilot):
        await pilot.press("ctrl+o")
        await wait_until(pilot, lambda: isinstance(app.screen, ModelScreen))
        await pilot.press(*"./two", "enter")
        await wait_until(pilot, lambda: app.screen.query_one("#path", Input).value == "./two/")
        await sees(pilot, "./two/pear-Q4_0.gguf", "./two/pear-Q8_0.gguf")
        assert len(engine.sent_of(Load)) == 1
        await pilot.press("down", "enter")
        await wait_until(pilot, lambda: len(engine.sent_of(Load)) == 2)
        command = engine.sent_of(Load)[1]
        assert isinstance(command, Load)
        assert command.options.path == "./two/pear-Q4_0.gguf"


async def test_a_broken_file_stands_last_with_the_reason_and_cannot_be_chosen(
    engine: ScriptedEngine, path: Path, home: Path
) -> None:
    small_file(home / "work" / "pear-Q8_0.gguf", 7)
    whole = (home / "work" / "pear-Q8_0.gguf").read_bytes()
    (home / "work" / "apple-Q8_0.gguf").write_bytes(whole[: len(whole) // 2])
    async with settled(engine, path) as (app, pilot):
        await pilot.press("ctrl+o")
        await wait_until(pilot, lambda: isinstance(app.screen, ModelScreen))
        models = app.screen.query_one(ModelList)
        await sees(pilot, "./pear-Q8_0.gguf", "./apple-Q8_0.gguf")
        assert models._shown[-1].path == "./apple-Q8_0.gguf"
        reason = models._shown[-1].about
        assert "damaged: it is" in reason
        await sees(pilot, reason[:70])  # on a line of its own
        for key in ("down", "up"):
            for _ in range(3):
                await pilot.press(key)
                assert models.chosen is None or models.chosen.path != "./apple-Q8_0.gguf"


async def test_the_bundled_model_is_listed_once_in_a_clone_of_the_repository(
    engine: ScriptedEngine, path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_file(home / "work" / "pear.gguf", 7)
    (home / "work" / "model").symlink_to(bundled_model_path())
    async with settled(engine, path) as (app, pilot):
        await pilot.press("ctrl+o")
        await sees(pilot, "./pear.gguf", "ollama:pear:1b", "bundled  comes with lade-chat")
        assert "./model" not in screen_text(app)


@pytest.mark.usefixtures("home")
@pytest.mark.parametrize("typed", ["", "bund"])
async def test_the_bundled_model_is_in_the_list(engine: ScriptedEngine, path: Path, typed: str) -> None:
    async with settled(engine, path) as (app, pilot):
        await say(app, pilot, "/model maker/pear")
        engine.load()
        await pilot.press("ctrl+o")
        await wait_until(pilot, lambda: isinstance(app.screen, ModelScreen))
        if typed:
            app.screen.query_one("#path", Input).value = typed
        await sees(pilot, "bundled  comes with lade-chat")
        models = app.screen.query_one(ModelList)
        while models.chosen is None or models.chosen.path:  # behind what was used last
            await pilot.press("down")
        await pilot.press("enter")
        await wait_until(pilot, lambda: len(engine.sent_of(Load)) == 3)
        command = engine.sent_of(Load)[2]
        assert isinstance(command, Load)
        assert command.options.path is None


async def test_a_reply_goes_on_where_the_path_of_another_model_cannot_be_opened_as_it_is(
    engine: ScriptedEngine, path: Path, home: Path
) -> None:
    for name, kind in (("pear-Q4_0", 2), ("pear-Q8_0", 7)):
        small_file(home / "work" / "two" / f"{name}.gguf", kind)
    (home / "work" / "cut.gguf").write_bytes((home / "work" / "two" / "pear-Q4_0.gguf").read_bytes()[:99])
    async with settled(engine, path) as (app, pilot):
        await say(app, pilot, "Hello")
        engine.tell(*streamed(FUNCTION[:2]))
        await say(app, pilot, "/model ./cut.gguf")
        await sees(pilot, "cut.gguf is not a readable GGUF file: it is cut off at byte 99")
        await say(app, pilot, "/model ./two")
        await wait_until(pilot, lambda: isinstance(app.screen, ModelScreen))
        await sees(pilot, "./two/pear-Q4_0.gguf", "./two/pear-Q8_0.gguf")
        app.screen.query_one("#path", Input).value = "./cut.gguf"
        await pilot.press("enter")
        await sees(pilot, "cut.gguf is not a readable GGUF file: it is cut off at byte 99", "Esc cancels")
        await pilot.press("x")  # another path, in place of the refused one
        assert app.screen.query_one("#path", Input).value == "x"
        assert not engine.sent_of(Stop)
        assert len(engine.sent_of(Load)) == 1


async def ask_for(app: ChatApp, pilot: Pilot[None], how: str, typed: str) -> None:
    """Ask for a model by the slash command or in the dialog, without keeping it in the settings."""
    if how == "command":
        await say(app, pilot, f"/model {typed}")
        return
    await pilot.press("ctrl+o")
    await wait_until(pilot, lambda: app.screen.query("#keep"))
    app.screen.query_one("#path", Input).value = typed
    app.screen.query_one("#keep").toggle()  # type: ignore[attr-defined]
    await pilot.press("enter")


@pytest.mark.parametrize("how", ["dialog", "command", "folder"])
@pytest.mark.parametrize("begun", [ModelOptions("maker/pear", quantize="int8"), ModelOptions(dtype="float32")])
async def test_a_precision_is_left_out_for_a_file_whose_weights_stay_as_they_are(
    engine: ScriptedEngine, path: Path, home: Path, how: str, begun: ModelOptions
) -> None:
    small_file(home / "work" / "one" / "pear-Q8_0.gguf", 7)
    typed = "./one" if how == "folder" else "./one/pear-Q8_0.gguf"
    async with settled(engine, path) as (app, pilot):
        app.chat_screen.decide(load_model, begun)
        engine.load()
        await ask_for(app, pilot, how, typed)
        await sees(pilot, f"Left out: {begun.precision}.", "stay as they are")
        assert engine.sent_of(Load)[-1] == Load(ModelOptions(typed))
        app.chat_screen.transcript.query_one(Notice)
        await say(app, pilot, "/model maker/pear")
        await wait_until(pilot, lambda: not app.chat_screen.transcript.query(Notice))
        await pilot.press("ctrl+q")
    assert load(path, {}).get("dtype") is None


@pytest.mark.parametrize("how", ["dialog", "list", "command"])
@pytest.mark.parametrize("begun", [ModelOptions("maker/pear", quantize="int8"), ModelOptions(dtype="float32")])
async def test_a_precision_that_was_left_out_is_asked_for_again_with_the_next_checkpoint(
    engine: ScriptedEngine, path: Path, home: Path, how: str, begun: ModelOptions
) -> None:
    small_file(home / "work" / "pear-Q8_0.gguf", 7)

    async def load(typed: str, *, chosen: bool = False) -> None:
        if how == "command":
            await say(app, pilot, f"/model {typed}")
            return
        await pilot.press("ctrl+o")
        await wait_until(pilot, lambda: app.screen.query("#keep"))
        if chosen:
            await sees(pilot, typed)
            await pilot.press(*"Q8_0", "down")
            assert app.screen.query_one("#dtype", Input).value == ""
        else:
            app.screen.query_one("#path", Input).value = typed
        await pilot.press("enter")

    async with settled(engine, path) as (app, pilot):
        app.chat_screen.decide(load_model, begun)
        engine.load()
        await load("./pear-Q8_0.gguf", chosen=how == "list")
        await sees(pilot, f"Left out: {begun.precision}.")
        assert engine.sent_of(Load)[-1] == Load(ModelOptions("./pear-Q8_0.gguf"))
        engine.tell(LoadFailed("There is no room.", kept=True))
        await load("./pear-Q8_0.gguf", chosen=how == "list")
        engine.load()
        await load("maker/apple")
        await wait_until(pilot, lambda: len(engine.sent_of(Load)) == 5)
        assert engine.sent_of(Load)[-1] == Load(replace(begun, path="maker/apple"))


@pytest.mark.parametrize("how", ["dialog", "command"])
@pytest.mark.parametrize("typed", ["./pear-Q8_0.gguf", "maker/pear"])
async def test_an_unknown_precision_is_refused_for_a_file_as_for_a_checkpoint(
    engine: ScriptedEngine, path: Path, home: Path, how: str, typed: str
) -> None:
    small_file(home / "work" / "pear-Q8_0.gguf", 7)
    async with settled(engine, path) as (app, pilot):
        app.chat_screen.decide(load_model, ModelOptions(dtype="foo"))
        await ask_for(app, pilot, how, typed)
        await sees(pilot, "Unknown dtype 'foo'. Choose auto, float32")
        assert len(engine.sent_of(Load)) == 2


async def test_a_load_that_fails_behind_the_dialog_is_told_in_it(engine: ScriptedEngine, path: Path) -> None:
    async with settled(engine, path) as (app, pilot):
        await say(app, pilot, "/model maker/pear")
        await pilot.press("ctrl+o")
        await wait_until(pilot, lambda: isinstance(app.screen, ModelScreen))
        engine.tell(LoadFailed("There is no room.", kept=True))
        await sees(pilot, "There is no room.", "Esc cancels")
