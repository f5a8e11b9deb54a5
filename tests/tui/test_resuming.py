"""What the chat begins with: the one conversation that is meant, the list of several, or a new one."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from textual.widgets import Input

from lade_chat.store.conversation import Conversation
from lade_chat.store.store import Store
from lade_chat.tui.conversations.list_screen import ConversationList
from lade_chat.tui.conversations.session import Start
from tests.tui.driving import burst, driven, opened, screen_text, sees, sees_no, wait_until
from tests.tui.scripted import ScriptedEngine
from tests.tui.talking import kept, opening


async def test_words_resume_the_only_conversation_that_has_them(engine: ScriptedEngine, folder: Path) -> None:
    store = kept(folder, "apples", "pears")
    async with opened(engine, store=store, start=Start(wanted="about pear")) as (_app, pilot):
        await sees(pilot, "about pears")


async def test_words_of_several_conversations_open_the_list(engine: ScriptedEngine, folder: Path) -> None:
    store = kept(folder, "apples", "pears", "nothing")
    async with opened(engine, store=store, start=Start(wanted="p")) as (app, pilot):
        await wait_until(pilot, lambda: isinstance(app.screen, ConversationList))
        await sees(pilot, "apples", "pears")


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
    monkeypatch.setattr("lade_chat.tui.chat.stored.FIRST_SECONDS", 0.0)
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
