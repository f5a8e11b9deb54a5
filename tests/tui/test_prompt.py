"""The prompt: earlier prompts and examples, an editor of one's own, and long pastes."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from textual.app import App
from textual.events import Paste

from lade_chat.protocol.commands import Reply
from lade_chat.tui.transcript.turn import Folded
from lade_chat.tui.transcript.welcome import BUNDLED_EXAMPLES
from tests.tui.driving import opened, say, screen_text, sees, sees_no, status, wait_until
from tests.tui.scripted import FUNCTION, ScriptedEngine, finished, streamed
from tests.tui.talking import asked


async def test_an_example_is_reached_and_picked_by_key(engine: ScriptedEngine) -> None:
    async with opened(engine) as (_app, pilot):
        await pilot.press("shift+tab", "down", "enter")
        await wait_until(pilot, lambda: engine.sent_of(Reply))
        assert asked(engine).messages[-1].content in BUNDLED_EXAMPLES


async def test_recalling_goes_on_over_a_command(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        for text in ("/lookahead", "/system Be brief.", "/lookahead"):
            await say(app, pilot, text)
        for expected in ("/lookahead", "/system Be brief.", "/lookahead"):
            await pilot.press("up")
            assert app.chat_screen.prompt.text == expected


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
        await wait_until(pilot, lambda: line in status(app))
        assert app.chat_screen.prompt.text == "a message"


def _suspendable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a terminal there is nothing to hand over."""
    from contextlib import nullcontext

    monkeypatch.setattr(App, "suspend", lambda _app: nullcontext())


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
        await sees(pilot, "▸ 56 more lines", "line 59", "ready")
        assert "line 9" not in screen_text(app)
        await pilot.press("shift+tab", "up", "space")
        await wait_until(pilot, lambda: app.screen.query_one(Folded).size.height == 61)
        await pilot.press("space")
        await sees(pilot, "▸ 56 more lines")
        await pilot.click(Folded)
        await wait_until(pilot, lambda: app.screen.query_one(Folded).size.height == 61)
        await pilot.press("enter", "m")
        await sees(pilot, "Copied the message")
        assert app.clipboard == f"see {LONG}"


async def test_a_folded_paste_comes_back_folded(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        prompt = app.chat_screen.prompt
        await say(app, pilot, "first")
        engine.tell(*streamed(FUNCTION), finished(FUNCTION))
        await sees(pilot, "ready")
        await pilot.press(*"see ")
        prompt.post_message(Paste(LONG))
        folded = "see [60 lines pasted]"
        await wait_until(pilot, lambda: prompt.text == folded)
        await pilot.press("ctrl+c")
        assert prompt.text == ""
        await pilot.press("up")
        assert prompt.text == folded
        await pilot.press("enter")
        await wait_until(pilot, lambda: len(engine.sent_of(Reply)) == 2)
        command = engine.sent_of(Reply)[-1]
        assert isinstance(command, Reply)
        assert command.messages[-1].content == f"see {LONG}"
        engine.tell(*streamed(FUNCTION), finished(FUNCTION))
        await sees(pilot, "ready")
        await pilot.press("up")
        assert prompt.text == folded
        await pilot.press("up")
        assert prompt.text == "first"
        await pilot.press("down")
        assert prompt.text == folded
        await pilot.press("tab")
        assert prompt.text == f"see {LONG}"


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
