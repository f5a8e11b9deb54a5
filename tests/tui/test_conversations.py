"""Conversations are kept as they are said, and come back as they were."""

from __future__ import annotations

import sqlite3
import threading
from pathlib import Path
from typing import NoReturn

import pytest
from textual.widgets import Input

from lade_chat.protocol.commands import Reply, Stop
from lade_chat.protocol.values import Message
from lade_chat.store.all_conversations import Store
from lade_chat.store.saved_conversation import Conversation
from lade_chat.tui.conversations.conversation_session import Start
from lade_chat.tui.conversations.list_screen import ConversationList
from lade_chat.tui.reply.tinted_text import TextChunk
from lade_chat.tui.transcript.turn_view import UserTurn
from tests.store.replies import say as said
from tests.tui.driving import burst, driven, opened, reply_text, say, screen_text, sees, sees_no, wait_until
from tests.tui.scripted import FUNCTION, ScriptedEngine, finished, streamed, text_of
from tests.tui.talking import answered, assistant, kept, last_messages, opening, talked, user


async def test_a_turn_is_on_disk_before_the_next_question(engine: ScriptedEngine, folder: Path) -> None:
    async with opened(engine, store=Store(folder), system="Be brief.") as (app, pilot):
        await talked(app, pilot, engine, "17 + 25?")
        latest = Store(folder).latest()
        assert latest is not None
        assert latest.messages == (Message("system", "Be brief."), user("17 + 25?"), assistant("It is 42."))
        (turn,) = latest.path
        assert [piece.origin for piece in turn.pieces()] == ["plain", "trajectory", "plain", "trajectory"]
        assert turn.ending == "eos"
        assert turn.model is not None
        assert turn.model.name == "tiny-12M"


async def test_a_conversation_comes_back_with_its_colours_and_metrics(engine: ScriptedEngine, folder: Path) -> None:
    async with opened(engine, store=Store(folder)) as (app, pilot):
        await talked(app, pilot, engine, "17 + 25?")
        metrics = "26.7 tok/s" if "26.7 tok/s" in screen_text(app) else "tok/s"
        spans = app.screen.query_one(TextChunk).render().spans
    again = ScriptedEngine()
    async with opened(again, store=Store(folder), start=Start(latest=True)) as (app, pilot):
        await sees(pilot, "17 + 25?", "It is 42.", metrics)
        assert app.screen.query_one(TextChunk).render().spans == spans
        assert spans
        await say(app, pilot, "Why?")
        await wait_until(
            pilot, lambda: last_messages(again) == (user("17 + 25?"), assistant("It is 42."), user("Why?"))
        )


async def test_a_reply_that_is_running_when_the_chat_ends_is_kept(engine: ScriptedEngine, folder: Path) -> None:
    async with opened(engine, store=Store(folder)) as (app, pilot):
        await say(app, pilot, "Go on.")
        engine.tell(*streamed(FUNCTION[:4]))
        await wait_until(pilot, lambda: "list" in reply_text(app))
        await pilot.press("ctrl+q")
    latest = Store(folder).latest()
    assert latest is not None
    assert latest.messages[-1] == assistant(text_of(FUNCTION[:4]))
    assert latest.path[-1].ending == "cancelled"


async def test_what_a_running_reply_has_said_is_saved_although_no_more_comes(
    engine: ScriptedEngine, folder: Path
) -> None:
    async with opened(engine, store=Store(folder)) as (app, pilot):
        await say(app, pilot, "Go on.")
        engine.tell(*streamed(FUNCTION[:4]))
        await wait_until(pilot, lambda: "list" in reply_text(app))
        other = Store(folder)
        await wait_until(pilot, lambda: (latest := other.latest()) and latest.path[-1].reply == text_of(FUNCTION[:4]))


async def test_a_question_whose_answer_was_lost_is_asked_again(engine: ScriptedEngine, folder: Path) -> None:
    Store(folder).begin().ask("17 + 25?")  # and killed
    async with opened(engine, store=Store(folder), start=Start(latest=True)) as (app, pilot):
        await sees(pilot, "17 + 25?", "Not answered")
        await say(app, pilot, "/continue")
        await wait_until(pilot, lambda: engine.sent_of(Reply))
        assert last_messages(engine) == (user("17 + 25?"),)
        await answered(app, pilot, engine)
        await sees(pilot, "It is 42.", "2 of 2")


async def test_a_new_conversation_keeps_the_old_one(engine: ScriptedEngine, folder: Path) -> None:
    async with opened(engine, store=Store(folder)) as (app, pilot):
        await talked(app, pilot, engine, "first")
        await pilot.press("ctrl+n")
        assert reply_text(app) == ""
        await talked(app, pilot, engine, "second")
        assert last_messages(engine) == (user("second"),)
        assert [each.title for each in Store(folder).page()] == ["second", "first"]


async def test_a_stopped_reply_stays_in_the_conversation_that_is_left(engine: ScriptedEngine, folder: Path) -> None:
    async with opened(engine, store=Store(folder)) as (app, pilot):
        await say(app, pilot, "one")
        engine.tell(*streamed(FUNCTION[:4]))
        await wait_until(pilot, lambda: "list" in reply_text(app))
        await pilot.press("ctrl+n")
        await wait_until(pilot, lambda: engine.sent_of(Stop))
        engine.tell(finished(FUNCTION[:4], "cancelled"))
        await sees(pilot, "How does this work?")
        latest = Store(folder).latest()
        assert latest is not None
        assert latest.messages[-1] == assistant(text_of(FUNCTION[:4]))


async def test_a_long_conversation_shows_its_end_and_more_when_wanted(engine: ScriptedEngine, folder: Path) -> None:
    from tests.store.replies import say as said

    store = Store(folder)
    conversation = store.begin()
    for number in range(35):
        said(conversation, f"question {number}", f"answer {number}")
    async with opened(engine, store=store, start=Start(latest=True)) as (app, pilot):
        await sees(pilot, "question 34", "answer 34")
        for count in (10, 30, 35):
            await wait_until(pilot, lambda count=count: len(app.screen.query(UserTurn)) == count)  # type: ignore[misc]
            while len(app.screen.query(UserTurn)) == count < 35:
                await pilot.press("pageup")
        assert "earlier turns" not in screen_text(app)


async def test_what_cannot_be_saved_is_told_once_and_then_saved(
    engine: ScriptedEngine, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(folder)
    async with opened(engine, store=store) as (app, pilot):
        with monkeypatch.context() as patched:

            def refuse(_connection: object) -> NoReturn:
                raise sqlite3.OperationalError("database or disk is full")

            patched.setattr("lade_chat.store.sqlite.database.transaction", refuse)
            await talked(app, pilot, engine, "one", "two")
            assert screen_text(app).count("There is no room left") == 1
            assert store.unsaved
        app.chat_screen.save()
        await sees(pilot, "Everything is saved now.")
        latest = Store(folder).latest()
        assert latest is not None
        assert [turn.question for turn in latest.path] == ["one", "two"]


async def test_a_file_set_aside_is_told(engine: ScriptedEngine, folder: Path) -> None:
    folder.joinpath("conversations.db").write_bytes(b"this is no database, and long enough to be sure of it" * 50)
    async with opened(engine, store=Store(folder)) as (_app, pilot):
        await sees(pilot, "were set aside as")


async def test_prompts_of_earlier_conversations_are_recalled(engine: ScriptedEngine, folder: Path) -> None:
    async with opened(engine, store=kept(folder, "apples", "pears")) as (app, pilot):
        await pilot.press("up")
        assert app.chat_screen.prompt.text == "pears"
        await pilot.press("up")
        assert app.chat_screen.prompt.text == "apples"


async def test_two_chats_share_the_conversations(engine: ScriptedEngine, folder: Path) -> None:
    other = ScriptedEngine()
    async with (
        opened(engine, store=Store(folder)) as (app, pilot),
        opened(other, store=Store(folder)) as (second, second_pilot),
    ):
        await talked(app, pilot, engine, "apples")
        await talked(second, second_pilot, other, "pears")
        await talked(app, pilot, engine, "more apples")
        assert {(each.title, each.turns) for each in Store(folder).page()} == {("apples", 2), ("pears", 1)}


# --- What the chat begins with: the one conversation that is meant, the list of several, or a new one


async def test_words_resume_the_only_conversation_that_has_them(engine: ScriptedEngine, folder: Path) -> None:
    store = kept(folder, "apples", "pears")
    async with opened(engine, store=store, start=Start(wanted="about pear")) as (_app, pilot):
        await sees(pilot, "about pears")


async def test_words_of_several_conversations_open_the_list(engine: ScriptedEngine, folder: Path) -> None:
    store = kept(folder, "apples", "pears", "nothing")
    async with opened(engine, store=store, start=Start(wanted="p")) as (app, pilot):
        await wait_until(pilot, lambda: isinstance(app.screen, ConversationList))
        await sees(pilot, "apples", "pears")


@pytest.mark.parametrize("wanted", ["p", ""])
async def test_the_list_is_the_first_thing_seen_where_several_are_meant(folder: Path, wanted: str) -> None:
    kept(folder, "apple", "pear").close()
    engine, first = ScriptedEngine(), list[object]()
    app = opening(engine, Store(folder), wanted)
    engine.on_start = lambda: first.append(app.screen)
    async with driven(app, (80, 24), None, engine) as pilot:
        assert first == [app.screen]
        assert isinstance(app.screen, ConversationList)
        burst(app, *"ear")
        await wait_until(pilot, lambda: app.screen.query_one("#search", Input).value == "ear")
        await sees_no(pilot, "apple")
        assert not app.chat_screen.prompt.text


@pytest.mark.parametrize(("wanted", "latest"), [("about pear", False), (None, True)])
async def test_the_conversation_is_the_first_thing_seen_where_one_is_meant(
    folder: Path, wanted: str | None, latest: bool
) -> None:
    kept(folder, "apple", "pear").close()
    engine, first = ScriptedEngine(), list[str]()
    app = opening(engine, Store(folder), wanted, latest)
    engine.on_start = lambda: first.append(screen_text(app))
    async with driven(app, (80, 24), None, engine) as pilot:
        assert "How does this work?" not in first[0]
        await sees(pilot, "about pear")
        burst(app, *"Why?", "enter")
        await sees(pilot, "Why?", "waits for the model")


async def test_a_late_list_does_not_take_the_prompt_from_someone_typing(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lade_chat.tui.chat.stored_conversations.FIRST_SECONDS", 0.0)
    kept(folder, "apple", "pear").close()
    store, engine, found = Store(folder), ScriptedEngine(), threading.Event()
    resume = store.resume

    def slow(conversation: str) -> Conversation:
        found.wait()
        return resume(conversation)

    monkeypatch.setattr(store, "resume", slow)
    app = opening(engine, store, "p")
    async with app.run_test(size=(80, 24)) as pilot:
        await sees(pilot, "Looking for “p”")
        burst(app, *"Hel")
        await wait_until(pilot, lambda: app.chat_screen.prompt.text == "Hel")
        found.set()
        await sees(pilot, "“p” matches no single conversation. Ctrl+T lists those that mention it.")
        burst(app, *"lo")
        await wait_until(pilot, lambda: app.chat_screen.prompt.text == "Hello")
        assert app.screen is app.chat_screen
        await pilot.press("ctrl+t")
        await wait_until(pilot, lambda: app.screen.query_one("#search", Input).value == "p")
        await pilot.press("escape", "ctrl+t")
        assert not app.screen.query_one("#search", Input).value


async def test_a_conversation_that_has_gone_on_in_another_window_says_so(engine: ScriptedEngine, folder: Path) -> None:
    async with opened(engine, store=Store(folder)) as (app, pilot):
        await talked(app, pilot, engine, "apples")
        said(Store(folder).resume(app.chat_screen.conversation.id), "pears", "about pears")
        await talked(app, pilot, engine, "plums")
        await sees(pilot, "gone on elsewhere")
