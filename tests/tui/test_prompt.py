"""The prompt: slash commands with completion, attached files, an editor of one's own."""

from __future__ import annotations

import re
import stat
from pathlib import Path

import pytest
from textual.app import App
from textual.events import Paste

from lade_chat.presentation.attachments import MAX_BYTES, AttachmentError, attach, parted
from lade_chat.protocol.commands import Compare, Load, Reply
from lade_chat.protocol.control import SetLookahead
from lade_chat.protocol.values import DecodingOptions, ModelOptions, Sampling
from lade_chat.store.store import Store
from lade_chat.tui.app.application import ChatApp
from lade_chat.tui.chat.commands import COMMANDS, parse
from lade_chat.tui.control.view import Phase
from lade_chat.tui.prompt.completion import completions, is_command, unescaped
from lade_chat.tui.prompt.completion_list import CompletionList
from lade_chat.tui.race.screen import RaceScreen
from lade_chat.tui.screens.model import ModelScreen
from lade_chat.tui.transcript.message_text import FoldedMessage
from lade_chat.tui.transcript.welcome import EXAMPLES
from tests.tui.driving import opened, say, screen_text, sees, sees_no, status, wait_until
from tests.tui.scripted import FUNCTION, ScriptedEngine, finished, streamed

SHORT = (("It", " is"), (" 42", "."))


def asked(engine: ScriptedEngine) -> Reply:
    command = engine.sent_of(Reply)[-1]
    assert isinstance(command, Reply)
    return command


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


# --- slash commands ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["/retry", "/ret", "/RETRY  ", "/retry\n"])
def test_a_command_is_found_by_its_name_or_the_beginning_of_it(text: str) -> None:
    assert parse(text) == (next(each for each in COMMANDS if each.name == "retry"), "")


def test_what_follows_a_command_is_its_argument() -> None:
    command, argument = parse("/compare Tell me  a story. ")
    assert (command.name, argument) == ("compare", "Tell me  a story.")


@pytest.mark.parametrize(
    ("text", "near"),
    [
        ("/retyr", "/retry?"),
        ("/re", "/resume, /rename, /retry or /reopen?"),
        ("/lokahead", "/lookahead?"),
        ("/exprot x.gif", "/export?"),
        ("/models", "/model?"),
        ("/exit", "/quit?"),
        ("/s", "/save, /system, /set or /settings?"),
    ],
)
def test_an_unknown_command_is_answered_with_what_is_near(text: str, near: str) -> None:
    with pytest.raises(ValueError, match=re.escape(f"Did you mean {near}")):
        parse(text)


@pytest.mark.parametrize("text", ["/foo", "/xyzzy", "/bar", "/etc/passwd", "/hp", "/a"])
def test_where_nothing_is_near_nothing_is_suggested(text: str) -> None:
    with pytest.raises(ValueError, match=r"There is no command /\S+\. / lists them all; // sends a slash\.") as refused:
        parse(text)
    assert "mean" not in str(refused.value)


def test_a_slash_alone_is_told_where_the_commands_are() -> None:
    with pytest.raises(ValueError, match="/help commands lists"):
        parse("/")


def test_two_slashes_are_a_text() -> None:
    assert not is_command("//etc/passwd")
    assert is_command("  /explain")
    assert not is_command("  // a comment")
    assert unescaped("//etc/passwd") == "/etc/passwd"
    assert unescaped("1 // 2") == "1 // 2"


async def test_an_unknown_command_is_sent_to_nobody_and_stays(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        await say(app, pilot, "/frobnicate")
        assert "There is no command /frobnicate" in status(app)
        assert "Ctrl+C clears the prompt." in status(app)
        assert app.chat_screen.prompt.text == "/frobnicate"
        assert app.chat_screen.prompt.cursor_location == (0, len("/frobnicate"))
        assert not engine.sent_of(Reply)
        await say(app, pilot, "//frobnicate")
        assert asked(engine).messages[-1].content == "/frobnicate"


async def test_commands_are_completed_while_they_are_typed(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        await pilot.press("/", "r", "e")
        await sees(pilot, "/resume", "/rename", "/retry")
        await pilot.press("down", "tab")
        assert app.chat_screen.prompt.text == "/rename "
        assert not app.screen.query_one(CompletionList).display
        await pilot.press("ctrl+u", "/", "l", "enter")
        assert engine.sent[-1] == SetLookahead(False)
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


async def test_an_example_is_reached_and_picked_by_key(engine: ScriptedEngine) -> None:
    async with opened(engine) as (_app, pilot):
        await pilot.press("shift+tab", "down", "enter")
        await wait_until(pilot, lambda: engine.sent_of(Reply))
        assert asked(engine).messages[-1].content in EXAMPLES


async def test_recalling_goes_on_over_a_command(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        for text in ("/lookahead", "/system Be brief.", "/lookahead"):
            await say(app, pilot, text)
        for expected in ("/lookahead", "/system Be brief.", "/lookahead"):
            await pilot.press("up")
            assert app.chat_screen.prompt.text == expected


async def test_options_are_set_for_the_next_reply(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        for text in ("/set temperature 0.8", "/set seed=7", "/set max-new-tokens 50", "/set window_size 4"):
            await say(app, pilot, text)
        await say(app, pilot, "Hello")
        options = asked(engine).options
        assert options.sampling == Sampling(temperature=0.8, seed=7)
        assert options.max_new_tokens == 50
        assert options.sizes is not None
        assert options.sizes.window_size == 4
        engine.tell(*streamed(SHORT), finished(SHORT))
        await wait_until(pilot, lambda: app.chat_screen.chat.phase is Phase.READY)
        await say(app, pilot, "/set temperature 0")
        await say(app, pilot, "/set sizes auto")
        await say(app, pilot, "Hello")
        assert asked(engine).options.sampling is None
        assert asked(engine).options.sizes is None


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("/set temperature hot", "temperature must be a number of at least 0, not hot."),
        ("/set temperature -4", "temperature must be a number of at least 0, not -4. Ctrl+C clears the prompt."),
        ("/set seed 1e9", "seed must be a whole number from 0 to 2⁶⁴ - 1, not 1e9. Ctrl+C"),
        ("/set max_new_tokens 99999999999999999999", "max_new_tokens must be a whole number from 1 to 1000000, not 99"),
        ("/set top_p 2", "top_p must be a number above 0, at most 1, not 2"),
        ("/set temprature 1", "Did you mean temperature?"),
        ("/lookahead maybe", "/lookahead on, or /lookahead off"),
        ("/copy", "There is no reply to copy yet"),
        ("/copy that", "/copy code, or /copy all"),
        ("/retry", "Nothing to ask again yet"),
        ("/continue", "There is no reply to continue yet"),
        ("/edit", "There is no question to edit yet"),
        ("/save", "There is nothing to save yet"),
        ("/rename x", "There is nothing to name yet"),
        ("/delete", "There is nothing to delete yet"),
        ("/system", "There is no system prompt"),
        ("/system save", "/system save NAME"),
        ("/theme lade-papre", "Did you mean lade-paper?"),
        ("/temperature 5", "There is no command /temperature. Did you mean /set temperature?"),
    ],
)
async def test_what_cannot_be_done_is_said_in_a_line(engine: ScriptedEngine, text: str, line: str) -> None:
    """What is to be corrected stays in the prompt; what is to be done later does not."""
    async with opened(engine, size=(160, 24)) as (app, pilot):
        await say(app, pilot, text)
        assert line in status(app)
        later = line.endswith(" yet") or text == "/system"
        assert app.chat_screen.prompt.text == ("" if later else text)
        assert app.chat_screen.chat.conversation.current.about.system is None


@pytest.mark.parametrize("text", ["/colours pink", "/view bogus", "/new Hello", "/debug on", "/quit now"])
async def test_a_command_that_takes_nothing_is_refused_with_something(engine: ScriptedEngine, text: str) -> None:
    async with opened(engine) as (app, pilot):
        before, name = app.chat_screen.chat.conversation.current, text.partition(" ")[0]
        await say(app, pilot, text)
        assert f"Use {name} alone: it takes nothing after it." in status(app)
        assert app.chat_screen.prompt.text == text
        assert app.chat_screen.chat.conversation.current is before
        assert not app.chat_screen.chat.options.debug
        assert not engine.closed


async def test_the_title_is_told_without_a_second_full_stop(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        await say(app, pilot, "13 is prime.")
        engine.tell(*streamed(SHORT), finished(SHORT))
        await wait_until(pilot, lambda: app.chat_screen.chat.phase is Phase.READY)
        await say(app, pilot, "/rename")
        assert "Title: “13 is prime.” · /rename TITLE changes it" in status(app)
        await say(app, pilot, "/rename It is.")
        await wait_until(pilot, lambda: "The title is now “It is.”" in status(app))
        assert "”." not in status(app)


async def test_a_theme_is_chosen_by_its_name(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        await say(app, pilot, "/theme lade-paper")
        assert app.theme == "lade-paper"
        # A longer name begins with this one, and is not taken for it.
        await pilot.press(*"/theme lade-dark", "enter")
        await wait_until(pilot, lambda: app.theme == "lade-dark")


async def test_the_other_commands_do_what_their_keys_do(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        await say(app, pilot, "/system Be brief.")
        await say(app, pilot, "/model")
        assert isinstance(app.screen, ModelScreen)
        await pilot.press("escape")
        await say(app, pilot, "/compare Hello")
        await wait_until(pilot, lambda: isinstance(app.screen, RaceScreen))
        (race,) = engine.sent_of(Compare)
        assert isinstance(race, Compare)
        assert [message.content for message in race.messages] == ["Be brief.", "Hello"]


async def test_a_model_is_opened_by_its_path(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        await say(app, pilot, "/model ./other model")
        load = engine.sent[-1]
        assert isinstance(load, Load)
        assert load.options.path == "./other model"


async def test_quit_quits(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        await say(app, pilot, "/quit")
        await wait_until(pilot, lambda: engine.closed)


# --- attached files ----------------------------------------------------------------------------------------------


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
    with pytest.raises(AttachmentError, match=line) as refused:
        attach(f"Read @{name}")
    assert "\n" not in str(refused.value)


def test_a_folder_cannot_be_attached(here: Path) -> None:
    (here / "folder").mkdir()
    with pytest.raises(AttachmentError, match="is a folder"):
        attach("Read @folder/")


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


async def test_enter_runs_a_command_whose_argument_is_not_begun(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        await pilot.press(*"/look", "tab", "enter")
        await wait_until(pilot, lambda: not app.chat_screen.chat.options.lookahead)
        await pilot.press(*"/lookahead o", "tab", "enter")
        await wait_until(pilot, lambda: app.chat_screen.chat.options.lookahead)


async def test_an_attached_file_is_sent_whole_and_shown_as_one_line(engine: ScriptedEngine, here: Path) -> None:
    (here / "notes.txt").write_text("first line\nsecond line\n")
    async with opened(engine) as (app, pilot):
        await pilot.press(*"Sum up @no")
        await sees(pilot, "@notes.txt")
        await pilot.press("tab")
        assert app.chat_screen.prompt.text == "Sum up @notes.txt "
        await pilot.press("enter")
        assert "first line\nsecond line" in asked(engine).messages[-1].content
        await sees(pilot, "notes.txt · 2 lines")
        assert "second line" not in screen_text(app)
        await pilot.click("FoldedFile")
        await sees(pilot, "second line")
        await pilot.press("up")
        assert app.chat_screen.prompt.text == "Sum up @notes.txt "


async def test_a_missing_file_keeps_the_message_in_the_prompt(engine: ScriptedEngine, here: Path) -> None:
    async with opened(engine) as (app, pilot):
        await say(app, pilot, "Read @gone.txt")
        assert "There is no file gone.txt" in status(app)
        assert app.chat_screen.prompt.text == "Read @gone.txt"
        assert not engine.sent_of(Reply)
        await pilot.press("home", "enter")
        assert app.chat_screen.prompt.cursor_location == (0, len("Read @gone.txt"))
        await pilot.press("ctrl+r")
        assert "There is no file gone.txt" in status(app)
        await pilot.press("ctrl+c")
        assert status(app).startswith("ready")
        await say(app, pilot, "/compare Read @gone.txt")
        assert "There is no file gone.txt" in status(app)
        assert app.chat_screen.prompt.text == "/compare Read @gone.txt"


# --- an editor ---------------------------------------------------------------------------------------------------


async def test_a_message_is_written_in_an_editor(
    engine: ScriptedEngine, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor = here / "editor"
    editor.write_text('#!/bin/sh\nprintf "%s and more\\n\\n" "$(cat "$1")" > "$1.new" && mv "$1.new" "$1"\n')
    editor.chmod(editor.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("VISUAL", str(editor))
    _suspendable(monkeypatch)
    async with opened(engine) as (app, pilot):
        app.chat_screen.prompt.put("a message")
        await pilot.press("ctrl+g")
        assert app.chat_screen.prompt.text == "a message and more"


@pytest.mark.parametrize(
    ("editor", "line"), [("/nowhere/editor", "There is no editor /nowhere/editor"), ("false", "exit code 1")]
)
async def test_an_editor_that_fails_leaves_the_message(
    engine: ScriptedEngine, monkeypatch: pytest.MonkeyPatch, editor: str, line: str
) -> None:
    monkeypatch.setenv("VISUAL", editor)
    _suspendable(monkeypatch)
    async with opened(engine) as (app, pilot):
        app.chat_screen.prompt.put("a message")
        await pilot.press("ctrl+g")
        assert line in status(app)
        assert app.chat_screen.prompt.text == "a message"


def _suspendable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a terminal there is nothing to hand over."""
    from contextlib import nullcontext

    monkeypatch.setattr(App, "suspend", lambda _app: nullcontext())


async def test_a_command_behind_blanks_is_completed_and_run(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        await pilot.press(*"  /looka", "tab")
        assert app.chat_screen.prompt.text == "  /lookahead "
        await pilot.press("enter")
        await wait_until(pilot, lambda: engine.sent[-1] == SetLookahead(False))
        assert not app.chat_screen.prompt.text


# --- long pastes --------------------------------------------------------------------------------------------------

LONG = "\n".join(f"line {number}" for number in range(60))


async def test_a_long_paste_is_folded_and_sent_whole(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        prompt = app.chat_screen.prompt
        await pilot.press(*"see ")
        prompt.post_message(Paste(LONG))
        await wait_until(pilot, lambda: prompt.text == "see [60 lines pasted]")
        await sees(pilot, "Tab opens a folded paste")
        text = prompt.text
        prompt.put("")
        await sees_no(pilot, "Tab opens")  # no longer true
        prompt.put(text)
        prompt.post_message(Paste(LONG.upper()))
        await wait_until(pilot, lambda: prompt.text == "see [60 lines pasted][60 lines pasted, 2]")
        await pilot.press("ctrl+w", "enter")
        await wait_until(pilot, lambda: engine.sent_of(Reply))
        (command,) = engine.sent_of(Reply)
        assert isinstance(command, Reply)
        assert command.messages[-1].content == f"see {LONG}"
        engine.tell(*streamed(FUNCTION), finished(FUNCTION))
        await sees(pilot, "▸ 57 more lines", "ready")
        assert "line 9" not in screen_text(app)
        await pilot.press("shift+tab", "up", "space")
        await wait_until(pilot, lambda: app.screen.query_one(FoldedMessage).size.height == 61)
        await pilot.press("space")
        await sees(pilot, "▸ 57 more lines")
        await pilot.click(FoldedMessage)
        await wait_until(pilot, lambda: app.screen.query_one(FoldedMessage).size.height == 61)
        await pilot.press("enter", "m")
        await sees(pilot, "Copied the message")
        assert app.clipboard == f"see {LONG}"


async def test_a_folded_paste_can_be_opened(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        prompt = app.chat_screen.prompt
        prompt.post_message(Paste(LONG))
        await wait_until(pilot, lambda: prompt.text == "[60 lines pasted]")
        await pilot.press("tab")
        assert prompt.text == LONG
        prompt.clear_all()
        prompt.post_message(Paste("\n".join("0123456789")))
        await wait_until(pilot, lambda: prompt.text == "\n".join("0123456789"))
