"""Replies asked for again, edited questions and branches: nothing is lost, and each can be gone back to."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.console import RenderableType
from textual.screen import Screen

from lade_chat.protocol.commands import Reply
from lade_chat.protocol.events import Failed, Tokens
from lade_chat.protocol.values import Piece, Statistics
from lade_chat.store.all_conversations import Store
from lade_chat.tui.app.application import ChatApp
from lade_chat.tui.conversations.conversation_session import Start
from lade_chat.tui.reply.reply_turn import ReplyTurn
from lade_chat.tui.transcript.menus import TurnMenu
from lade_chat.tui.transcript.turn_view import UserTurn
from tests.tui.driving import burst, opened, say, screen_text, sees, sees_no, wait_until
from tests.tui.scripted import ScriptedEngine, finished
from tests.tui.talking import SHORT, answered, assistant, last_messages, talked, user


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
        await wait_until(pilot, lambda: app.chat_screen.conversation.messages[-1] == assistant("It is 42."))


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
        await pilot.press("enter")
        await sees(pilot, "Ask again")
        await pilot.press("escape", "right")  # a menu that was closed leads back to its turn
        await sees(pilot, "3 of 3", "42.")
        assert not engine.sent_of(Reply)


@pytest.mark.parametrize("reply", ["word " * 60, "# A heading\n\n- **one**\n- two\n\n```python\nx = 1\n```\n\n"])
async def test_the_turn_whose_alternatives_are_gone_through_stays_in_view(
    engine: ScriptedEngine, folder: Path, reply: str
) -> None:
    from tests.store.replies import say as said

    store = Store(folder)
    conversation = store.begin()
    for question in ("first", "second", "third"):
        said(conversation, question, f"{reply}{question} end")
    conversation.retry()
    conversation.grow(Tokens((Piece(f"{reply}other end", "plain", 1, 0),), Statistics()))
    conversation.finish(finished(SHORT))
    async with opened(engine, store=store, start=Start(latest=True)) as (app, pilot):
        await sees(pilot, "other end")
        await pilot.press("shift+tab")
        for key, place, end in (("left", "1 of 2", "third end"), ("right", "2 of 2", "other end")):
            await pilot.press(key)
            await sees(pilot, place, end)
            await pilot.pause(0.5)  # Markdown is laid out later
            assert end in screen_text(app)


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


async def test_a_draft_comes_back_after_an_earlier_question_was_edited(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        await talked(app, pilot, engine, "first")
        await pilot.press(*"draft", "shift+tab", "enter")
        await sees(pilot, "Edit the question")
        await pilot.press("e")
        await wait_until(pilot, lambda: app.chat_screen.prompt.text == "first")
        await pilot.press("escape", "up")
        await wait_until(pilot, lambda: app.chat_screen.prompt.text == "draft")


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


async def test_between_two_alternatives_the_screen_is_never_blank(
    engine: ScriptedEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    pictures: list[str] = []
    draw = ChatApp._display

    def record(app: ChatApp, screen: Screen[None], picture: RenderableType | None) -> None:
        pictures.append(screen_text(app))
        draw(app, screen, picture)

    async with opened(engine) as (app, pilot):
        await talked(app, pilot, engine, "17 + 25?")
        for _ in range(2):
            await say(app, pilot, "/retry")
            await answered(app, pilot, engine)
        await pilot.press("shift+tab")
        monkeypatch.setattr(ChatApp, "_display", record)
        for key, place in (("left", 2), ("left", 1), ("right", 2)):
            await pilot.press(key)
            await sees(pilot, f"{place} of 3")
        assert pictures
        assert all("17 + 25?" in picture and "It is 42." in picture for picture in pictures)


async def test_a_turn_is_branched_from_by_its_menu(engine: ScriptedEngine, folder: Path) -> None:
    async with opened(engine, store=Store(folder)) as (app, pilot):
        await talked(app, pilot, engine, "first", "second")
        await pilot.press("shift+tab", "up", "up", "enter")
        await sees(pilot, "Go on from here")
        await pilot.press("b")
        await sees(pilot, "Your next message follows this turn.")
        await sees_no(pilot, "second")
        await pilot.press("shift+tab", "enter", "b")
        await sees(pilot, "Nothing follows this turn yet: your next message does.")
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
        assert app.chat_screen.conversation.messages == (user("17 + 25?"), assistant("It is 42."))
        assert app.chat_screen.prompt.text == ""
