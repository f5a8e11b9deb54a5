"""A reply that goes on after its end is one with what it goes on from; a resumed one may get other instructions."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.pilot import Pilot

from lade_chat.protocol.commands import Reply
from lade_chat.protocol.events import Failed, ReplyFinished, Tokens
from lade_chat.protocol.values import Message, Statistics
from lade_chat.store.all_conversations import Store
from lade_chat.tui.app.application import ChatApp
from lade_chat.tui.chat.chat_state import Phase
from lade_chat.tui.conversations.conversation_session import Start
from lade_chat.tui.reply.reply_turn import ReplyTurn
from tests.pairs import pairs
from tests.tui.driving import opened, say, screen_text, sees, sees_no, status, wait_until
from tests.tui.scripted import MODEL, ScriptedEngine, finished, pieces, streamed
from tests.tui.talking import answered, asked, assistant, last_messages, talked, user


async def test_a_reply_goes_on_where_it_was_cut_off(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        await say(app, pilot, "Count.")
        engine.tell(*streamed((("1,", " 2,"),)), finished((("1,", " 2,"),), "length"))
        await wait_until(pilot, lambda: "ready" in status(app))
        await say(app, pilot, "/continue")
        await wait_until(pilot, lambda: len(engine.sent_of(Reply)) == 2)
        assert last_messages(engine) == (user("Count."), assistant("1, 2,"))
        await answered(app, pilot, engine, ((" 3,", " 4"),))
        assert app.chat_screen.conversation.messages == (user("Count."), assistant("1, 2, 3, 4"))
        await sees(pilot, "1, 2, 3, 4", "2 of 2")
        await pilot.press("shift+tab", "left")
        await sees(pilot, "1 of 2", "token limit")
        await sees_no(pilot, "3, 4")
        await pilot.press("right")
        await sees(pilot, "1, 2, 3, 4", "2 of 2")


async def cut_off_and_gone_on(app: ChatApp, pilot: Pilot[None], engine: ScriptedEngine) -> None:
    """A reply in two parts."""
    await say(app, pilot, "Count.")
    engine.tell(*streamed((("1,", " 2,"),)), finished((("1,", " 2,"),), "length"))
    await wait_until(pilot, lambda: "ready" in status(app))
    await say(app, pilot, "/continue")
    await wait_until(pilot, lambda: len(engine.sent_of(Reply)) == 2)
    await answered(app, pilot, engine, ((" 3,", " 4"),))


async def sees_the_metrics_of_both_parts(app: ChatApp, pilot: Pilot[None]) -> None:
    """Those of four tokens in two steps of 0.15 s each, and nothing of the end that was none."""
    reply = app.screen.query_one(ReplyTurn)
    reply.set_debug(True)
    await sees(pilot, "13.3 tok/s · 2.0 tokens/step · 50% verified", "end of reply")
    assert screen_text(app).count("tokens/step") == 1
    assert "token limit" not in screen_text(app)
    reply.set_debug(False)


async def test_a_reply_that_goes_on_is_one_with_what_was_said(engine: ScriptedEngine, folder: Path) -> None:
    async with opened(engine, store=Store(folder)) as (app, pilot):
        await cut_off_and_gone_on(app, pilot, engine)
        assert len(app.screen.query(ReplyTurn)) == 1
        await sees(pilot, "1, 2, 3, 4")
        await sees_the_metrics_of_both_parts(app, pilot)
        await say(app, pilot, "/copy")
        await wait_until(pilot, lambda: app.clipboard == "1, 2, 3, 4")
        await say(app, pilot, "/retry")
        await wait_until(pilot, lambda: len(engine.sent_of(Reply)) == 3)
        assert last_messages(engine) == (user("Count."),)


async def test_a_reply_in_two_parts_comes_back_as_one(engine: ScriptedEngine, folder: Path) -> None:
    async with opened(engine, store=Store(folder)) as (app, pilot):
        await cut_off_and_gone_on(app, pilot, engine)
    async with opened(ScriptedEngine(), store=Store(folder), start=Start(latest=True)) as (app, pilot):
        await sees(pilot, "1, 2, 3, 4", "2 of 2")
        assert len(app.screen.query(ReplyTurn)) == 1
        await sees_the_metrics_of_both_parts(app, pilot)


async def test_after_a_restart_a_reply_goes_on_from_the_tokens_that_it_was_written_with(
    engine: ScriptedEngine, folder: Path
) -> None:
    async with opened(engine, store=Store(folder)) as (app, pilot):
        await say(app, pilot, "Count.")
        engine.tell(*streamed(CUT), finished(CUT, "length"))
        await wait_until(pilot, lambda: "ready" in status(app))
    again = ScriptedEngine()
    async with opened(again, store=Store(folder), start=Start(latest=True)) as (app, pilot):
        await say(app, pilot, "/continue")
        await wait_until(pilot, lambda: again.sent_of(Reply))
        assert asked(again).written == tuple(piece.id for piece in pieces(CUT))


async def test_a_reply_that_cannot_go_on_stays_as_it_was(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        await talked(app, pilot, engine, "17 + 25?")
        await say(app, pilot, "/continue")
        await sees(pilot, "The reply ended by itself: there is nothing to continue.")
        assert len(engine.sent_of(Reply)) == 1
        await say(app, pilot, "Count.")
        engine.tell(*streamed((("1,", " 2,"),)), finished((("1,", " 2,"),), "length"))
        await wait_until(pilot, lambda: "ready" in status(app))
        await say(app, pilot, "/continue")
        engine.tell(Failed("out of memory"))
        await sees(pilot, "1, 2,", "out of memory", "tok/s")
        assert app.chat_screen.conversation.messages[2:] == (user("Count."), assistant("1, 2,"))


CUT = (("1,", " 2,"),)


async def about_to_go_on(app: ChatApp, pilot: Pilot[None], engine: ScriptedEngine) -> None:
    """A reply that ended at the token limit, whose continuation is paused before its first step."""
    await say(app, pilot, "Count.")
    engine.tell(*streamed(CUT), finished(CUT, "length"))
    await wait_until(pilot, lambda: "ready" in status(app))
    await pilot.press("f9")
    await say(app, pilot, "/continue")
    await wait_until(pilot, lambda: len(engine.sent_of(Reply)) == 2)
    assert asked(engine).paused


async def is_as_before(pilot: Pilot[None]) -> None:
    """The reply and the reason that it ended for stand there; nothing says that it went on, or was asked again."""
    await sees(pilot, "1, 2,", "token limit")
    assert not [each for each in ("2 of 2", "switched", "broken off", "No answer") if each in screen_text(pilot.app)]


async def goes_on_behind(app: ChatApp, pilot: Pilot[None], engine: ScriptedEngine) -> None:
    await say(app, pilot, "/continue")
    await wait_until(pilot, lambda: app.chat_screen.state.phase is Phase.REPLYING)
    assert last_messages(engine) == (user("Count."), assistant("1, 2,"))
    await answered(app, pilot, engine, ((" 3,", " 4"),))
    await sees(pilot, "1, 2, 3, 4", "2 of 2")


async def test_a_continuation_stopped_before_its_first_step_leaves_the_reply_as_it_was(
    engine: ScriptedEngine, folder: Path
) -> None:
    async with opened(engine, store=Store(folder)) as (app, pilot):
        await about_to_go_on(app, pilot, engine)
        await pilot.press("escape")
        engine.tell(ReplyFinished("cancelled", Statistics(prompt_tokens=23, lookahead=True)))
        await wait_until(pilot, lambda: app.chat_screen.state.phase is Phase.READY)
        await is_as_before(pilot)
        assert [(turn.reply, turn.ending) for turn in Store(folder).latest().turns] == [("1, 2,", "length")]  # type: ignore[union-attr]
        await goes_on_behind(app, pilot, engine)


@pytest.mark.parametrize("killed", [False, True])
async def test_a_chat_that_ends_before_the_first_step_of_a_continuation_leaves_the_reply_as_it_was(
    engine: ScriptedEngine, folder: Path, killed: bool
) -> None:
    if killed:
        conversation = Store(folder).begin()
        conversation.ask("Count.")
        conversation.grow(Tokens(pieces(CUT), finished(CUT).statistics))
        conversation.finish(finished(CUT, "length"))
        conversation.go_on()
    else:
        async with opened(engine, store=Store(folder)) as (app, pilot):
            await about_to_go_on(app, pilot, engine)
            await pilot.press("ctrl+q")
    again = ScriptedEngine()
    async with opened(again, store=Store(folder), start=Start(latest=True)) as (app, pilot):
        await is_as_before(pilot)
        await goes_on_behind(app, pilot, again)


async def test_a_continuation_in_which_the_model_ends_at_once_ends_the_reply(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        await about_to_go_on(app, pilot, engine)
        engine.tell(ReplyFinished("eos", Statistics(generated_tokens=1, steps=1, lookahead=True)))
        await wait_until(pilot, lambda: app.chat_screen.state.phase is Phase.READY)
        await say(app, pilot, "/continue")
        await sees(pilot, "The reply ended by itself: there is nothing to continue.")
        assert len(engine.sent_of(Reply)) == 2


def cut_off(folder: Path) -> Start:
    """Store a conversation with a reply that was stopped, and resume it."""
    conversation = Store(folder).begin()
    conversation.ask("Count.")
    conversation.grow(Tokens(pieces(CUT), Statistics()))
    conversation.break_off()
    return Start(wanted=conversation.id)


@pytest.mark.parametrize("command", ["/continue", "/retry"])
async def test_what_needs_the_model_waits_while_that_loads(engine: ScriptedEngine, folder: Path, command: str) -> None:
    async with opened(engine, store=Store(folder), start=cut_off(folder), model=None) as (app, pilot):
        await sees(pilot, "1, 2,")
        await say(app, pilot, command)
        assert not app.chat_screen.prompt.text
        shown = "The reply goes on once the model is loaded." if command == "/continue" else "waits for the model"
        await sees(pilot, shown)
        await say(app, pilot, command)
        await sees(pilot, "Something waits for the model already")
        await say(app, pilot, "And then?")
        engine.load()
        await wait_until(pilot, lambda: engine.sent_of(Reply))
        await sees_no(pilot, shown if command == "/continue" else "already", "Something waits")
        said = (assistant("1, 2,"),) if command == "/continue" else ()
        assert last_messages(engine) == (user("Count."), *said)
        engine.tell(*streamed(((" 3",),)), finished(((" 3",),)))
        await wait_until(pilot, lambda: len(engine.sent_of(Reply)) == 2)
        whole = "1, 2, 3" if command == "/continue" else " 3"
        assert last_messages(engine) == (user("Count."), assistant(whole), user("And then?"))


@pytest.mark.parametrize(
    ("keys", "command"), pairs([("escape",), ("escape", "escape"), ("up",)], ("/continue", "/retry"))
)
async def test_what_waits_for_the_model_is_taken_back_and_the_reply_stays(
    engine: ScriptedEngine, folder: Path, command: str, keys: tuple[str, ...]
) -> None:
    async with opened(engine, store=Store(folder), start=cut_off(folder), model=None) as (app, pilot):
        await sees(pilot, "1, 2,")
        await say(app, pilot, command)
        await pilot.press(*keys)
        await sees(pilot, "1, 2,", "Taken back: the reply stays as it is.")
        await sees_no(pilot, "waits for the model", "goes on once")
        assert not app.chat_screen.prompt.text
        engine.load()
        await wait_until(pilot, lambda: app.chat_screen.state.phase is Phase.READY)
        assert not engine.sent_of(Reply)
        assert screen_text(app).count("Count.") == 1


@pytest.mark.parametrize("said", ["Be brief.", None])
async def test_a_system_prompt_of_the_command_line_counts_for_a_resumed_conversation(
    engine: ScriptedEngine, folder: Path, said: str | None
) -> None:
    conversation = Store(folder).begin("Be kind.")
    conversation.ask("one")
    conversation.break_off()
    start = Start(wanted=conversation.id, system=said)
    async with opened(engine, store=Store(folder), start=start, system=said) as (app, pilot):
        await sees(pilot, "You   one")
        await say(app, pilot, "two")
        await wait_until(pilot, lambda: engine.sent_of(Reply))
        assert last_messages(engine)[0] == Message("system", said or "Be kind.")


async def test_what_waits_for_the_model_is_given_back_by_another_conversation(
    engine: ScriptedEngine, folder: Path
) -> None:
    async with opened(engine, store=Store(folder), model=None) as (app, pilot):
        await say(app, pilot, "for later")
        await wait_until(pilot, lambda: not app.chat_screen.prompt.text)
        await pilot.press("ctrl+n")
        await wait_until(pilot, lambda: app.chat_screen.prompt.text == "for later")
        engine.load(MODEL)
        await wait_until(pilot, lambda: app.chat_screen.state.phase is Phase.READY)
        assert not engine.sent_of(Reply)


async def test_a_stop_string_that_comes_first_again_is_told(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        await say(app, pilot, "/set stop '\\n'")
        await say(app, pilot, "Count.")
        await wait_until(pilot, lambda: asked(engine).options.stop == ("\n",))
        engine.tell(*streamed((("1,", " 2,"),)), finished((("1,", " 2,"),), "stop"))
        await wait_until(pilot, lambda: "ready" in status(app))
        await say(app, pilot, "/continue")
        await wait_until(pilot, lambda: len(engine.sent_of(Reply)) == 2)
        engine.tell(*streamed((("",),)), finished((("",),), "stop"))
        await sees(pilot, "Nothing was added: the stop string came first again.")
        assert app.chat_screen.conversation.messages == (user("Count."), assistant("1, 2,"))
