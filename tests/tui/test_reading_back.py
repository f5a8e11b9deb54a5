"""Reading back while a reply grows: what is shown stays where it is, and what is far above is left out."""

from __future__ import annotations

import pytest

from lade_chat.protocol.commands import Stop
from lade_chat.protocol.events import Tokens
from lade_chat.tui.transcript.turn_view import TurnView, UserTurn
from tests.tui.driving import opened, reply_text, say, screen_text, sees, sees_no, status, wait_until
from tests.tui.scripted import FUNCTION, ScriptedEngine, finished, pieces, statistics, streamed
from tests.tui.talking import talked


async def test_what_is_far_above_a_growing_reply_is_left_out_until_somebody_looks(engine: ScriptedEngine) -> None:
    script = tuple((f"line {number}\n",) for number in range(60))
    async with opened(engine) as (app, pilot):
        await talked(app, pilot, engine, "First?", "Second?")
        await say(app, pilot, "Third?")
        transcript = app.chat_screen.transcript
        first = transcript.query(UserTurn).first()
        engine.tell(*streamed(script[:50]))
        await wait_until(pilot, lambda: not first.display)
        await sees(pilot, "line 49")
        engine.tell(*streamed(script[50:]))
        await sees(pilot, "line 59")
        rows = transcript.virtual_size.height
        transcript.scroll_home(animate=False)
        await sees(pilot, "First?", "Second?")
        assert transcript.virtual_size.height == rows
        transcript.scroll_end(animate=False)
        await wait_until(pilot, lambda: not first.display)
        engine.tell(finished(script))
        await wait_until(pilot, lambda: first.display)
        await sees(pilot, "tok/s")


async def test_it_leaves_its_height_behind_when_the_oldest_turns_are_folded(
    engine: ScriptedEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lade_chat.tui.transcript.transcript.AT_ONCE", 2)
    monkeypatch.setattr("lade_chat.tui.transcript.transcript.MAX_UNFOLDED_REPLIES", 2)
    script = tuple((f"line {number}\n",) for number in range(60))
    async with opened(engine) as (app, pilot):
        await talked(app, pilot, engine, "First?", "Second?", "Third?", "Fourth?")
        transcript = app.chat_screen.transcript
        await wait_until(pilot, lambda: len(transcript.query("Earlier")) == 1)
        await say(app, pilot, "Fifth?")
        oldest = transcript.query(UserTurn).first()
        engine.tell(*streamed(script))
        await wait_until(pilot, lambda: not oldest.display)
        await sees(pilot, "line 59")
        rows = transcript.virtual_size.height
        transcript.scroll_home(animate=False)
        await wait_until(pilot, lambda: oldest.display)
        await pilot.pause()
        assert transcript.virtual_size.height == rows
        engine.tell(finished(script))
        await wait_until(pilot, lambda: "ready" in status(app))


async def test_reading_back_is_not_disturbed(engine: ScriptedEngine) -> None:
    script = tuple((f"line {number}\n",) for number in range(60))
    async with opened(engine) as (app, pilot):
        await say(app, pilot, "Go on.")
        engine.tell(*streamed(script[:40]))
        await sees(pilot, "line 39")
        await pilot.press("pageup")
        await wait_until(pilot, lambda: "line 39" not in screen_text(app))
        before = app.chat_screen.transcript.scroll_y
        engine.tell(Tokens(pieces(script[40:], 40), statistics(script)), finished(script))
        await wait_until(pilot, lambda: "ready" in status(app))
        assert app.chat_screen.transcript.scroll_y == before
        await sees(pilot, "↓ more below · Ctrl+End")
        await pilot.press("pagedown", "pagedown", "pagedown")
        await sees(pilot, "line 59")
        await sees_no(pilot, "more below")
        await pilot.press("pageup", "pageup")
        await sees(pilot, "more below")
        await pilot.press("ctrl+end")
        await sees(pilot, "line 59")
        await sees_no(pilot, "more below")


async def test_escape_from_an_earlier_turn_leads_back_before_it_stops_the_reply(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        await talked(app, pilot, engine, "First?")
        await say(app, pilot, "Write a function.")
        engine.tell(*streamed(FUNCTION[:4]))
        await wait_until(pilot, lambda: "list" in reply_text(app))
        await pilot.press("shift+tab", "up")
        await wait_until(pilot, lambda: isinstance(app.screen.focused, TurnView))
        await pilot.press("escape")
        await wait_until(pilot, lambda: app.chat_screen.prompt.has_focus)
        assert not engine.sent_of(Stop)
        await pilot.press("escape")
        await wait_until(pilot, lambda: engine.sent_of(Stop) == [Stop()])
