"""A conversation that goes on and on costs no more than its last turns, and nothing of it is out of reach."""

from __future__ import annotations

import gc

import pytest
from textual.pilot import Pilot

from lade_chat.tui.app.application import ChatApp
from lade_chat.tui.chat.chat_state import Phase
from lade_chat.tui.reply.markdown_reply import MarkdownReply
from lade_chat.tui.reply.turn import ReplyTurn
from lade_chat.tui.transcript.stored_turns import Earlier
from tests.tui.driving import opened, say, screen_text, wait_until
from tests.tui.scripted import Script, ScriptedEngine, finished, streamed

AT_ONCE = 3
SHORT: Script = (("A", " word"), (".",))
LISTED: Script = (("1.", " one", "\n"), ("2.", " two"))


def is_answered(app: ChatApp, number: int) -> bool:
    chat = app.chat_screen
    return chat.state.phase is Phase.READY and len(chat.conversation.path) == number + 1


async def talk(app: ChatApp, pilot: Pilot[None], engine: ScriptedEngine, turns: range, script: Script = SHORT) -> None:
    for number in turns:
        await say(app, pilot, f"question {number}")
        engine.tell(*streamed(script), finished(script))
        await wait_until(pilot, lambda number=number: is_answered(app, number))  # type: ignore[misc]


async def test_the_oldest_turns_give_way_and_come_back(engine: ScriptedEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lade_chat.tui.transcript.column.AT_ONCE", AT_ONCE)
    monkeypatch.setattr("lade_chat.tui.transcript.column.MAX_UNFOLDED_REPLIES", AT_ONCE + 1)
    async with opened(engine) as (app, pilot):
        transcript = app.chat_screen.transcript
        await talk(app, pilot, engine, range(AT_ONCE + 1))
        assert not app.screen.query(Earlier)
        await talk(app, pilot, engine, range(AT_ONCE + 1, AT_ONCE + 4))
        await wait_until(pilot, lambda: len(app.screen.query(ReplyTurn)) <= AT_ONCE + 1)
        assert len(app.chat_screen.conversation.messages) == 2 * (AT_ONCE + 4)
        await wait_until(pilot, lambda: f"question {AT_ONCE + 3}" in screen_text(app))
        while transcript.show_earlier():
            await pilot.pause()
        await wait_until(pilot, lambda: len(app.screen.query(ReplyTurn)) == AT_ONCE + 4)
        asked = [turn.kept.turn.question for turn in app.screen.query(ReplyTurn) if turn.kept is not None]
        assert asked == [f"question {number}" for number in range(AT_ONCE + 4)]


async def test_what_is_no_longer_shown_is_let_go(engine: ScriptedEngine) -> None:
    def left(kind: type) -> int:
        gc.collect()
        return sum(isinstance(each, kind) for each in gc.get_objects())

    async with opened(engine) as (app, pilot):
        # What other tests have left in this process may go meanwhile.
        before = left(MarkdownReply)
        await talk(app, pilot, engine, range(3), LISTED)
        await wait_until(pilot, lambda: len(app.screen.query(MarkdownReply)) == 3)
        await say(app, pilot, "/new")
        await wait_until(pilot, lambda: not app.screen.query(MarkdownReply))
        # Textual's pilot has every widget take a message: each holds on to its latest until the next.
        await wait_until(Pilot(app), lambda: left(MarkdownReply) <= before)
