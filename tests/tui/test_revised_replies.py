"""A reply is edited, or goes on where it was cut off; the reply that was there before stays beside it."""

from __future__ import annotations

from pathlib import Path

import pytest

from lade_chat.protocol.commands import Reply
from lade_chat.protocol.events import ReplyFinished, ReplyStarted, Tokens
from lade_chat.protocol.values import Piece, Statistics
from lade_chat.store.all_conversations import Store
from lade_chat.tui.conversations.conversation_session import Start
from lade_chat.tui.reply.tinted_text import TintedText
from tests.tui.driving import opened, say, sees, sees_no, wait_until
from tests.tui.scripted import ScriptedEngine, finished, streamed
from tests.tui.talking import answered, assistant, last_messages, talked, user

THOUGHTFUL = (("<think>", "Add.", "</think>", "\n"), ("It", " is"), (" 42", "."))


async def test_an_edited_reply_goes_on_and_the_one_before_stays(engine: ScriptedEngine, folder: Path) -> None:
    async with opened(engine, store=Store(folder), size=(100, 24)) as (app, pilot):
        await say(app, pilot, "17 + 25?")
        await answered(app, pilot, engine, THOUGHTFUL)
        await pilot.press("shift+tab", "enter")
        await sees(pilot, "Edit the reply and have it go on")
        await pilot.press("a")
        await sees(pilot, "editing: Enter has the reply go on from here")
        assert app.chat_screen.prompt.text == "It is 42."
        await say(app, pilot, "It is, /as all know,")
        await wait_until(pilot, lambda: len(engine.sent_of(Reply)) == 2)
        assert last_messages(engine) == (user("17 + 25?"), assistant("<think>Add.</think>\nIt is, /as all know,"))
        await answered(app, pilot, engine, ((" 42",),))
        await sees(pilot, "It is, /as all know, 42", "2 of 2", "thought for")
        assert not app.chat_screen.prompt.text
        await pilot.press("shift+tab", "left")
        await sees(pilot, "1 of 2", "It is 42.")
        await pilot.press("right")
        await sees(pilot, "2 of 2", "It is, /as all know, 42")
    async with opened(ScriptedEngine(), store=Store(folder), start=Start(latest=True)) as (app, pilot):
        await sees(pilot, "It is, /as all know, 42", "2 of 2")
        origins = {origin for text, origin in app.screen.query(TintedText).last().tokens if text.strip() in "It is"}
        assert "trajectory" in origins  # what was not edited keeps its tints


async def test_the_slash_command_edits_the_last_reply_and_escape_gives_it_up(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        await say(app, pilot, "/edit reply")
        await sees(pilot, "There is no reply to edit yet.")
        await talked(app, pilot, engine, "17 + 25?")
        await say(app, pilot, "/edit reply")
        assert app.chat_screen.prompt.text == "It is 42."
        await pilot.press("escape")
        await wait_until(pilot, lambda: not app.chat_screen.prompt.text)
        await talked(app, pilot, engine, "And then?")
        assert last_messages(engine)[-1] == user("And then?")
        await say(app, pilot, "/edit twice")
        await sees(pilot, "Use /edit for the last question, or /edit reply.")


async def test_blanks_at_the_end_of_an_edited_reply_are_left_to_the_model(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        await talked(app, pilot, engine, "17 + 25?")
        await say(app, pilot, "/edit reply")
        await pilot.press("ctrl+w")
        assert app.chat_screen.prompt.text == "It is "
        await pilot.press("enter")
        await wait_until(pilot, lambda: len(engine.sent_of(Reply)) == 2)
        assert last_messages(engine)[-1] == assistant("It is")


async def test_a_reply_without_an_answer_is_not_edited_and_an_emptied_one_is_told_as_such(
    engine: ScriptedEngine,
) -> None:
    async with opened(engine, size=(100, 24)) as (app, pilot):
        await say(app, pilot, "17 + 25?")
        await answered(app, pilot, engine, (("<think>", "Add."),))
        for keys in (("a",), ("c",)):
            await pilot.press("shift+tab", "enter", *keys)
            await sees(pilot, "This reply is all thought: there is no answer.")
            assert app.chat_screen.prompt.editing is None
            await pilot.press("x", "ctrl+c")
            app.chat_screen.status.hint("")  # or it would stand there for seconds
            await sees_no(pilot, "all thought")
        await say(app, pilot, "/copy")
        await sees(pilot, "This reply is all thought: there is no answer.")
        await talked(app, pilot, engine, "And then?")
        for command, told in (
            ("/edit reply", "Nothing is left of the reply: /retry asks the question again."),
            ("/edit", "Nothing is left of the question: Esc leaves it as it was."),
        ):
            await say(app, pilot, command)
            await pilot.press("ctrl+u", "enter")
            await sees(pilot, told)
            await pilot.press("escape")


@pytest.mark.parametrize("key", ["ctrl+c", "escape"])
async def test_an_edit_that_is_given_up_is_told_and_its_text_comes_back(engine: ScriptedEngine, key: str) -> None:
    async with opened(engine, size=(120, 24)) as (app, pilot):
        await talked(app, pilot, engine, "17 + 25?")
        await say(app, pilot, "/edit reply")
        await pilot.press("!", key)
        await sees(pilot, "Nothing is changed: the editing was given up. Up brings back what you typed.")
        await sees_no(pilot, "editing:")
        await pilot.press("up")
        assert app.chat_screen.prompt.text == "It is 42.!"
        await pilot.press("ctrl+c")
        await say(app, pilot, "/edit reply")
        await pilot.press(key)  # nothing was typed
        await sees(pilot, "the editing was given up.")
        await sees_no(pilot, "editing:", "Up brings back")
        await pilot.press("up")
        assert app.chat_screen.prompt.text == "/edit reply"


@pytest.mark.parametrize("typed", ["", "!"])
async def test_in_another_conversation_only_what_was_typed_is_left_of_an_edit(
    engine: ScriptedEngine, typed: str
) -> None:
    async with opened(engine, size=(120, 24)) as (app, pilot):
        await talked(app, pilot, engine, "17 + 25?")
        await say(app, pilot, "/edit reply")
        await pilot.press(*typed, "ctrl+n")
        await sees_no(pilot, "editing:", "17 + 25?")
        assert app.chat_screen.prompt.text == ("It is 42.!" if typed else "")


async def test_an_earlier_reply_that_was_cut_off_goes_on_beside_itself(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        await say(app, pilot, "Count.")
        engine.tell(*streamed((("1,", " 2,"),)), finished((("1,", " 2,"),), "length"))
        await sees(pilot, "token limit")
        await talked(app, pilot, engine, "Sure?")
        await pilot.press("shift+tab", "up", "up", "enter")
        await sees(pilot, "Have the reply go on")
        await pilot.press("g")
        await wait_until(pilot, lambda: len(engine.sent_of(Reply)) == 3)
        assert last_messages(engine) == (user("Count."), assistant("1, 2,"))
        await answered(app, pilot, engine, ((" 3",),))
        await sees(pilot, "1, 2, 3", "2 of 2", "1.5 tokens/step")  # those of the first part count
        await sees_no(pilot, "Sure?")
        await pilot.press("shift+tab", "left")
        await sees(pilot, "Sure?", "1 of 2")


async def test_an_edited_reply_that_others_follow_goes_on_beside_itself_too(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        await talked(app, pilot, engine, "17 + 25?")
        await say(app, pilot, "/edit reply")
        await pilot.press("backspace", "enter")
        await wait_until(pilot, lambda: len(engine.sent_of(Reply)) == 2)
        engine.tell(ReplyStarted(1), ReplyFinished("cancelled", Statistics()))
        await talked(app, pilot, engine, "Sure?")
        await pilot.press("shift+tab", "up", "up", "enter", "g")
        await wait_until(pilot, lambda: len(engine.sent_of(Reply)) == 4)
        await answered(app, pilot, engine, ((", yes",),))
        await sees(pilot, "It is 42, yes", "3 of 3")
        await pilot.press("shift+tab", "left")
        await sees(pilot, "2 of 3", "Sure?")


async def test_a_reply_that_ended_by_itself_is_not_offered_to_go_on(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        await talked(app, pilot, engine, "17 + 25?")
        await pilot.press("shift+tab", "enter")
        await sees(pilot, "Edit the reply")
        await sees_no(pilot, "Have the reply go on")


async def test_a_reply_cut_off_in_its_thought_goes_on(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        await say(app, pilot, "17 + 25?")
        cut = Tokens((Piece("<think>Add", "plain", 1, 0),), Statistics(1, 1))
        engine.tell(ReplyStarted(1), cut, ReplyFinished("length", Statistics(1, 1)))
        await sees(pilot, "token limit", "ready")
        await say(app, pilot, "/continue")
        await wait_until(pilot, lambda: len(engine.sent_of(Reply)) == 2)
        assert last_messages(engine) == (user("17 + 25?"), assistant("<think>Add"))


async def test_while_the_model_answers_an_edited_reply_stays_in_the_prompt(engine: ScriptedEngine) -> None:
    async with opened(engine, size=(100, 24)) as (app, pilot):
        await talked(app, pilot, engine, "17 + 25?")
        await say(app, pilot, "/edit reply")
        app.chat_screen.prompt.editing, number = None, app.chat_screen.prompt.editing
        await say(app, pilot, "And then?")
        assert number is not None
        app.chat_screen.prompt.revise(number, "It is", is_reply=True)
        await pilot.press("enter")
        await sees(pilot, "The model is still answering.")
        assert app.chat_screen.prompt.text == "It is"
