"""The chat lets the engine guess from earlier conversations, and forgets what is deleted at once."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from lade_chat.protocol.commands import Remember
from lade_chat.store.all_conversations import Store
from lade_chat.store.records import Model
from lade_chat.tui.chat import stored_conversations as stored
from tests.store.replies import answer
from tests.tui.driving import opened, say, sees, status, wait_until
from tests.tui.scripted import MODEL as UNKNOWN
from tests.tui.scripted import ScriptedEngine

MARK = "f" * 32
MODEL = msgspec.structs.replace(UNKNOWN, fingerprint=MARK)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A store with two conversations, the latest of which is about pears."""
    store = Store(tmp_path)
    for question in ("apples", "pears"):
        conversation = store.begin()
        conversation.ask(question, Model("tiny", fingerprint=MARK))
        answer(conversation, f"about {question}")
    return tmp_path


def remembered(engine: ScriptedEngine) -> list[tuple[list[str], bool]]:
    commands = [command for command in engine.sent if isinstance(command, Remember)]
    assert all(command.fingerprint == MARK for command in commands)
    return [([reply.question for reply in command.replies], command.forget) for command in commands]


async def test_what_was_said_is_sent_at_load_and_without_what_is_deleted(engine: ScriptedEngine, folder: Path) -> None:
    async with opened(engine, model=MODEL, store=Store(folder)) as (_app, pilot):
        await wait_until(pilot, lambda: remembered(engine) == [(["apples", "pears"], False)])
        await pilot.press("ctrl+t")
        await sees(pilot, "pears")
        await pilot.press("ctrl+d")
        await wait_until(pilot, lambda: remembered(engine)[1:] == [(["apples"], True)])
        await pilot.press("ctrl+z")
        await wait_until(pilot, lambda: remembered(engine)[2:] == [(["apples", "pears"], True)])


async def test_deleting_the_open_conversation_forgets_it(engine: ScriptedEngine, folder: Path) -> None:
    async with opened(engine, model=MODEL, store=Store(folder)) as (app, pilot):
        stored.resume(app.chat_screen, "pears")
        await wait_until(pilot, lambda: app.chat_screen.conversation.title == "pears")
        await say(app, pilot, "/delete")
        await wait_until(pilot, lambda: remembered(engine)[-1] == (["apples"], True))


async def test_forgetting_lasts(engine: ScriptedEngine, folder: Path) -> None:
    async with opened(engine, model=MODEL, store=Store(folder)) as (app, pilot):
        await wait_until(pilot, lambda: remembered(engine))
        await say(app, pilot, "/forget")
        await wait_until(pilot, lambda: "Forgotten" in status(app))
        await say(app, pilot, "/new")
        engine.load(MODEL)
        await wait_until(pilot, lambda: not app.chat_screen.store_worker.busy)
        assert remembered(engine)[1:] == [([], True), ([], True)]


async def test_nothing_is_sent_where_it_is_turned_off(engine: ScriptedEngine, folder: Path) -> None:
    async with opened(engine, model=MODEL, store=Store(folder, remember=False)) as (app, pilot):
        await wait_until(pilot, lambda: not app.chat_screen.store_worker.busy)
        assert remembered(engine) == []
