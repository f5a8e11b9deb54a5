"""While the model is idle it reads the conversation and the draft, so that Enter has little left to read."""

from __future__ import annotations

from pathlib import Path

import pytest

from lade_chat.protocol.commands import Prefill, Reply
from lade_chat.store.all_conversations import Store
from lade_chat.tui.chat.effects import Change
from lade_chat.tui.conversations.conversation_session import Start
from tests.tui.driving import opened, say, wait_until
from tests.tui.scripted import ScriptedEngine, finished, streamed

LONG = "word " * 60


async def test_a_draft_is_read_once_typing_pauses_and_only_once(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        prompt = app.chat_screen.prompt
        prompt.put(LONG)
        await wait_until(pilot, lambda: engine.sent_of(Prefill))
        (command,) = engine.sent_of(Prefill)
        assert isinstance(command, Prefill)
        assert command.messages[-1].content == LONG
        app.chat_screen.read_ahead(prompt.message)
        assert len(engine.sent_of(Prefill)) == 1
        await pilot.press("enter")
        await wait_until(pilot, lambda: engine.sent_of(Reply))
        app.chat_screen.read_ahead("and more")  # the model has other things to do
        assert len(engine.sent_of(Prefill)) == 1


async def test_a_resumed_conversation_is_read_when_the_model_is_there(tmp_path: Path) -> None:
    store, first, again = Store(tmp_path), ScriptedEngine(), ScriptedEngine()
    async with opened(first, store=store) as (app, pilot):
        await say(app, pilot, LONG)
        engine_said = (("ok",),)
        first.tell(*streamed(engine_said), finished(engine_said))
        await wait_until(pilot, lambda: app.chat_screen.conversation.last.ending)  # type: ignore[union-attr]
    async with opened(again, store=Store(tmp_path), start=Start(latest=True)) as (app, pilot):
        await wait_until(pilot, lambda: again.sent_of(Prefill))
        command = again.sent_of(Prefill)[0]
        assert isinstance(command, Prefill)
        assert [message.content for message in command.messages] == [LONG, "ok", ""]


@pytest.mark.parametrize("draft", ["short", f"/set stop {LONG}"])
async def test_what_is_soon_read_or_never_asked_is_not_read_ahead(engine: ScriptedEngine, draft: str) -> None:
    async with opened(engine) as (app, _):
        app.chat_screen.read_ahead(draft)
        app.chat_screen.decide(Change.set, reads_ahead=False)
        app.chat_screen.read_ahead(LONG)
        assert not engine.sent_of(Prefill)


async def test_a_file_is_read_as_soon_as_it_is_named(
    engine: ScriptedEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("notes.txt").write_text(LONG)
    async with opened(engine) as (app, _):
        app.chat_screen.read_ahead("see @notes.tx")
        assert not engine.sent_of(Prefill)
        app.chat_screen.read_ahead("see @notes.txt")
        (command,) = engine.sent_of(Prefill)
        assert isinstance(command, Prefill)
        assert LONG.strip() in command.messages[-1].content
