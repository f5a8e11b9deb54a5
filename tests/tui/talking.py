"""Conversations for the tests of the chat: asked and answered on the screen, and kept on a disk."""

from __future__ import annotations

from pathlib import Path

from textual.pilot import Pilot

from lade_chat.protocol.commands import Reply
from lade_chat.protocol.values import DecodingOptions, Message, ModelOptions
from lade_chat.store.all_conversations import Store
from lade_chat.tui.app.application import ChatApp
from lade_chat.tui.chat.chat_state import Phase
from lade_chat.tui.conversations.conversation_session import Start
from tests.tui.driving import say, status, wait_until
from tests.tui.scripted import ScriptedEngine, finished, streamed

SHORT = (("It", " is"), (" 42", "."))


def user(text: str) -> Message:
    return Message("user", text)


def assistant(text: str) -> Message:
    return Message("assistant", text)


async def answered(
    app: ChatApp, pilot: Pilot[None], engine: ScriptedEngine, script: tuple[tuple[str, ...], ...] = SHORT
) -> None:
    """Have the running reply told and kept."""
    engine.tell(*streamed(script), finished(script))
    await wait_until(pilot, lambda: app.chat_screen.state.phase is Phase.READY and "ready" in status(app))


async def talked(app: ChatApp, pilot: Pilot[None], engine: ScriptedEngine, *questions: str) -> None:
    for question in questions:
        await say(app, pilot, question)
        await answered(app, pilot, engine)


def asked(engine: ScriptedEngine) -> Reply:
    """The latest reply that the engine was asked for."""
    command = engine.sent_of(Reply)[-1]
    assert isinstance(command, Reply)
    return command


def last_messages(engine: ScriptedEngine) -> tuple[Message, ...]:
    return asked(engine).messages


def kept(folder: Path, *questions: str) -> Store:
    """A store with a conversation for each question."""
    from tests.store.replies import say as said

    store = Store(folder)
    for question in questions:
        said(store.begin(), question, f"about {question}")
    return store


def opening(engine: ScriptedEngine, store: Store, wanted: str | None, latest: bool = False) -> ChatApp:
    return ChatApp(engine, ModelOptions(), DecodingOptions(), store=store, start=Start(latest, wanted))
