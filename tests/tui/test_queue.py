"""Messages that are sent while a reply runs wait for its end; until then they can be edited and taken back."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from textual.pilot import Pilot

from lade_chat.protocol.commands import Reply, Stop
from lade_chat.protocol.events import EngineLost, LoadFailed
from lade_chat.store.all_conversations import Store
from lade_chat.store.sqlite.schema import transaction
from lade_chat.tui.app.application import ChatApp
from lade_chat.tui.chat.chat_state import Phase
from lade_chat.tui.chat.decisions.navigation import go_beside, load_model
from lade_chat.tui.transcript.turn_view import Speaker
from tests.tui.driving import opened, say, screen_text, sees, sees_no, wait_until
from tests.tui.scripted import ScriptedEngine, finished, streamed

ONE = (("1",),)


async def busy(app: ChatApp, pilot: Pilot[None], engine: ScriptedEngine, *queued: str) -> None:
    """Have a reply running, and these messages sent meanwhile."""
    await say(app, pilot, "zero")
    engine.tell(*streamed(ONE))
    for text in queued:
        await say(app, pilot, text)


def questions(engine: ScriptedEngine) -> list[str]:
    return [command.messages[-1].content for command in engine.sent_of(Reply) if isinstance(command, Reply)]


async def test_messages_sent_during_a_reply_are_asked_in_order_once_it_has_ended(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        await busy(app, pilot, engine, "one", "two")
        assert questions(engine) == ["zero"]
        assert app.chat_screen.prompt.text == ""
        await sees(pilot, "one", "two", "Up takes it back")
        assert screen_text(app).count("waits for the model") == 2
        assert screen_text(app).count("takes it back") == 1
        for count in (2, 3):
            engine.tell(finished(ONE))
            await wait_until(pilot, lambda count=count: len(questions(engine)) == count)  # type: ignore[misc]
            engine.tell(*streamed(ONE))
        assert questions(engine) == ["zero", "one", "two"]
        command = engine.sent_of(Reply)[-1]
        assert isinstance(command, Reply)
        assert [message.content for message in command.messages] == ["zero", "1", "one", "1", "two"]


def on_disk(app: ChatApp) -> list[str | None]:
    """The questions of the latest conversation, as another program would read them."""
    latest = Store(app.chat_screen.store_worker.store.path.parent).latest()
    assert latest is not None
    return [turn.question for turn in latest.path]


@pytest.mark.parametrize("key", ["up", "escape"])
async def test_the_last_of_them_comes_back_to_be_edited(engine: ScriptedEngine, key: str) -> None:
    async with opened(engine) as (app, pilot):
        await busy(app, pilot, engine, "one", "two")
        await pilot.press(key)
        await wait_until(pilot, lambda: app.chat_screen.prompt.text == "two")
        assert screen_text(app).count("takes it back") == 1
        assert not engine.sent_of(Stop)
        await pilot.press("!", "enter")
        engine.tell(finished(ONE))
        await wait_until(pilot, lambda: len(questions(engine)) == 2)
        engine.tell(*streamed(ONE), finished(ONE))
        await wait_until(pilot, lambda: questions(engine)[2:] == ["two!"])


async def test_escape_twice_stops_the_reply_and_forgets_what_waits(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        await busy(app, pilot, engine, "one", "two", "three")
        await pilot.press("escape", "escape")
        await wait_until(pilot, lambda: engine.sent_of(Stop) == [Stop()])
        await sees(pilot, "2 messages dropped; Up recalls what you typed.")
        engine.tell(finished(ONE, "cancelled"))
        await wait_until(pilot, lambda: app.chat_screen.state.phase is Phase.READY)
        await sees_no(pilot, "takes it back")
        await pilot.pause()
        assert questions(engine) == ["zero"]
        assert [turn.question for turn in app.chat_screen.conversation.path] == ["zero"]
        assert app.chat_screen.prompt.text == "three"
        await pilot.press("up", "up")
        assert app.chat_screen.prompt.text == "one"  # nothing that was typed is lost


async def test_ctrl_c_stops_the_reply_and_quits_at_the_second_press(
    engine: ScriptedEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lade_chat.tui.app.quitting.INTERRUPT_SECONDS", 3600.0)
    async with opened(engine) as (app, pilot):
        await busy(app, pilot, engine)
        await pilot.press("x", "ctrl+c")  # the draft first
        assert not engine.sent_of(Stop)
        await pilot.press("ctrl+c")
        await sees(pilot, "Stopped; its text is kept · Ctrl+C again quits")
        assert engine.sent_of(Stop) == [Stop()]
        engine.tell(finished(ONE, "cancelled"))
        await wait_until(pilot, lambda: app.chat_screen.state.phase is Phase.READY)
        assert [turn.reply for turn in app.chat_screen.conversation.path] == ["1"]
        await say(app, pilot, "again")
        engine.tell(*streamed(ONE))
        await say(app, pilot, "waits")
        await pilot.press("ctrl+c")
        await sees(pilot, "Stopped, 1 message dropped: Up recalls · Ctrl+C again quits")
        engine.tell(finished(ONE, "cancelled"))
        await wait_until(pilot, lambda: app.chat_screen.state.phase is Phase.READY)
        assert questions(engine) == ["zero", "again"]
        await pilot.press("up")
        assert app.chat_screen.prompt.text == "waits"
        await pilot.press("ctrl+c", "ctrl+c")
        assert not engine.closed
        await pilot.press("ctrl+c")
        await wait_until(pilot, lambda: engine.closed)


async def test_escape_closes_what_is_open_before_it_takes_a_message_back(
    engine: ScriptedEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lade_chat.tui.chat.decisions.controls.TWICE_SECONDS", 3600.0)
    async with opened(engine) as (app, pilot):
        prompt = app.chat_screen.prompt
        await busy(app, pilot, engine, "one")
        await pilot.press(*"/he")
        await sees(pilot, "the manual, or a page of it")
        await pilot.press("escape")
        await sees_no(pilot, "the manual, or a page of it")
        await pilot.press("escape")  # a draft is neither replaced nor lost, and neither is what waits
        await sees(pilot, "A message waits. Esc takes it back once the prompt is empty")
        await pilot.press("ctrl+u", "f1")
        await sees(pilot, "Manual")
        await pilot.press("escape", "escape")  # once too often
        await sees_no(pilot, "Manual")
        await pilot.press("shift+tab")
        assert not prompt.has_focus
        await pilot.press("escape")
        assert prompt.has_focus
        app.chat_screen.query(Speaker).first().text_select_all()
        await wait_until(pilot, lambda: app.chat_screen.selections)
        await pilot.press("escape")
        assert not app.chat_screen.selections
        await sees(pilot, "Up takes it back")
        assert not engine.sent_of(Stop)
        assert not prompt.text
        monkeypatch.setattr("lade_chat.tui.chat.decisions.controls.TWICE_SECONDS", 0.0)  # a while later
        await pilot.press("escape")
        await wait_until(pilot, lambda: prompt.text == "one")
        await sees_no(pilot, "takes it back")


async def test_stop_in_the_palette_stops_the_reply_and_leaves_what_waits(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        await busy(app, pilot, engine, "one")
        await pilot.press("ctrl+p", *"stop the", "enter")
        await wait_until(pilot, lambda: engine.sent_of(Stop))
        engine.tell(finished(ONE, "cancelled"))
        await wait_until(pilot, lambda: questions(engine) == ["zero", "one"])


async def test_edit_takes_back_what_waits(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        await busy(app, pilot, engine, "one")
        await say(app, pilot, "/edit")
        await wait_until(pilot, lambda: app.chat_screen.prompt.text == "one")
        assert app.chat_screen.prompt.editing is None


async def test_continue_goes_on_from_a_reply_whose_end_is_not_on_the_disk_yet(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        await say(app, pilot, "zero")
        disk = threading.Event()
        app.chat_screen.store_worker.change(disk.wait)
        engine.tell(*streamed(ONE), EngineLost("killed"))
        await sees(pilot, "engine is gone")
        app.chat_screen.prompt.put("/continue")
        await pilot.press("enter")
        disk.set()
        engine.load()
        await wait_until(pilot, lambda: len(engine.sent_of(Reply)) == 2)
        command = engine.sent_of(Reply)[-1]
        assert isinstance(command, Reply)
        assert [message.content for message in command.messages] == ["zero", "1"]


@pytest.mark.parametrize(("command", "before"), [("/continue", ["zero", "12"]), ("/retry", ["zero", "2"])])
async def test_what_is_typed_behind_a_command_that_restarts_the_engine_follows_what_that_says(
    engine: ScriptedEngine, command: str, before: list[str]
) -> None:
    async with opened(engine) as (app, pilot):
        await say(app, pilot, "zero")
        engine.tell(*streamed(ONE), EngineLost("killed"))
        await sees(pilot, "engine is gone")
        await say(app, pilot, command)
        await say(app, pilot, "one")
        await say(app, pilot, "two")
        assert on_disk(app) == ["zero", "one", "two"]  # a killed chat would have them
        await pilot.press("up")
        await wait_until(pilot, lambda: on_disk(app) == ["zero", "one"])
        engine.load()
        await wait_until(pilot, lambda: len(questions(engine)) == 2)
        engine.tell(*streamed((("2",),)), finished((("2",),)))
        await wait_until(pilot, lambda: len(questions(engine)) == 3)
        engine.tell(*streamed((("3",),)), finished((("3",),)))
        await wait_until(pilot, lambda: app.chat_screen.state.phase is Phase.READY)
        said = [message.content for message in app.chat_screen.conversation.messages]
        assert said == [*before, "one", "3"]
        assert len(questions(engine)) == 3
        assert screen_text(app).count("You   one") == 1


@pytest.mark.parametrize("command", ["/continue", "/retry"])
async def test_a_message_that_waited_when_the_engine_was_lost_is_asked_once(
    engine: ScriptedEngine, command: str
) -> None:
    async with opened(engine) as (app, pilot):
        await busy(app, pilot, engine, "one")
        engine.tell(EngineLost("killed"))
        await sees(pilot, "engine is gone")
        await say(app, pilot, command)
        await sees(pilot, "A message waits already: F6 starts the engine")
        await pilot.press("f6")
        engine.load()
        await wait_until(pilot, lambda: len(questions(engine)) == 2)
        engine.tell(*streamed(ONE), finished(ONE))
        await wait_until(pilot, lambda: app.chat_screen.state.phase is Phase.READY)
        assert questions(engine) == ["zero", "one"]


async def test_nothing_is_asked_again_while_a_message_waits_for_the_disk(
    engine: ScriptedEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    writes = threading.Semaphore(0)

    @contextmanager
    def held_up(connection: sqlite3.Connection) -> Iterator[None]:
        writes.acquire()
        with transaction(connection):
            yield

    async with opened(engine) as (app, pilot):
        chat = app.chat_screen
        await say(app, pilot, "zero")
        engine.tell(*streamed(ONE), finished(ONE, "length"))
        await wait_until(pilot, lambda: chat.state.phase is Phase.READY and not app.chat_screen.store_worker.busy)
        monkeypatch.setattr("lade_chat.store.sqlite.database.transaction", held_up)
        for text in ("/rename another", "/continue", "one"):
            app.chat_screen.prompt.put(text)
            await pilot.press("enter")
        writes.release()
        await wait_until(pilot, lambda: len(chat.conversation.path) == 2)  # in memory, not yet on disk
        app.chat_screen.prompt.put("/retry")
        await pilot.press("enter")
        await sees(pilot, "a message is about to be asked")
        writes.release(100)
        for count in (2, 3):
            await wait_until(pilot, lambda count=count: len(questions(engine)) == count)  # type: ignore[misc]
            engine.tell(*streamed(ONE), finished(ONE))
        await wait_until(pilot, lambda: chat.state.phase is Phase.READY and not app.chat_screen.store_worker.busy)
        assert [message.content for message in chat.conversation.messages] == ["zero", "11", "one", "1"]


async def test_the_branch_that_a_message_waits_in_is_not_left_before_its_answer(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        chat = app.chat_screen

        async def answered(text: str) -> None:
            await say(app, pilot, text)
            engine.tell(*streamed(ONE), finished(ONE))
            await wait_until(pilot, lambda: chat.state.phase is Phase.READY and not app.chat_screen.store_worker.busy)

        await answered("zero")
        await answered("/retry")
        engine.tell(EngineLost("killed"))
        await sees(pilot, "engine is gone")
        await say(app, pilot, "one")
        engine.tell(LoadFailed("no such model"))
        await wait_until(pilot, lambda: chat.state.phase is Phase.UNLOADED)
        await pilot.press("escape")
        before = chat.conversation.path
        chat.decide(go_beside, before[0].id, -1)
        await sees(pilot, "A message waits for an answer in this branch")
        chat.decide(load_model)
        engine.load()
        await wait_until(pilot, lambda: questions(engine) == ["zero", "zero", "one"])
        assert [turn.id for turn in chat.conversation.path] == [turn.id for turn in before]
        engine.tell(*streamed(ONE), finished(ONE))
        await wait_until(pilot, lambda: chat.state.phase is Phase.READY and not app.chat_screen.store_worker.busy)
        chat.decide(go_beside, before[0].id, -1)
        await wait_until(pilot, lambda: len(chat.conversation.path) == 1)
