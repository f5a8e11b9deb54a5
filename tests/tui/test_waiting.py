"""A message that waits for the model is in the conversation, and on disk, from the moment it is sent."""

from __future__ import annotations

from pathlib import Path

import pytest

from lade_chat.protocol.commands import Compare, Reply
from lade_chat.protocol.events import EngineLost, Failed
from lade_chat.protocol.values import Message, ModelInfo
from lade_chat.store.all_conversations import Store
from lade_chat.tui.chat.chat_state import Phase
from lade_chat.tui.conversations.conversation_session import Start
from lade_chat.tui.race.race_screen import RaceScreen
from tests.tui.driving import opened, reply_text, say, screen_text, sees, sees_no, status, wait_until
from tests.tui.scripted import FUNCTION, MODEL, ScriptedEngine, finished, streamed
from tests.tui.talking import answered, assistant, last_messages, talked, user


def on_disk(folder: Path) -> list[tuple[str | None, str, str | None]]:
    """The latest conversation's questions, replies and endings, as another program reads them now."""
    latest = Store(folder).latest()
    return [] if latest is None else [(turn.question, turn.reply, turn.ending) for turn in latest.path]


async def test_what_waits_for_the_model_is_on_disk_at_once_and_survives_the_end(
    engine: ScriptedEngine, folder: Path
) -> None:
    async with opened(engine, store=Store(folder), model=None) as (app, pilot):
        await say(app, pilot, "What is a list?")
        await say(app, pilot, "And a tuple?")
        await sees(pilot, "waits for the model")
        # As after SIGKILL: nothing has been closed.
        assert on_disk(folder) == [("What is a list?", "", None), ("And a tuple?", "", None)]
        await pilot.press("ctrl+q")
    assert on_disk(folder) == [("What is a list?", "", None), ("And a tuple?", "", None)]
    again = ScriptedEngine()
    async with opened(again, store=Store(folder), start=Start(latest=True)) as (app, pilot):
        unanswered = ("Not answered (“What is a list?”)", "Not answered (“And a tuple?”)")
        await sees(pilot, *unanswered, "/retry asks again")
        assert not again.sent_of(Reply)
        await say(app, pilot, "/retry")
        await wait_until(pilot, lambda: again.sent_of(Reply))
        assert last_messages(again) == (user("And a tuple?"),)
        await sees_no(pilot, unanswered[1])


async def test_below_each_unanswered_question_stands_what_asks_it_again(engine: ScriptedEngine, folder: Path) -> None:
    retry, menu = "/retry asks again", "Shift+Tab and Up to it, Enter, Ask again."
    async with opened(engine, store=Store(folder), model=None) as (app, pilot):
        await say(app, pilot, "one")
        await say(app, pilot, "two")
        await pilot.press("ctrl+q")
    again = ScriptedEngine()
    async with opened(again, store=Store(folder), start=Start(latest=True), size=(120, 40)) as (app, pilot):
        await sees(pilot, retry, menu)
        assert (screen_text(app).count(retry), screen_text(app).count(menu)) == (1, 1)
        await say(app, pilot, "three")  # which /retry would ask from here on
        await wait_until(pilot, lambda: again.sent_of(Reply))
        await answered(app, pilot, again)
        await sees_no(pilot, retry)
        assert screen_text(app).count(menu) == 2
        await pilot.press("shift+tab", "up", "up", "up", "enter")
        await sees(pilot, "Ask again", "Copy the message")
        await pilot.press("r")
        await wait_until(pilot, lambda: len(again.sent_of(Reply)) == 2)
        assert last_messages(again) == (user("one"),)


@pytest.mark.parametrize("command", ["/continue", "/retry"])
async def test_what_waits_behind_what_never_begins_survives_the_end(
    engine: ScriptedEngine, folder: Path, command: str
) -> None:
    async with opened(engine, store=Store(folder)) as (app, pilot):
        await say(app, pilot, "zero")
        engine.tell(*streamed(FUNCTION[:4]), EngineLost("killed"))
        await sees(pilot, "engine is gone")
        await say(app, pilot, command)
        await say(app, pilot, "one")
        await say(app, pilot, "two")
        await pilot.press("ctrl+q")
    assert [(question, ending) for question, _, ending in on_disk(folder)] == [
        ("zero", "failed"),
        ("one", None),
        ("two", None),
    ]


async def test_what_waited_is_answered_in_order_and_in_its_place(engine: ScriptedEngine, folder: Path) -> None:
    async with opened(engine, store=Store(folder), model=None) as (app, pilot):
        await say(app, pilot, "one")
        await say(app, pilot, "two")
        engine.load()
        await wait_until(pilot, lambda: engine.sent_of(Reply))
        assert last_messages(engine) == (user("one"),)
        engine.tell(*streamed((("1",),)), finished((("1",),)))
        await wait_until(pilot, lambda: len(engine.sent_of(Reply)) == 2)
        assert last_messages(engine) == (user("one"), assistant("1"), user("two"))
        await answered(app, pilot, engine, (("2",),))
        assert on_disk(folder) == [("one", "1", "eos"), ("two", "2", "eos")]
        assert all(turn.model is not None and turn.model.name == MODEL.name for turn in Store(folder).latest().turns)  # type: ignore[union-attr]
        await pilot.press("shift+tab", "up", "up", "up", "enter")
        await sees(pilot, "Copy the reply")
        await pilot.press("c")
        await wait_until(pilot, lambda: app.clipboard == "1")


async def test_what_waits_behind_a_reply_that_is_being_stopped_is_on_disk_too(
    engine: ScriptedEngine, folder: Path
) -> None:
    async with opened(engine, store=Store(folder)) as (app, pilot):
        await say(app, pilot, "one")
        engine.tell(*streamed(FUNCTION[:4]))
        await wait_until(pilot, lambda: "list" in reply_text(app))
        await pilot.press("escape")
        await say(app, pilot, "two")
        assert [question for question, _, _ in on_disk(folder)] == ["one", "two"]
        engine.tell(finished(FUNCTION[:4], "cancelled"))
        await wait_until(pilot, lambda: len(engine.sent_of(Reply)) == 2)
        assert on_disk(folder)[0][2] == "cancelled"
        await answered(app, pilot, engine)
        assert on_disk(folder)[1] == ("two", "It is 42.", "eos")


async def test_what_waits_stays_where_the_question_before_it_gets_no_answer(
    engine: ScriptedEngine, folder: Path
) -> None:
    async with opened(engine, store=Store(folder)) as (app, pilot):
        await talked(app, pilot, engine, "zero")
        await say(app, pilot, "/retry")
        await wait_until(pilot, lambda: len(engine.sent_of(Reply)) == 2)
        await pilot.press("escape")
        await say(app, pilot, "two")
        engine.tell(Failed("out of memory"))
        await wait_until(pilot, lambda: len(engine.sent_of(Reply)) == 3)
        assert last_messages(engine) == (user("zero"), assistant("It is 42."), user("two"))
        await answered(app, pilot, engine)
        assert on_disk(folder) == [("zero", "It is 42.", "eos"), ("two", "It is 42.", "eos")]


async def test_a_question_that_is_given_back_is_no_longer_on_disk(engine: ScriptedEngine, folder: Path) -> None:
    async with opened(engine, store=Store(folder), model=None) as (app, pilot):
        await say(app, pilot, "for later")
        await pilot.press("ctrl+n")
        await wait_until(pilot, lambda: app.chat_screen.prompt.text == "for later")
        await wait_until(pilot, lambda: not app.chat_screen.store_worker.busy)
        assert on_disk(folder) == []
        engine.load()
        await wait_until(pilot, lambda: app.chat_screen.state.phase is Phase.READY)


async def test_a_question_whose_prompt_was_still_being_read_is_unanswered(engine: ScriptedEngine, folder: Path) -> None:
    async with opened(engine, store=Store(folder)) as (app, pilot):
        await say(app, pilot, "one")
        await wait_until(pilot, lambda: "reading" in status(app))
        await pilot.press("ctrl+q")
    assert on_disk(folder) == [("one", "", None)]
    async with opened(ScriptedEngine(), store=Store(folder), start=Start(latest=True)) as (app, pilot):
        await sees(pilot, "Not answered")


# --- A race asked for while the model is being loaded begins once it is, unless somebody is typing then

BEGINS = "The race begins once the model is loaded."


@pytest.mark.parametrize("key", [False, True])
async def test_a_race_waits_for_the_model(engine: ScriptedEngine, key: bool) -> None:
    async with opened(engine, model=None) as (app, pilot):
        if key:
            app.chat_screen.prompt.put("Hello")
            await pilot.press("ctrl+r")
        else:
            await say(app, pilot, "/compare Hello")
        await sees(pilot, BEGINS)
        assert not engine.sent_of(Compare)
        engine.load()
        await wait_until(pilot, lambda: isinstance(app.screen, RaceScreen))
        (command,) = engine.sent_of(Compare)
        assert isinstance(command, Compare)
        assert command.messages == (Message("user", "Hello"),)


async def test_a_race_that_waits_interrupts_nobody_who_types(engine: ScriptedEngine) -> None:
    async with opened(engine, model=None) as (app, pilot):
        await say(app, pilot, "/compare Hello")
        await sees(pilot, BEGINS)
        await pilot.press(*"draft")
        engine.load()
        await sees(pilot, "Type /compare now to race")
        assert not engine.sent_of(Compare)
        assert app.screen is app.chat_screen


async def test_a_race_that_waits_can_be_dropped(engine: ScriptedEngine) -> None:
    async with opened(engine, model=None) as (app, pilot):
        await say(app, pilot, "/compare Hello")
        await sees(pilot, BEGINS)
        await pilot.press("escape", "escape")
        engine.load()
        await wait_until(pilot, lambda: app.chat_screen.state.phase is Phase.READY)
        assert not engine.sent_of(Compare)


async def test_a_race_that_waited_for_a_model_without_lookahead_says_so(engine: ScriptedEngine) -> None:
    plain = ModelInfo("rwkv", "cpu", "float32", 1, 2048, lookahead_supported=False)
    async with opened(engine, model=None) as (app, pilot):
        await say(app, pilot, "/compare Hello")
        engine.load(plain)
        await sees(pilot, "nothing to race")
        assert not engine.sent_of(Compare)


async def test_there_is_nothing_to_wait_for_without_a_question(engine: ScriptedEngine) -> None:
    async with opened(engine, model=None) as (app, pilot):
        await pilot.press("ctrl+r")
        await wait_until(pilot, lambda: "Nothing to race yet" in status(app))
