"""Completion in the prompt: commands, their arguments, and the paths of files."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest
from textual.widgets import Input

from lade_chat.errors import LadeChatError
from lade_chat.known_models import models_at_hand
from lade_chat.presentation.attachments import MAX_BYTES, attach, parted
from lade_chat.protocol.commands import Load, Reply, SetLookahead
from lade_chat.protocol.values import DecodingOptions, ModelOptions
from lade_chat.store.all_conversations import Store
from lade_chat.tui.app.application import ChatApp
from lade_chat.tui.chat.slash_commands import COMMANDS
from lade_chat.tui.prompt.completion import CompletionList, completions
from lade_chat.tui.screens.model_list import ModelList
from tests.tui.driving import opened, say, screen_text, sees, sees_no, status, wait_until
from tests.tui.scripted import FUNCTION, ScriptedEngine, finished, streamed
from tests.tui.talking import asked


async def test_commands_are_completed_while_they_are_typed(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        await pilot.press("/", "r", "e")
        await sees(pilot, "/resume", "/rename", "/retry")
        assert app.screen.query_one(CompletionList).highlighted is None
        await pilot.press("down", "down", "tab")
        assert app.chat_screen.prompt.text == "/rename "
        assert not app.screen.query_one(CompletionList).display
        await pilot.press("ctrl+u", "/", "l", "enter")
        await wait_until(pilot, lambda: engine.sent[-1] == SetLookahead(False))
        assert app.chat_screen.prompt.text == ""
        await pilot.press("/")
        await sees(pilot, "/help")
        await pilot.press("escape")
        await sees_no(pilot, "/help")
        assert app.chat_screen.prompt.text == "/"


async def test_tab_completes_and_never_leaves_the_prompt(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        await pilot.press("tab", *"a b", "tab", "tab", "c")
        assert app.chat_screen.prompt.text == "a bc"
        await pilot.press("ctrl+u", *"/theme ")
        await sees(pilot, "lade-dark", "lade-light", "lade-paper")
        await pilot.press(*"lade-pap", "tab", "tab", "enter")
        assert app.theme == "lade-paper"
        assert app.screen.focused is app.chat_screen.prompt


async def test_a_list_that_esc_closed_is_opened_by_tab_again(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        await pilot.press(*"/rena", "escape", "tab")
        assert app.chat_screen.prompt.text == "/rename "


def test_every_theme_can_be_completed(engine: ScriptedEngine) -> None:
    app = ChatApp(engine, ModelOptions(), DecodingOptions(), store=Store())
    assert {each.text for each in completions("/theme ", COMMANDS, first_line=True)} == set(app.available_themes)


def test_paths_are_completed_folders_first(here: Path) -> None:
    (here / "notes").mkdir()
    (here / "notes" / "a b.txt").write_text("")
    (here / "notes.txt").write_text("")
    (here / "notes.png").write_text("no text")
    (here / ".hidden").write_text("")
    assert [each.text for each in completions("see @no", COMMANDS, first_line=True)] == ["@notes/", "@notes.txt"]
    assert [each.text for each in completions("see @notes/", COMMANDS, first_line=False)] == ['@"notes/a b.txt"']
    assert [each.text for each in completions("see @.h", COMMANDS, first_line=False)] == ["@.hidden"]
    assert [each.text for each in completions("@", COMMANDS, first_line=False)] == ["@notes/", "@notes.txt"]
    for nothing in ("see no", "me@no", "@gone/x", "@@no"):
        assert not completions(nothing, COMMANDS, first_line=False)


@pytest.mark.parametrize(
    ("typed", "offered"),
    [
        ("/copy ", ["code", "all"]),
        ("/set top", ["top_p", "top_k"]),
        ("/help wi", []),
        ("/help w", ["web"]),
        ("/theme lade-p", ["lade-paper"]),
        ("/theme tokyo", ["tokyo-night"]),
        ("/model ./n", ["./notes/"]),
        ("/model org/n", []),
    ],
)
def test_what_can_follow_a_command_is_completed(here: Path, typed: str, offered: list[str]) -> None:
    (here / "notes").mkdir()
    assert [each.text for each in completions(typed, COMMANDS, first_line=True)] == offered


async def test_enter_completes_a_path_from_the_root_and_opens_nothing_yet(
    engine: ScriptedEngine, tmp_path: Path
) -> None:
    (tmp_path / "models").mkdir()
    async with opened(engine) as (app, pilot):
        before = list(engine.sent)
        app.chat_screen.prompt.put(f"/model {tmp_path}/")
        await pilot.press(*"mod", "enter")
        assert app.chat_screen.prompt.text == f"/model {tmp_path}/models/"
        assert engine.sent == before


@pytest.mark.parametrize("typed", ["models", "models/"])
async def test_enter_opens_a_folder_that_was_typed_whole(engine: ScriptedEngine, tmp_path: Path, typed: str) -> None:
    (tmp_path / "models" / "small").mkdir(parents=True)
    async with opened(engine) as (app, pilot):
        app.chat_screen.prompt.put(f"/model {tmp_path}/")
        await pilot.press(*typed, "enter")
        await wait_until(pilot, lambda: not app.chat_screen.prompt.text)
        assert engine.sent[-1] == Load(ModelOptions(f"{tmp_path}/{typed}"))


async def test_what_is_picked_for_an_argument_not_begun_is_taken(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        await pilot.press(*"/lookahead ", "down", "down", "enter")
        assert app.chat_screen.prompt.text == "/lookahead off"


async def test_enter_runs_a_command_whose_argument_is_not_begun(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        await pilot.press(*"/look", "tab", "enter")
        await wait_until(pilot, lambda: not app.chat_screen.state.options.lookahead)
        await pilot.press(*"/lookahead o", "tab", "enter")
        await wait_until(pilot, lambda: app.chat_screen.state.options.lookahead)


# --- Paths that somebody types into the chat: whatever stands there, it is a line, and the chat goes on

NOBODY = "~nobody-of-this-name"


async def test_a_file_of_nobody_cannot_be_attached(engine: ScriptedEngine, here: Path) -> None:
    async with opened(engine, size=(160, 24)) as (app, pilot):
        app.chat_screen.prompt.put(f"Read @{NOBODY}")
        app.chat_screen.read_ahead(f"Read @{NOBODY}")
        await pilot.press("enter")
        await wait_until(pilot, lambda: f"There is no file {NOBODY}" in status(app))
        await say(app, pilot, f"Read @@{NOBODY}")
        await wait_until(pilot, lambda: engine.sent_of(Reply))


@pytest.mark.parametrize(
    ("name", "why"),
    [
        (f"{NOBODY}/x.md", f"there is no folder {NOBODY}"),
        ("a" * 300 + ".md", "too long"),
        ("file/x.md", "Not a directory"),
    ],
)
async def test_a_conversation_cannot_be_saved_anywhere(engine: ScriptedEngine, here: Path, name: str, why: str) -> None:
    (here / "file").write_text("")
    async with opened(engine, size=(200, 24)) as (app, pilot):
        await say(app, pilot, "Go on")
        engine.tell(*streamed(FUNCTION), finished(FUNCTION))
        for suffix in (".md", ".svg"):
            await say(app, pilot, f"/save {name.replace('.md', suffix)}")
            await wait_until(
                pilot,
                lambda: "cannot be written: " in status(app) and why in status(app),
            )
            await say(app, pilot, "/lookahead on")  # the line about it goes
        assert [path.name for path in here.iterdir()] == ["file"]


async def test_folders_of_a_typed_path_are_looked_up_beside_the_screen(
    engine: ScriptedEngine, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "folders" / "one").mkdir(parents=True)
    (here / "folders" / "one" / "config.json").write_text(json.dumps({}))
    (here / "folders" / "one" / "model.safetensors").write_text("")
    (here / "folders" / "other").mkdir()
    screen, threads = threading.get_ident(), set[int]()
    real = models_at_hand.holds_model

    def recorded(folder: Path) -> bool:
        threads.add(threading.get_ident())
        return real(folder)

    monkeypatch.setattr(models_at_hand, "holds_model", recorded)
    async with opened(engine, size=(100, 30)) as (app, pilot):
        await pilot.press("ctrl+o")
        await wait_until(pilot, lambda: app.screen.query(ModelList))
        field = app.screen.query_one("#path", Input)
        field.value = f"{NOBODY}/"
        await pilot.pause()
        field.value = "./folders/o"
        await sees(pilot, "./folders/one", "./folders/other/")
        field.value = "./folders/ot"
        await sees_no(pilot, "./folders/one")
        await sees(pilot, "./folders/other/")
    assert threads
    assert screen not in threads


def test_few_of_many_folders_are_offered(here: Path) -> None:
    for number in range(models_at_hand.MAX_COMPLETIONS + 5):
        (here / f"folder-{number:04}").mkdir()
    found = models_at_hand.completions("./")
    assert len(found) == models_at_hand.MAX_COMPLETIONS
    assert found[0].path == "./folder-0000"
    assert models_at_hand.completions(f"{NOBODY}/") == models_at_hand.completions("/\0/") == ()


# --- Files attached to a message by ``@name``: sent whole, shown as a line, or refused in one


def test_a_file_goes_with_the_question_and_is_told_from_it_again(here: Path) -> None:
    (here / "notes.txt").write_text("one\n```\ntwo")
    (here / "my list.txt").write_text("")
    typed = 'Compare @notes.txt and @"my list.txt", please.'
    question = attach(typed)
    assert "File notes.txt:\n````\none\n```\ntwo\n````" in question
    text, files = parted(question)
    assert text == typed
    assert [tuple(file) for file in files] == [("notes.txt", "one\n```\ntwo"), ("my list.txt", "")]


@pytest.mark.parametrize("text", ["mail me@home.example", "@someone said", "@@notes.txt", "a @ b", "plain"])
def test_what_is_no_file_stays_as_it_is(here: Path, text: str) -> None:
    (here / "notes.txt").write_text("x")
    assert attach(text) == text.replace("@@", "@")


def test_a_sign_behind_a_name_is_not_of_the_name(here: Path) -> None:
    (here / "notes.txt").write_text("x")
    for typed in ("What is in @notes.txt?", "(see @notes.txt)", "Sum up @notes.txt."):
        assert parted(attach(typed.replace("(see ", "( see ")))[1] == (("notes.txt", "x"),)


@pytest.mark.parametrize(
    ("name", "data", "line"),
    [
        ("gone.txt", None, "There is no file gone.txt"),
        ("picture.png", b"\x89PNG\x00", "not a text file"),
        ("latin.txt", "é".encode("latin-1"), "not a text file"),
        ("big.txt", b"x" * (MAX_BYTES + 1), "too large"),
    ],
)
def test_what_cannot_be_attached_is_said_in_a_line(here: Path, name: str, data: bytes | None, line: str) -> None:
    if data is not None:
        (here / name).write_bytes(data)
    with pytest.raises(LadeChatError, match=line) as refused:
        attach(f"Read @{name}")
    assert "\n" not in str(refused.value)


def test_a_folder_cannot_be_attached(here: Path) -> None:
    (here / "folder").mkdir()
    with pytest.raises(LadeChatError, match="is a folder"):
        attach("Read @folder/")


async def test_an_attached_file_is_sent_whole_and_shown_as_one_line(engine: ScriptedEngine, here: Path) -> None:
    (here / "notes.txt").write_text("first line\nsecond line\n")
    async with opened(engine) as (app, pilot):
        await pilot.press(*"Sum up @no")
        await sees(pilot, "@notes.txt")
        await pilot.press("tab")
        assert app.chat_screen.prompt.text == "Sum up @notes.txt "
        await pilot.press("enter")
        await wait_until(pilot, lambda: "first line\nsecond line" in asked(engine).messages[-1].content)
        await sees(pilot, "notes.txt · 2 lines")
        assert "second line" not in screen_text(app)
        await pilot.click("Folded.file")
        await sees(pilot, "second line")
        await pilot.press("up")
        assert app.chat_screen.prompt.text == "Sum up @notes.txt "


async def test_a_missing_file_keeps_the_message_in_the_prompt(engine: ScriptedEngine, here: Path) -> None:
    async with opened(engine) as (app, pilot):
        await say(app, pilot, "Read @gone.txt")
        await wait_until(pilot, lambda: "There is no file gone.txt" in status(app))
        assert app.chat_screen.prompt.text == "Read @gone.txt"
        assert not engine.sent_of(Reply)
        await pilot.press("home", "enter")
        assert app.chat_screen.prompt.cursor_location == (0, len("Read @gone.txt"))
        await pilot.press("ctrl+r")
        await wait_until(pilot, lambda: "There is no file gone.txt" in status(app))
        await pilot.press("ctrl+c")
        await wait_until(pilot, lambda: status(app).startswith("ready"))
        await say(app, pilot, "/compare Read @gone.txt")
        await wait_until(pilot, lambda: "There is no file gone.txt" in status(app))
        await pilot.press("up")
        assert app.chat_screen.prompt.text == "/compare Read @gone.txt"
