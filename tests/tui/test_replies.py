"""A reply from question to metrics: streaming, switching, stopping, thoughts, text that would like to be more."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from textual.content import Span

from lade_chat.protocol.commands import Reply, SetLookahead, Stop
from lade_chat.protocol.events import ReplyFinished, ReplyStarted, Tokens
from lade_chat.protocol.values import Message, ModelInfo, Piece, Statistics
from lade_chat.tui.chat.chat_state import Phase
from lade_chat.tui.reply.tinted_text import TextChunk
from tests.tui.driving import opened, reply_text, say, screen_text, sees, sees_no, status, wait_until
from tests.tui.scripted import FUNCTION, ScriptedEngine, finished, pieces, statistics, streamed, text_of
from tests.tui.talking import answered


async def test_all_text_is_shown_the_last_token_too(engine: ScriptedEngine) -> None:
    async with opened(engine, system="Be brief.") as (app, pilot):
        await say(app, pilot, "Write a function.")
        (command,) = engine.sent_of(Reply)
        assert isinstance(command, Reply)
        assert command.messages == (Message("system", "Be brief."), Message("user", "Write a function."))
        engine.tell(*streamed(FUNCTION), finished(FUNCTION))
        await wait_until(pilot, lambda: "ready" in status(app))
        assert reply_text(app) == text_of(FUNCTION)
        await sees(pilot, "56.7 tok/s · 3.2 tokens/step")
        assert "end of reply" not in screen_text(app)
        await pilot.press("shift+tab")
        await sees(pilot, "56.7 tok/s", "69% verified", "end of reply")
        await pilot.press("escape")
        await sees_no(pilot, "end of reply")
        assert app.chat_screen.conversation.messages[-1] == Message("assistant", text_of(FUNCTION))


async def test_long_replies_are_shown_whole_in_chunks(engine: ScriptedEngine) -> None:
    script = tuple((f"line {number}\n", "and ", "more\n") for number in range(100))
    async with opened(engine) as (app, pilot):
        await say(app, pilot, "Go on.")
        engine.tell(*streamed(script))
        await wait_until(pilot, lambda: "line 99" in reply_text(app))
        assert reply_text(app) == text_of(script)
        assert len(app.screen.query(TextChunk)) > 3
        engine.tell(finished(script))
        await wait_until(pilot, lambda: len(app.screen.query(TextChunk)) == 1)
        assert reply_text(app) == text_of(script)
        await sees(pilot, "and more")


async def test_verified_tokens_are_tinted_and_plain_ones_are_not(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        await say(app, pilot, "Hello")
        engine.tell(*streamed((("One",), (" two", " three", " four"), (" five",))))
        await wait_until(pilot, lambda: "five" in reply_text(app))
        content = app.screen.query_one(TextChunk).render()
        assert content.spans == [Span(7, 18, "$origin-trajectory")]


async def test_one_token_is_no_tokens(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        await say(app, pilot, "Hello")
        off = statistics(FUNCTION[:2], lookahead=False, switches=(1,))
        engine.tell(*streamed(FUNCTION[:1]), Tokens(pieces(FUNCTION[1:2], 1), off))
        await sees(pilot, "switched OFF after 1 token")
        assert "1 tokens" not in screen_text(app)


async def test_lookahead_is_switched_in_mid_reply(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        await say(app, pilot, "Write a function.")
        engine.tell(*streamed(FUNCTION[:8]))
        await sees(pilot, "lookahead ON")
        await pilot.press("ctrl+l")
        await wait_until(pilot, lambda: engine.sent_of(SetLookahead) == [SetLookahead(False)])
        off = statistics(FUNCTION, lookahead=False, switches=(25,))
        engine.tell(Tokens(pieces(FUNCTION[8:], 8), off))
        await sees(pilot, "lookahead OFF")
        engine.tell(finished(FUNCTION, lookahead=False, switches=(25,)))
        await sees(pilot, "switched OFF after 25 tokens")
        await wait_until(pilot, lambda: app.chat_screen.state.phase is Phase.READY)
        conversation = app.chat_screen.conversation.id
        await say(app, pilot, "/new")
        await sees_no(pilot, "switched OFF")
        await say(app, pilot, f"/resume {conversation}")
        await sees(pilot, "switched OFF after 25 tokens")
        await say(app, pilot, "Again.")
        await wait_until(pilot, lambda: len(engine.sent_of(Reply)) == 2)
        again = engine.sent_of(Reply)[-1]
        assert isinstance(again, Reply)
        assert not again.options.lookahead


async def test_lookahead_is_not_switched_where_the_model_cannot(engine: ScriptedEngine) -> None:
    reason = "Lookahead is off: this architecture keeps a recurrent state."
    model = ModelInfo("rwkv", "cpu", "float32", 1, 2048, lookahead_supported=False, notices=(reason,))
    async with opened(engine, model=model) as (_app, pilot):
        await sees(pilot, reason, "lookahead not available")
        await pilot.press("ctrl+l")
        assert not engine.sent_of(SetLookahead)


async def test_escape_stops_and_keeps_what_was_said(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        await say(app, pilot, "Write a function.")
        engine.tell(*streamed(FUNCTION[:4]))
        await wait_until(pilot, lambda: "list" in reply_text(app))
        await pilot.press("escape", "escape")
        await wait_until(pilot, lambda: engine.sent_of(Stop) == [Stop()])
        engine.tell(Tokens(pieces(FUNCTION[4:5], 4), statistics(FUNCTION[:5])), finished(FUNCTION[:5], "cancelled"))
        await sees(pilot, "· stopped")
        kept = Message("assistant", text_of(FUNCTION[:5]))
        await wait_until(pilot, lambda: app.chat_screen.conversation.messages[-1] == kept)
        await say(app, pilot, "Go on.")
        await wait_until(pilot, lambda: len(engine.sent_of(Reply)) == 2)


async def test_messages_sent_while_the_model_loads_are_answered_in_order(engine: ScriptedEngine) -> None:
    async with opened(engine, model=None) as (app, pilot):
        await say(app, pilot, "first")
        await say(app, pilot, "second")
        assert not engine.sent_of(Reply)
        await sees(pilot, "waits for the model")
        engine.load()
        await wait_until(pilot, lambda: len(engine.sent_of(Reply)) == 1)
        engine.tell(*streamed((("1",),)), finished((("1",),)))
        await wait_until(pilot, lambda: len(engine.sent_of(Reply)) == 2)
        engine.tell(*streamed((("2",),)), finished((("2",),)))
        await wait_until(pilot, lambda: "ready" in status(app))
        said = [message.content for message in app.chat_screen.conversation.messages]
        assert said == ["first", "1", "second", "2"]
        shown = screen_text(app)
        places = [shown.index(text) for text in ("first", "Model", "second")]
        assert places == sorted(places)
        assert "waits for the model" not in shown


async def test_a_new_conversation_throws_a_running_reply_away(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        await say(app, pilot, "one")
        engine.tell(*streamed(FUNCTION[:4]))
        await wait_until(pilot, lambda: "list" in reply_text(app))
        await pilot.press("ctrl+n")
        await wait_until(pilot, lambda: engine.sent_of(Stop))
        await sees(pilot, "The reply was stopped; its text is kept in its conversation.")
        engine.tell(Tokens(pieces(FUNCTION[4:5], 4), statistics(FUNCTION[:5])))
        engine.tell(finished(FUNCTION[:5], "cancelled"))
        await wait_until(pilot, lambda: app.chat_screen.state.phase is Phase.READY)
        assert app.chat_screen.conversation.messages == ()
        assert reply_text(app) == ""
        await sees(pilot, "How does this work?")


async def test_markup_and_escape_sequences_do_nothing(engine: ScriptedEngine) -> None:
    nasty = "[bold]loud[/bold] \x1b[31mred\x1b]0;title\x07 [@click=app.quit]x[/] \x9b2J [/nothing]"
    async with opened(engine) as (app, pilot):
        await say(app, pilot, nasty)
        engine.tell(ReplyStarted(9), Tokens((Piece(nasty, "trajectory", 1, 0),), Statistics(1, 1, 1.0)))
        engine.tell(ReplyFinished("eos", Statistics(1, 1, 1.0)))
        await wait_until(pilot, lambda: "ready" in status(app))
        await wait_until(pilot, lambda: screen_text(app).count("[bold]loud[/bold]") == 2)
        shown = screen_text(app)
        assert "␛[31mred" in shown
        assert "\x1b" not in shown
        assert "\x9b" not in shown
        assert app.chat_screen.conversation.messages[-1].content == nasty


@pytest.mark.parametrize(
    ("command", "keys", "shown"),
    [
        ("/edit", (), "Enter asks this instead"),
        ("/edit reply", (), "Enter has the reply go on from here"),
        ("/rename", (), "Title: “␛[31mred”"),
        ("/settings", (), "␛[31mred · in this chat"),
        ("/resume", ("f2",), "A new title, then Enter."),
    ],
)
async def test_escape_sequences_do_nothing_where_a_text_is_changed(
    engine: ScriptedEngine, command: str, keys: Sequence[str], shown: str
) -> None:
    nasty = "\x1b[31mred"
    async with opened(engine, system=nasty) as (app, pilot):
        await say(app, pilot, nasty)
        await answered(app, pilot, engine, ((nasty,),))
        await say(app, pilot, command)
        await pilot.press(*keys)
        await sees(pilot, shown)
        assert "\x1b" not in screen_text(app)
        if command.startswith("/edit"):
            assert app.chat_screen.prompt.message == nasty


async def test_thoughts_are_folded_until_asked_for(engine: ScriptedEngine) -> None:
    script = (("<thi", "nk>", "\n"), ("carry", " the", " one"), ("</think>", "\n\n"), ("It", " is", " 42."))
    async with opened(engine) as (app, pilot):
        await say(app, pilot, "17 + 25?")
        engine.tell(*streamed(script[:2]))
        await sees(pilot, "thinking… 3 tokens")
        engine.tell(Tokens(pieces(script[2:], 2), statistics(script)), finished(script))
        await sees(pilot, "thought for 3 tokens", "It is 42.", "ready")
        assert "carry" not in screen_text(app)
        await pilot.press("f5")
        await sees(pilot, "carry the one")
        await pilot.press("f5")
        await sees_no(pilot, "carry")
        assert app.chat_screen.conversation.messages[-1].content == text_of(script)


async def test_an_answer_about_tags_of_thoughts_is_shown_and_an_empty_thought_is_not(engine: ScriptedEngine) -> None:
    script = (("<think>", "\n\n", "</think>"), ("\nA model writes\n", "```\n<think>", "hm</think>", "\n```\n"))
    async with opened(engine) as (app, pilot):
        await say(app, pilot, "How do models think?")
        engine.tell(*streamed(script), finished(script))
        await sees(pilot, "A model writes", "<think>hm</think>", "ready")
        await sees_no(pilot, "thought for")


async def test_left_out_messages_are_told_once(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        for _ in range(2):
            await say(app, pilot, "more")
            engine.tell(ReplyStarted(2000, dropped_messages=2), finished((("x",),)))
            await wait_until(pilot, lambda: app.chat_screen.state.phase is Phase.READY)
        assert screen_text(app).count("The oldest 2 messages no longer fit and were left out.") == 1
