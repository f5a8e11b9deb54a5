"""Conversations are kept as they are said, come back as they were, and can be left, changed and branched."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NoReturn

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from lade_chat.protocol.commands import Reply
from lade_chat.protocol.control import Stop
from lade_chat.protocol.events import Failed, Tokens
from lade_chat.protocol.values import DecodingOptions, Message, ModelOptions, Piece, Statistics
from lade_chat.settings.preferences import Preferences
from lade_chat.settings.settings import load
from lade_chat.store.conversation import Conversation
from lade_chat.store.store import Store
from lade_chat.tui.app.application import ChatApp
from lade_chat.tui.control.view import Phase
from lade_chat.tui.conversations.list_screen import ConversationList
from lade_chat.tui.conversations.session import Start
from lade_chat.tui.conversations.side_bar import SideBar
from lade_chat.tui.reply.tinted_text import Chunk
from lade_chat.tui.reply.turn import ReplyTurn
from lade_chat.tui.transcript.turn import UserTurn
from lade_chat.tui.transcript.turn_menu import TurnMenu
from tests.tui.driving import (
    MEMORY,
    burst,
    driven,
    opened,
    reply_text,
    say,
    screen_text,
    sees,
    sees_no,
    status,
    wait_until,
)
from tests.tui.scripted import FUNCTION, MODEL, ScriptedEngine, finished, streamed, text_of

SHORT = (("It", " is"), (" 42", "."))


@pytest.fixture
def folder() -> Iterator[Path]:
    with TemporaryDirectory(dir=MEMORY) as name:
        yield Path(name)


def user(text: str) -> Message:
    return Message("user", text)


def assistant(text: str) -> Message:
    return Message("assistant", text)


async def answered(
    app: ChatApp, pilot: Pilot[None], engine: ScriptedEngine, script: tuple[tuple[str, ...], ...] = SHORT
) -> None:
    """Have the running reply told and kept."""
    engine.tell(*streamed(script), finished(script))
    await wait_until(pilot, lambda: app.chat_screen.chat.phase is Phase.READY and "ready" in status(app))


async def talked(app: ChatApp, pilot: Pilot[None], engine: ScriptedEngine, *questions: str) -> None:
    for question in questions:
        await say(app, pilot, question)
        await answered(app, pilot, engine)


def last_messages(engine: ScriptedEngine) -> tuple[Message, ...]:
    command = engine.sent_of(Reply)[-1]
    assert isinstance(command, Reply)
    return command.messages


def kept(folder: Path, *questions: str) -> Store:
    """A store with a conversation for each question."""
    from tests.store.replies import say as said

    store = Store(folder)
    for question in questions:
        said(store.begin(), question, f"about {question}")
    return store


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
        spans = app.screen.query_one(Chunk).visual.spans  # type: ignore[attr-defined]
    again = ScriptedEngine()
    async with opened(again, store=Store(folder), start=Start(latest=True)) as (app, pilot):
        await sees(pilot, "17 + 25?", "It is 42.", metrics)
        assert app.screen.query_one(Chunk).visual.spans == spans  # type: ignore[attr-defined]
        assert spans
        await say(app, pilot, "Why?")
        assert last_messages(again) == (user("17 + 25?"), assistant("It is 42."), user("Why?"))


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


async def test_what_a_running_reply_has_said_is_saved_each_second(engine: ScriptedEngine, folder: Path) -> None:
    async with opened(engine, store=Store(folder)) as (app, pilot):
        await say(app, pilot, "Go on.")
        engine.tell(*streamed(FUNCTION[:4]))
        await wait_until(pilot, lambda: "list" in reply_text(app))
        await wait_until(pilot, lambda: not app.chat_screen.store_worker.busy)
        app.chat_screen.chat.tick()
        await wait_until(pilot, lambda: not app.chat_screen.store_worker.busy)
        other = Store(folder).latest()
        assert other is not None
        assert other.path[-1].reply == text_of(FUNCTION[:4])


async def test_a_question_whose_answer_was_lost_is_asked_again(engine: ScriptedEngine, folder: Path) -> None:
    Store(folder).begin().ask("17 + 25?")  # and killed
    async with opened(engine, store=Store(folder), start=Start(latest=True)) as (app, pilot):
        await sees(pilot, "17 + 25?", "No answer came")
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
        assert engine.sent_of(Stop)
        engine.tell(finished(FUNCTION[:4], "cancelled"))
        await sees(pilot, "How does this work?")
        latest = Store(folder).latest()
        assert latest is not None
        assert latest.messages[-1] == assistant(text_of(FUNCTION[:4]))


async def test_the_list_finds_resumes_and_closes(engine: ScriptedEngine, folder: Path) -> None:
    async with opened(engine, store=kept(folder, "apples", "pears", "plums")) as (app, pilot):
        await pilot.press("ctrl+t")
        await sees(pilot, "apples", "pears", "plums", "1 turn")
        await pilot.press(*"pear")
        await sees_no(pilot, "plums")
        await pilot.press("enter")
        await sees(pilot, "about pears")
        assert app.screen is app.chat_screen
        await say(app, pilot, "More.")
        assert last_messages(engine) == (user("pears"), assistant("about pears"), user("More."))
        await pilot.press("ctrl+t", "escape")
        assert app.screen is app.chat_screen


async def test_a_conversation_is_renamed_deleted_and_brought_back(engine: ScriptedEngine, folder: Path) -> None:
    async with opened(engine, store=kept(folder, "apples", "pears")) as (app, pilot):
        await pilot.press("ctrl+t")
        await sees(pilot, "apples")
        await pilot.press("down", "f2")
        app.screen.query_one("#title", Input).value = "orchard"
        await pilot.press("enter")
        await sees(pilot, "orchard")
        await sees_no(pilot, "apples")
        await pilot.press("ctrl+d")
        await sees_no(pilot, "orchard  ")
        await sees(pilot, "Ctrl+Z brings it back")
        assert [each.title for each in Store(folder).page()] == ["pears"]
        await pilot.press("ctrl+z")
        await wait_until(pilot, lambda: len(Store(folder).page()) == 2)
        await sees(pilot, "orchard  ")


async def test_the_list_acts_on_what_was_typed_however_slow_the_disk(engine: ScriptedEngine, folder: Path) -> None:
    store = kept(folder, "apples", "pears")  # the newest, pears, is the first
    async with opened(engine, store=store) as (app, pilot):
        await pilot.press("ctrl+t")
        await sees(pilot, "apples  ")
        barrier = threading.Event()
        app.chat_screen.store_worker.look_up(barrier.wait, lambda _result: None)
        await pilot.press(*"apple", "ctrl+d", "ctrl+d")
        barrier.set()
        await wait_until(pilot, lambda: not app.chat_screen.store_worker.busy)
        await sees(pilot, "“apples” is deleted")
        assert [each.title for each in Store(folder).page()] == ["pears"]


async def test_a_renaming_says_so(engine: ScriptedEngine, folder: Path) -> None:
    async with opened(engine, store=kept(folder, "apples")) as (app, pilot):
        await pilot.press("ctrl+t")
        await sees(pilot, "apples  ", "⏎ Resume")
        await pilot.press("f2")
        await sees(pilot, "⏎ Rename", "esc Cancel")
        assert app.screen.query_one(".dialog").border_title == "Rename"
        await pilot.press("escape")
        await sees(pilot, "⏎ Resume")
        assert app.screen.query_one(".dialog").border_title == "Conversations"


async def test_the_last_one_that_is_deleted_can_be_brought_back_too(engine: ScriptedEngine, folder: Path) -> None:
    async with opened(engine, store=kept(folder, "apples")) as (app, pilot):
        await pilot.press("ctrl+t")
        await sees(pilot, "apples  ")
        await pilot.press("ctrl+d")
        await sees_no(pilot, "apples  ")
        await wait_until(pilot, lambda: not app.chat_screen.store_worker.busy)
        await sees(pilot, "Ctrl+Z brings it back")
        await pilot.press(*"x")
        await sees(pilot, "Nothing found")


async def test_deleting_the_conversation_on_the_screen_begins_a_new_one(engine: ScriptedEngine, folder: Path) -> None:
    async with opened(engine, store=Store(folder)) as (app, pilot):
        await talked(app, pilot, engine, "apples")
        await pilot.press("ctrl+t")
        await sees(pilot, "here")
        await pilot.press("ctrl+d")
        await wait_until(pilot, lambda: not Store(folder).page())
        await pilot.press("escape")
        await sees(pilot, "How does this work?")
        await pilot.press("ctrl+t", "ctrl+z")
        await sees(pilot, "apples")


async def test_words_resume_the_only_conversation_that_has_them(engine: ScriptedEngine, folder: Path) -> None:
    store = kept(folder, "apples", "pears")
    async with opened(engine, store=store, start=Start(wanted="about pear")) as (_app, pilot):
        await sees(pilot, "about pears")


async def test_words_of_several_conversations_open_the_list(engine: ScriptedEngine, folder: Path) -> None:
    store = kept(folder, "apples", "pears", "nothing")
    async with opened(engine, store=store, start=Start(wanted="p")) as (app, pilot):
        await wait_until(pilot, lambda: isinstance(app.screen, ConversationList))
        await sees(pilot, "apples", "pears")


async def test_a_search_shows_the_words_around_the_match(engine: ScriptedEngine, folder: Path) -> None:
    store = kept(folder, "fruit", "fruit", "apples")
    async with opened(engine, store=store, size=(100, 30)) as (app, pilot):
        await pilot.press("ctrl+t")
        await sees(pilot, "fruit (2)  ", "fruit  ", "tiny · 1 turn · just now")
        await pilot.press(*"about FRUIT")
        await sees(pilot, "about fruit")
        await sees_no(pilot, "apples")
        found = [
            row.text.strip(" │╭╮╰╯─") for row in app.screen._compositor.render_strips() if "about fruit" in row.text
        ]
        assert found == ["about fruit"] * 2
        reversed_texts = {
            segment.text
            for row in app.screen._compositor.render_strips()
            for segment in row
            if segment.style is not None and segment.style.reverse
        }
        assert {"about", "fruit"} <= reversed_texts


async def test_the_side_bar_lists_opens_and_is_remembered(engine: ScriptedEngine, folder: Path) -> None:
    store = kept(folder, "apples", "pears")
    file = folder / "settings.toml"
    preferences = Preferences.of(load(file, {}), {}, None)

    def app_of(engine: ScriptedEngine, preferences: Preferences) -> ChatApp:
        return ChatApp(engine, ModelOptions(), DecodingOptions(), store=store, preferences=preferences)

    app = app_of(engine, preferences)
    async with driven(app, (120, 30), MODEL, engine) as pilot:
        assert "pears" not in screen_text(app)
        await say(app, pilot, "/sidebar")
        await sees(pilot, "apples", "pears")
        await talked(app, pilot, engine, "plums")
        side_bar = app.screen.query_one(SideBar)
        await wait_until(pilot, lambda: side_bar.option_count == 3 and side_bar.highlighted == 0)
        await pilot.resize_terminal(100, 30)
        await sees_no(pilot, "pears")
        await pilot.resize_terminal(120, 30)
        side_bar.focus()
        await pilot.press("down", "enter")
        await sees(pilot, "about pears")
        assert app.focused is app.chat_screen.prompt
        await say(app, pilot, "/rename Fruit")
        await wait_until(pilot, lambda: "Fruit" in str(side_bar.get_option_at_index(1).prompt))
        await pilot.press("ctrl+n")
        await wait_until(pilot, lambda: side_bar.highlighted is None)
    assert load(file, {}).get("sidebar") is True
    again = ScriptedEngine()
    app = app_of(again, Preferences.of(load(file, {}), {}, None))
    async with driven(app, (130, 30), MODEL, again) as pilot:
        await sees(pilot, "apples", "Fruit", "plums")
        await say(app, pilot, "/sidebar")
        await sees_no(pilot, "apples")
    assert load(file, {}).get("sidebar") is False


async def test_a_long_list_is_read_page_by_page(engine: ScriptedEngine, folder: Path) -> None:
    store = kept(folder, *(f"question {number}" for number in range(70)))
    async with opened(engine, store=store) as (_app, pilot):
        await pilot.press("ctrl+t")
        await sees(pilot, "question 69")
        for _ in range(12):
            await pilot.press("pagedown")
        await sees(pilot, "question 0 ")


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


async def test_retry_keeps_the_reply_so_far_as_an_alternative(engine: ScriptedEngine, folder: Path) -> None:
    async with opened(engine, store=Store(folder)) as (app, pilot):
        await talked(app, pilot, engine, "first", "17 + 25?")
        await say(app, pilot, "/retry")
        await wait_until(pilot, lambda: len(engine.sent_of(Reply)) == 3)
        assert last_messages(engine) == (user("first"), assistant("It is 42."), user("17 + 25?"))
        await answered(app, pilot, engine, (("Forty", "-two."),))
        await sees(pilot, "Forty-two.", "2 of 2")
        assert screen_text(app).count("17 + 25?") == 1
        await pilot.press("shift+tab", "left")
        await sees(pilot, "1 of 2", "It is 42.")
        await sees_no(pilot, "Forty-two.")
        await wait_until(pilot, lambda: app.chat_screen.chat.conversation.messages[-1] == assistant("It is 42."))


def opening(engine: ScriptedEngine, store: Store, wanted: str | None, latest: bool = False) -> ChatApp:
    return ChatApp(engine, ModelOptions(), DecodingOptions(), store=store, start=Start(latest, wanted))


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
    monkeypatch.setattr("lade_chat.tui.chat.conversation_actions.FIRST_SECONDS", 0.0)
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


async def test_who_goes_through_alternatives_stays_on_the_turn(engine: ScriptedEngine, folder: Path) -> None:
    from tests.store.replies import say as said

    store = Store(folder)
    conversation = store.begin()
    said(conversation, "17 + 25?", "40.")
    for reply in ("41.", "42."):
        conversation.retry()
        conversation.grow(Tokens((Piece(reply, "plain", 1, 0),), Statistics()))
        conversation.finish(finished(SHORT))
    said(conversation, "sure?", "yes")
    async with opened(engine, store=store, start=Start(latest=True)) as (app, pilot):
        await sees(pilot, "3 of 3", "sure?", "yes")
        await pilot.press("shift+tab", "up", "up")
        for key, place in (("left", "2 of 3"), ("left", "1 of 3"), ("left", "1 of 3"), ("right", "2 of 3")):
            await pilot.press(key)
            await sees(pilot, place)
            assert isinstance(app.screen.focused, ReplyTurn)
        assert app.screen.focused.kept is not None
        assert app.screen.focused.kept.place == 2
        # Leant on, it goes as far as there are some.
        burst(app, "right", "right", "left", "left", "left", "up", "enter")
        await wait_until(pilot, lambda: isinstance(app.screen, TurnMenu))
        await sees(pilot, "The next alternative")
        await pilot.press("]")
        await sees(pilot, "2 of 3", "41.")
        assert isinstance(app.screen.focused, UserTurn)
        assert not engine.sent_of(Reply)


async def test_an_earlier_turn_keeps_the_focus_through_its_alternatives(engine: ScriptedEngine, folder: Path) -> None:
    from tests.store.replies import say as said

    store = Store(folder)
    conversation = store.begin()
    said(conversation, "first", "one")
    conversation.edit(conversation.path[0].id, "first!")
    conversation.finish(finished(SHORT))
    for number in range(11):
        said(conversation, f"question {number}", f"answer {number}")
    conversation.switch(conversation.turns[0].id)
    for number in range(11):
        said(conversation, f"other {number}", f"answer {number}")
    async with opened(engine, store=store, start=Start(latest=True)) as (app, pilot):
        await sees(pilot, "other 10")
        while len(app.screen.query(UserTurn)) < 12:
            await pilot.press("pageup")
        app.screen.query(UserTurn).first().focus()
        await pilot.press("right")
        await sees(pilot, "first!", "2 of 2")
        assert app.screen.focused is app.screen.query(UserTurn).first()


async def test_an_edited_question_takes_the_place_of_the_old_one(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        await talked(app, pilot, engine, "first", "second")
        await say(app, pilot, "/edit")
        assert app.chat_screen.prompt.text == "second"
        await pilot.press("!", "enter")
        await wait_until(pilot, lambda: len(engine.sent_of(Reply)) == 3)
        assert last_messages(engine)[-1] == user("second!")
        assert len(last_messages(engine)) == 3
        await answered(app, pilot, engine)
        await sees(pilot, "second!", "2 of 2")


async def test_escape_gives_an_edit_up(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        await talked(app, pilot, engine, "first")
        await say(app, pilot, "/edit")
        await pilot.press("escape")
        assert app.chat_screen.prompt.text == ""
        await talked(app, pilot, engine, "second")
        assert len(last_messages(engine)) == 3


async def test_a_turn_is_branched_from_by_its_menu(engine: ScriptedEngine, folder: Path) -> None:
    async with opened(engine, store=Store(folder)) as (app, pilot):
        await talked(app, pilot, engine, "first", "second")
        await pilot.press("shift+tab", "up", "up", "enter")
        await sees(pilot, "Go on from here")
        await pilot.press("b")
        await sees_no(pilot, "second")
        await talked(app, pilot, engine, "another")
        assert [message.content for message in last_messages(engine)] == ["first", "It is 42.", "another"]
        await sees(pilot, "2 of 2")
        latest = Store(folder).latest()
        assert latest is not None
        assert len(latest.turns) == 3


async def test_a_retry_that_fails_at_once_brings_the_reply_back(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        await talked(app, pilot, engine, "17 + 25?")
        await say(app, pilot, "/retry")
        engine.tell(Failed("out of memory"))
        await sees(pilot, "It is 42.", "out of memory")
        assert app.chat_screen.chat.conversation.messages == (user("17 + 25?"), assistant("It is 42."))
        assert app.chat_screen.prompt.text == ""


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
        app.chat_screen.chat.tick()
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
