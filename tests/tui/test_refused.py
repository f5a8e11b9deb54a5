"""A message that gets no answer comes back as it was typed, is not lost, and leaves the transcript its room."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

import pytest

from lade_chat.protocol.commands import Compare, Reply
from lade_chat.protocol.events import EngineLost, Failed
from lade_chat.protocol.values import Message
from lade_chat.store.all_conversations import Store
from lade_chat.tui.conversations.conversation_session import Start
from lade_chat.tui.reply.reply_turn import ReplyTurn
from tests.tui.driving import opened, resize, say, sees, status, wait_until
from tests.tui.scripted import ScriptedEngine, finished, streamed

TOO_LONG = Failed("The prompt is too long: 5000 tokens.")
ANSWER = (("1",),)


@pytest.mark.parametrize("typed", ["@notes.txt what is it", "//etc is what?", "@@nobody is who?"])
async def test_a_refused_message_comes_back_as_it_was_typed(
    engine: ScriptedEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, typed: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes.txt").write_text("a line\n" * 200)
    async with opened(engine) as (app, pilot):
        await say(app, pilot, typed)
        engine.tell(TOO_LONG)
        await sees(pilot, "✗ The prompt is too long")
        await wait_until(pilot, lambda: not app.screen.query(ReplyTurn))
        assert app.chat_screen.prompt.text == typed


async def test_a_message_that_waited_comes_back_as_it_was_typed(
    engine: ScriptedEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "notes.txt").write_text("a line\n")
    async with opened(engine, model=None) as (app, pilot):
        await say(app, pilot, "@notes.txt what is it")
        await pilot.press("ctrl+n")
        await wait_until(pilot, lambda: app.chat_screen.prompt.text == "@notes.txt what is it")


@pytest.mark.parametrize("leave", ["ctrl+q", "ctrl+n"])
async def test_a_refused_message_is_kept_when_its_conversation_is_left(
    engine: ScriptedEngine, tmp_path: Path, leave: str
) -> None:
    async with opened(engine, store=Store(tmp_path)) as (app, pilot):
        await say(app, pilot, "far too long")
        engine.tell(TOO_LONG)
        await wait_until(pilot, lambda: app.chat_screen.prompt.text == "far too long")
        await pilot.press(leave)
    async with opened(ScriptedEngine(), store=Store(tmp_path), start=Start(latest=True)) as (app, pilot):
        await sees(pilot, "far too long", "Not answered")


@pytest.mark.parametrize("end", [TOO_LONG, EngineLost("killed")])
async def test_a_message_that_came_back_is_on_the_disk_of_a_chat_that_is_killed(
    engine: ScriptedEngine, tmp_path: Path, end: Failed | EngineLost
) -> None:
    async with opened(engine, store=Store(tmp_path)) as (app, pilot):
        await say(app, pilot, "Hello")
        engine.tell(end)
        await wait_until(
            pilot, lambda: app.chat_screen.prompt.text == "Hello" and not app.chat_screen.store_worker.busy
        )
        latest = Store(tmp_path).latest()
        assert latest is not None
        assert [(turn.question, turn.ending) for turn in latest.path] == [("Hello", None)]


@pytest.fixture
def full_disk(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Fills the disk when called."""

    def refuse(_connection: object) -> NoReturn:
        raise sqlite3.OperationalError("database or disk is full")

    return lambda: monkeypatch.setattr("lade_chat.store.sqlite.database.transaction", refuse)


async def test_a_refused_message_that_cannot_be_kept_is_lost_only_by_a_second_press(
    engine: ScriptedEngine, full_disk: Callable[[], None]
) -> None:
    async with opened(engine) as (app, pilot):
        full_disk()
        await say(app, pilot, "far too long")
        engine.tell(TOO_LONG)
        await wait_until(pilot, lambda: app.chat_screen.prompt.text == "far too long")
        await pilot.press("ctrl+q")
        await sees(pilot, "Ctrl+Q again quits, and loses")
        await pilot.press("x", "ctrl+q")
        assert not engine.closed  # not twice in a row
        await pilot.press("ctrl+q")
        await wait_until(pilot, lambda: engine.closed)


async def test_a_refused_retry_on_a_full_disk_is_no_loss(engine: ScriptedEngine, full_disk: Callable[[], None]) -> None:
    async with opened(engine) as (app, pilot):
        await say(app, pilot, "one")
        engine.tell(*streamed(ANSWER), finished(ANSWER))
        await wait_until(pilot, lambda: "ready" in status(app))
        full_disk()
        await say(app, pilot, "/retry")
        engine.tell(TOO_LONG)
        await sees(pilot, "✗ The prompt is too long")
        assert app.chat_screen.store_worker.store.unsaved
        await pilot.press("ctrl+q")
        await wait_until(pilot, lambda: engine.closed)


async def test_a_message_taken_back_on_a_full_disk_is_no_loss(
    engine: ScriptedEngine, full_disk: Callable[[], None]
) -> None:
    async with opened(engine, model=None) as (app, pilot):
        full_disk()
        await say(app, pilot, "one")
        await sees(pilot, "There is no room left")
        await pilot.press("ctrl+q")
        await sees(pilot, "Ctrl+Q again quits, and loses")
        await pilot.press("up")
        await wait_until(pilot, lambda: app.chat_screen.prompt.text == "one" and not app.chat_screen.store_worker.busy)
        await pilot.press("ctrl+q")
        await wait_until(pilot, lambda: engine.closed)


async def test_a_refused_edit_is_kept_as_an_alternative(engine: ScriptedEngine, tmp_path: Path) -> None:
    async with opened(engine, store=Store(tmp_path)) as (app, pilot):
        await say(app, pilot, "one")
        engine.tell(*streamed(ANSWER), finished(ANSWER))
        await wait_until(pilot, lambda: "ready" in status(app))
        await say(app, pilot, "/edit")
        await say(app, pilot, "one, far too long")
        engine.tell(TOO_LONG)
        await wait_until(pilot, lambda: app.chat_screen.prompt.text == "one, far too long")
        await pilot.press("ctrl+q")
    latest = Store(tmp_path).latest()
    assert latest is not None
    assert sorted((turn.question, turn.reply, turn.parent) for turn in latest.turns) == [
        ("one", "1", None),
        ("one, far too long", "", None),
    ]


async def test_what_is_sent_in_its_place_replaces_it(engine: ScriptedEngine, tmp_path: Path) -> None:
    async with opened(engine, store=Store(tmp_path)) as (app, pilot):
        await say(app, pilot, "far too long")
        engine.tell(TOO_LONG)
        await wait_until(pilot, lambda: app.chat_screen.prompt.text == "far too long")
        await say(app, pilot, "short")
        engine.tell(*streamed(ANSWER), finished(ANSWER))
        await wait_until(pilot, lambda: "ready" in status(app) and len(engine.sent_of(Reply)) == 2)
        await pilot.press("ctrl+q")
    latest = Store(tmp_path).latest()
    assert latest is not None
    assert [(turn.question, turn.reply) for turn in latest.turns] == [("short", "1")]


@pytest.mark.parametrize("debug", [False, True])
async def test_a_long_draft_leaves_room_for_the_transcript(engine: ScriptedEngine, debug: bool) -> None:
    async with opened(engine, debug=debug) as (app, pilot):
        for width, height in ((60, 18), (80, 24)):
            await resize(pilot, width, height)
            app.chat_screen.prompt.put("\n".join(f"line {number}" for number in range(100)))
            await sees(pilot, "line 97", "line 99")
            assert 3 <= app.chat_screen.prompt.outer_size.height <= height // 3
            assert app.chat_screen.transcript.size.height >= 3


async def test_a_command_in_the_prompt_is_not_raced(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        app.chat_screen.prompt.put("/set nosuch 3")
        await pilot.press("ctrl+r")
        await wait_until(pilot, lambda: "Nothing to race yet" in status(app))
        await say(app, pilot, "one")
        engine.tell(*streamed(ANSWER), finished(ANSWER))
        await wait_until(pilot, lambda: "ready" in status(app))
        app.chat_screen.prompt.put("/set nosuch 3")
        await pilot.press("ctrl+r")
        await sees(pilot, "Race: one")
        (command,) = engine.sent_of(Compare)
        assert isinstance(command, Compare)
        assert command.messages == (Message("user", "one"),)
        assert app.chat_screen.prompt.text == "/set nosuch 3"


@pytest.mark.parametrize(("typed", "asked"), [("//etc is what?", "/etc is what?"), ("@@me", "@me")])
async def test_a_draft_is_raced_as_it_would_be_asked(engine: ScriptedEngine, typed: str, asked: str) -> None:
    async with opened(engine) as (app, pilot):
        app.chat_screen.prompt.put(typed)
        await pilot.press("ctrl+r")
        (command,) = engine.sent_of(Compare)
        assert isinstance(command, Compare)
        assert command.messages == (Message("user", asked),)


async def test_the_way_back_from_a_deletion_fits_beside_a_long_title(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        await say(app, pilot, "Write a Python function that sums the primes below a bound, and explain it")
        engine.tell(*streamed(ANSWER), finished(ANSWER))
        await wait_until(pilot, lambda: "ready" in status(app))
        await say(app, pilot, "/delete")
        await wait_until(pilot, lambda: "then Ctrl+Z, brings it back" in status(app))
