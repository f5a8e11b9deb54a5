"""Files attached to a message by ``@name``: sent whole, shown as a line, or refused in one."""

from __future__ import annotations

from pathlib import Path

import pytest

from lade_chat.errors import LadeChatError
from lade_chat.presentation.attachments import MAX_BYTES, attach, parted
from lade_chat.protocol.commands import Reply
from tests.tui.driving import opened, say, screen_text, sees, status, wait_until
from tests.tui.scripted import ScriptedEngine
from tests.tui.talking import asked


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
        assert app.chat_screen.prompt.text == "/compare Read @gone.txt"
