"""Errors: each is reported in one line with a remedy, and nothing is lost."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from pathlib import Path

import msgspec
import pytest
from textual.widgets import Input

from lade_chat.known_models.models_at_hand import recent
from lade_chat.protocol.commands import Load, Reply, SetLookahead
from lade_chat.protocol.events import EngineLost, Failed, LoadFailed, Loading
from lade_chat.protocol.values import Message, ModelOptions
from lade_chat.store.all_conversations import Store
from lade_chat.tui.chat.chat_state import Phase
from lade_chat.tui.chat.decisions.navigation import load_model
from lade_chat.tui.conversations.store_worker import StoreWorker
from lade_chat.tui.screens.model_choice import ModelScreen
from lade_chat.tui.transcript.notices import Notice
from lade_chat.tui.widgets import bars
from tests.tui.driving import opened, reply_text, say, screen_text, sees, sees_no, status, wait_until
from tests.tui.scripted import FUNCTION, MODEL, ScriptedEngine, streamed, text_of

WRONG = "/models/llama: there is no [b]config.json[/b] in this folder"


async def test_loading_is_shown_stage_by_stage_with_the_time_it_takes(
    engine: ScriptedEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(engine, model=None) as (app, pilot):
        engine.tell(Loading("configuration"))
        await wait_until(pilot, lambda: "reading the configuration" in status(app))
        engine.tell(Loading("weights", 62, 100))
        await wait_until(pilot, lambda: "loading the weights ━" in status(app))
        await wait_until(pilot, lambda: "62%" in status(app))
        monkeypatch.setattr(bars, "monotonic", lambda: time.monotonic() + 75)
        engine.tell(Loading("probe"))
        await sees(pilot, "checking lookahead · 75 s")
        engine.load()
        await sees(pilot, "ready")
        assert "75 s" not in status(app)


async def test_a_model_that_does_not_load_leaves_a_way_on(engine: ScriptedEngine) -> None:
    async with opened(engine, model=None) as (app, pilot):
        await say(app, pilot, "Hello")
        engine.tell(LoadFailed(WRONG))
        await wait_until(pilot, lambda: isinstance(app.screen, ModelScreen))
        await sees(pilot, WRONG)
        await pilot.press(*"m/m", "enter")
        await wait_until(pilot, lambda: len(engine.sent_of(Load)) == 2)
        await sees(pilot, WRONG)
        engine.load()
        await wait_until(pilot, lambda: engine.sent_of(Reply))


async def test_what_is_to_be_known_of_a_model_is_told_once(engine: ScriptedEngine) -> None:
    async with opened(engine, model=None) as (app, pilot):
        for name in ("one", "one", "other"):
            engine.load(msgspec.structs.replace(MODEL, notices=(f"About {name}.",)))
            await sees(pilot, f"About {name}.")
            assert [notice.what for notice in app.screen.query(Notice)] == [f"About {name}."]
            await pilot.press("ctrl+o", *"m/m", "enter")


async def test_a_lost_engine_that_is_back_is_no_news(engine: ScriptedEngine) -> None:
    async with opened(engine) as (_app, pilot):
        engine.tell(EngineLost("the engine has ended"))
        await sees(pilot, "The engine has ended", "The conversation is kept.")
        await pilot.press("f6")
        await wait_until(pilot, lambda: engine.restarts)
        engine.load()
        await sees_no(pilot, "The engine has ended", "The conversation is kept.")


async def test_a_failed_load_that_keeps_the_model_leaves_it_ready(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        for count in (2, 3):
            await pilot.press("ctrl+o", *"m/m", "enter")
            await wait_until(pilot, lambda count=count: len(engine.sent_of(Load)) == count)  # type: ignore[misc]
            engine.tell(LoadFailed(WRONG, kept=True))
            await wait_until(pilot, lambda: "ready" in status(app))
            await sees(pilot, WRONG, "tiny-12M is still loaded", "tiny-12M · cpu · float32")
        assert screen_text(app).count(WRONG) == 1
        assert app.screen is app.chat_screen
        assert app.chat_screen.state.loads.options == ModelOptions()
        await say(app, pilot, "Hello")
        await wait_until(pilot, lambda: engine.sent_of(Reply))


async def test_a_superseded_load_may_be_what_is_kept(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        for path in ("m/m", "n/n"):
            await pilot.press("ctrl+o")
            app.screen.query_one("#path", Input).value = path
            await pilot.press("enter")
        await wait_until(pilot, lambda: len(engine.sent_of(Load)) == 3)
        engine.load(msgspec.structs.replace(MODEL, name="m"))
        engine.tell(LoadFailed(WRONG, kept=True))
        await sees(pilot, "m is still loaded")
        assert app.chat_screen.state.loads.options.path == "m/m"


async def test_the_line_about_a_failed_load_goes_when_a_model_is_ready(engine: ScriptedEngine) -> None:
    async with opened(engine, model=None) as (app, pilot):
        for count in (2, 3):
            engine.tell(LoadFailed(WRONG))
            await wait_until(pilot, lambda: isinstance(app.screen, ModelScreen))
            await pilot.press(*"m/m", "enter")
            await wait_until(pilot, lambda count=count: len(engine.sent_of(Load)) == count)  # type: ignore[misc]
            await wait_until(pilot, lambda: screen_text(app).count(WRONG) == 1)
        engine.load()
        await sees(pilot, "ready")
        await sees_no(pilot, WRONG)


async def test_lookahead_is_switched_without_a_model_and_holds_for_the_next(engine: ScriptedEngine) -> None:
    async with opened(engine, model=None) as (app, pilot):
        await pilot.press("ctrl+l")
        await sees(pilot, "lookahead OFF")
        await say(app, pilot, "Hello")
        engine.tell(LoadFailed(WRONG))
        await wait_until(pilot, lambda: isinstance(app.screen, ModelScreen))
        await pilot.press("escape", "ctrl+l")
        await sees(pilot, "lookahead ON")
        await pilot.press("ctrl+l")
        app.chat_screen.decide(load_model)
        engine.load()
        await wait_until(pilot, lambda: engine.sent_of(Reply))
        (reply,) = engine.sent_of(Reply)
        assert isinstance(reply, Reply)
        assert not reply.options.lookahead
        assert not engine.sent_of(SetLookahead)


async def test_a_failed_load_does_not_take_the_prompt_from_someone_typing(engine: ScriptedEngine) -> None:
    async with opened(engine, model=None) as (app, pilot):
        await pilot.press("H")
        engine.tell(LoadFailed(WRONG))
        await sees(pilot, WRONG)
        assert app.screen is app.chat_screen
        await pilot.press("i", "enter")
        await wait_until(pilot, lambda: "Ctrl+O opens one" in status(app))
        assert app.chat_screen.prompt.text == "Hi"


async def test_only_the_model_asked_for_last_counts(engine: ScriptedEngine) -> None:
    async with opened(engine, model=None) as (app, pilot):
        await pilot.press("ctrl+o", *"m/m", "enter")
        await wait_until(pilot, lambda: len(engine.sent_of(Load)) == 2)
        engine.tell(LoadFailed(WRONG))
        engine.load()
        await wait_until(pilot, lambda: app.chat_screen.state.phase is Phase.READY)
        assert WRONG not in screen_text(app)


async def test_only_a_model_that_was_opened_is_put_among_the_recent_ones(
    engine: ScriptedEngine, tmp_path: Path
) -> None:
    async with opened(engine, model=None, store=Store(tmp_path)) as (app, pilot):
        await say(app, pilot, "/model maker/mine")
        await say(app, pilot, "/model maker/nosuch")
        engine.load()  # the bundled one
        engine.load()
        engine.tell(LoadFailed(WRONG, kept=True))
        await sees(pilot, WRONG)
        await wait_until(pilot, lambda: recent(tmp_path))
        await pilot.pause(0.1)
    assert [each.path for each in recent(tmp_path)] == ["maker/mine"]


async def test_a_lost_engine_keeps_the_reply_and_is_started_again(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        await say(app, pilot, "Write a function.")
        engine.tell(*streamed(FUNCTION[:4]), EngineLost("the engine was killed by signal 9"))
        await sees(pilot, "The engine was killed by signal 9")
        await wait_until(pilot, lambda: app.chat_screen.state.phase is Phase.LOST)
        await wait_until(
            pilot, lambda: app.chat_screen.conversation.messages[-1] == Message("assistant", text_of(FUNCTION[:4]))
        )
        await wait_until(pilot, lambda: text_of(FUNCTION[:4]).strip() in reply_text(app))
        await sees(pilot, "Restart")
        await pilot.press("f6")
        await wait_until(pilot, lambda: len(engine.sent_of(Load)) == 2)
        await wait_until(pilot, lambda: engine.restarts == 1)
        engine.load()
        await wait_until(pilot, lambda: "ready" in status(app))
        await sees(pilot, "broken off")
        await sees_no(pilot, "killed by signal 9")
        await say(app, pilot, "Go on.")
        await wait_until(pilot, lambda: len(engine.sent_of(Reply)) == 2)
        command = engine.sent_of(Reply)[-1]
        assert isinstance(command, Reply)
        assert len(command.messages) == 3


async def test_the_next_message_starts_a_lost_engine_too(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        engine.tell(EngineLost("killed"))
        await wait_until(pilot, lambda: app.chat_screen.state.phase is Phase.LOST)
        await say(app, pilot, "Hello")
        await wait_until(pilot, lambda: engine.restarts == 1 and len(engine.sent_of(Load)) == 2)
        engine.load()
        await wait_until(pilot, lambda: engine.sent_of(Reply))


async def test_asking_again_starts_a_lost_engine_too(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        await say(app, pilot, "Hello")
        engine.tell(*streamed(FUNCTION[:4]), EngineLost("killed"))
        await wait_until(pilot, lambda: app.chat_screen.state.phase is Phase.LOST)
        await say(app, pilot, "/retry")
        await wait_until(pilot, lambda: engine.restarts == 1 and len(engine.sent_of(Load)) == 2)
        engine.load()
        await wait_until(pilot, lambda: len(engine.sent_of(Reply)) == 2)
        assert [command.messages for command in engine.sent_of(Reply)] == [(Message("user", "Hello"),)] * 2  # type: ignore[union-attr]


async def test_a_reply_that_failed_is_measured_no_longer(engine: ScriptedEngine) -> None:
    async with opened(engine, debug=True) as (app, pilot):
        await say(app, pilot, "Hello")
        engine.tell(*streamed(FUNCTION[:4]))
        await sees(pilot, "measuring…")
        engine.tell(Failed("out of memory"))
        await sees(pilot, "not measured", "50.0 ms")
        await sees_no(pilot, "measuring…")


async def test_a_reply_that_fails_keeps_what_was_said(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        await say(app, pilot, "Hello")
        engine.tell(*streamed(FUNCTION[:4]), Failed("out of memory"))
        await sees(pilot, "✗ out of memory")
        assert [notice.parent for notice in app.screen.query(Notice)] == [app.chat_screen.transcript.column]
        await wait_until(pilot, lambda: app.chat_screen.conversation.messages[-1].content == text_of(FUNCTION[:4]))
        await wait_until(pilot, lambda: app.chat_screen.state.phase is Phase.READY)


async def test_a_screenshot_that_cannot_be_saved_says_why(engine: ScriptedEngine, tmp_path: Path) -> None:
    async with opened(engine, size=(120, 24)) as (app, pilot):
        app.deliver_screenshot("picture.svg", str(tmp_path / "none"))
        await sees(pilot, "The screenshot is not saved", "No such file or directory")
        await sees_no(pilot, "Failed to save")


async def test_without_a_folder_for_downloads_a_screenshot_is_saved_in_the_present_one(
    engine: ScriptedEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lade_chat.tui.app.application.user_downloads_path", lambda: tmp_path / "none")
    monkeypatch.chdir(tmp_path)
    async with opened(engine) as (app, pilot):
        app.deliver_screenshot("picture.svg")
        await wait_until(pilot, (tmp_path / "picture.svg").exists)


async def test_a_small_screen_says_how_to_begin_and_how_to_restart_in_whole_lines(engine: ScriptedEngine) -> None:
    async with opened(engine, size=(40, 12)) as (app, pilot):
        await sees(pilot, "Enter sends, Ctrl+J breaks the line")
        engine.tell(EngineLost("killed"))
        await wait_until(pilot, lambda: status(app) == "engine gone: F6 restarts it")
        await pilot.resize_terminal(80, 24)
        await sees(pilot, "Say something. Enter sends, Ctrl+J breaks the line", "your next message, starts it again")


def test_a_chat_that_cannot_wait_for_the_disk_says_what_it_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lade_chat.tui.conversations.store_worker.CLOSING_SECONDS", 0.05)
    store = Store(tmp_path)
    conversation = store.begin()
    worker = StoreWorker(store, lambda _call: None, lambda _text, _kind: None)
    store.latest()
    with closing(sqlite3.connect(store.path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        worker.change(lambda: conversation.ask("one"))
        assert not worker.close()
        assert store.would_lose
        assert f"{store.path} could not be written" in worker.trouble
    store.save()
    assert not store.would_lose
