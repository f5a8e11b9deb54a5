"""Completion in the prompt: commands, their arguments, and the paths of files."""

from __future__ import annotations

from pathlib import Path

import pytest

from lade_chat.protocol.commands import Load, SetLookahead
from lade_chat.protocol.values import DecodingOptions, ModelOptions
from lade_chat.store.store import Store
from lade_chat.tui.app.application import ChatApp
from lade_chat.tui.chat.slash_commands import COMMANDS
from lade_chat.tui.prompt.completion import CompletionList, completions
from tests.tui.driving import opened, sees, sees_no, wait_until
from tests.tui.scripted import ScriptedEngine


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
