"""Notices live as long as they are true, and leave room for the state that they stand beside."""

from __future__ import annotations

from pathlib import Path

import pytest

from lade_chat.protocol.events import EngineLost
from lade_chat.store.all_conversations import Store
from lade_chat.store.errors import StoreError
from lade_chat.tui.chat.chat_state import Phase
from lade_chat.tui.chat.decisions.navigation import branch
from lade_chat.tui.conversations.store_worker import SAVED_AGAIN
from tests.tui.driving import opened, say, sees, sees_no, status, wait_until
from tests.tui.scripted import FUNCTION, ScriptedEngine, finished, streamed


async def test_that_the_model_answers_is_told_until_it_is_stopped(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        await say(app, pilot, "Hello")
        engine.tell(*streamed(FUNCTION))
        await pilot.press("ctrl+r")
        await wait_until(pilot, lambda: "The model is still answering. Esc stops it." in status(app))
        await pilot.press("escape")
        await wait_until(pilot, lambda: status(app) == "stopping")
        engine.tell(finished(FUNCTION, "cancelled"))
        await sees(pilot, "ready")
        assert "still answering" not in status(app)


async def test_what_was_refused_while_loading_is_not_told_when_the_model_is_there(engine: ScriptedEngine) -> None:
    async with opened(engine, model=None) as (app, pilot):
        app.chat_screen.decide(branch, None)
        assert "The model is still loading." in status(app)
        engine.load()
        await wait_until(pilot, lambda: app.chat_screen.state.phase is Phase.READY)
        assert status(app).startswith("ready")


async def test_that_there_is_nothing_to_send_is_told_until_something_is_typed(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        await pilot.press("enter")
        await wait_until(pilot, lambda: "type a message first" in status(app))
        await pilot.press("a")
        assert "type a message first" not in status(app)


async def test_a_hint_stands_beside_the_state_and_not_in_its_place(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        await say(app, pilot, "Hello")
        engine.tell(*streamed(FUNCTION))
        await pilot.press("ctrl+r")
        await sees(pilot, "The model is still answering. Esc stops it.", "tok/s")
        await pilot.resize_terminal(50, 24)
        await wait_until(pilot, lambda: "tok/s" not in status(app))
        assert status(app) == "The model is still answering. Esc stops it."
        await say(app, pilot, "/forget")
        await sees(pilot, "Forgotten: replies are guessed from this", "again.")


async def test_that_the_engine_is_gone_is_told_until_it_is_started_again(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        engine.tell(EngineLost("the engine ended"))
        await sees(pilot, "The engine ended", "starts the engine")
        await say(app, pilot, "/compare Hello")
        await sees(pilot, "The engine is gone. F6 starts it again.")
        await pilot.press("f6")
        await sees_no(pilot, "The engine ended", "starts the engine")
        assert app.chat_screen.state.phase is Phase.LOADING


async def test_trouble_with_the_disk_is_told_until_all_is_saved(
    engine: ScriptedEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(tmp_path)
    async with opened(engine, store=store) as (app, pilot):

        def full() -> None:
            raise StoreError("The disk is full.")

        worker = app.chat_screen.store_worker
        worker.change(full)
        await sees(pilot, "The disk is full.")
        await pilot.press("ctrl+n")
        await sees(pilot, "The disk is full.")
        worker.change(lambda: None)
        await sees(pilot, SAVED_AGAIN)
        await sees_no(pilot, "The disk is full.")


async def test_what_was_set_is_told_until_the_next_message_is_sent(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        await say(app, pilot, "/set seed 5")
        await wait_until(pilot, lambda: "seed is 5 now" in status(app))
        await say(app, pilot, "Hello")
        await wait_until(pilot, lambda: app.chat_screen.state.phase is Phase.REPLYING)
        assert "seed is 5 now" not in status(app)
