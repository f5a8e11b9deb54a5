"""Bursts of every bound key, at every screen, while the model loads and when it has: the chat goes on."""

from __future__ import annotations

import random
import threading
from pathlib import Path
from typing import Any

import pytest
from textual.app import App
from textual.pilot import Pilot

from lade_chat.protocol.commands import Command, Compare, Explain, Load, Reply
from lade_chat.protocol.events import ComparisonFinished, Event, Loaded
from lade_chat.store.all_conversations import Store
from lade_chat.tui.app.application import ChatApp
from lade_chat.tui.chat.chat_state import Phase
from lade_chat.tui.chat.slash_dispatch import submit
from lade_chat.tui.conversations.conversation_session import Start
from lade_chat.tui.widgets.dialog import Dialog
from tests.pairs import LONG
from tests.tui.driving import burst, opened, screen_text, wait_until
from tests.tui.explained import walks
from tests.tui.scripted import MODEL, ScriptedEngine, finished, streamed

REPLY = (("It", " is"), (" 42", "."))
WHILE_LOADING = ("chat", "turn", "turn menu", "model", "settings")
"""Screens where keys do something else while the model loads."""
WAYS = {
    "chat": (),
    "turn": ("shift+tab",),
    "turn menu": ("shift+tab", "enter"),
    "conversations": ("ctrl+t",),
    "renaming": ("ctrl+t", "f2"),
    "model": ("ctrl+o",),
    "settings": ("ctrl+s",),
    "manual": ("f1",),
    "palette": ("ctrl+p",),
    "themes": (*"/theme", "enter"),
    "race": ("ctrl+r",),
    "race menu": ("ctrl+r", "ctrl+o"),
    "picture": ("ctrl+r", "ctrl+s"),
    "explanation": (*"/explain", "enter"),
}
"""The keys that lead to each screen."""


def answering(*, loading: bool) -> ScriptedEngine:
    """An engine that answers at once; but does not load while it is ``loading``."""

    def answer(command: Command) -> list[Event]:
        match command:
            case Load() if not loading:
                return [Loaded(MODEL)]
            case Reply():
                return [*streamed(REPLY), finished(REPLY)]
            case Compare():
                sides = [finished(REPLY, side=side) for side in ("left", "right")]
                return [*streamed(REPLY), *streamed(REPLY, side="right"), *sides, ComparisonFinished(2.0, True)]
            case Explain():
                return walks()
            case _:
                return []

    return ScriptedEngine(answer)


@pytest.fixture(autouse=True)
def _harmless(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is written elsewhere, nobody's editor or model is looked for, and nothing ends the chat."""

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("VISUAL", "true")
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    monkeypatch.setattr(ChatApp, "exit", lambda *_args, **_named: None)
    monkeypatch.setattr(App, "deliver_screenshot", lambda *_args, **_named: None)


@pytest.mark.parametrize("loading", [False, True], ids=["loaded", "loading"])
async def test_a_key_burst_walks_every_screen(tmp_path: Path, loading: bool) -> None:
    chance, engine = random.Random(7), answering(loading=loading)
    share = (1.0, 0.5) if LONG else (0.3, 0.1)
    store = Store(tmp_path)
    for number in range(3):
        store.begin().ask(f"Question {number}")
    async with opened(engine, model=None, store=store, start=Start(latest=True)) as (app, pilot):
        for way in (WAYS[name] for name in (WHILE_LOADING if loading else WAYS)):
            await _at_rest(app, pilot)
            burst(app, *way)
            await pilot.pause()
            bound = app.screen.active_bindings.items()
            # Not all of them: most are bound on several screens.
            pressed = {key for key, binding in bound if chance.random() < share[binding.node is app]}
            keys = sorted(pressed | set("ckr[]"))
            chance.shuffle(keys)
            # Some of them several times at once, as keys are that somebody leans on.
            burst(app, *(key for key in keys for _again in range(chance.choice((1, 1, 1, 1, 1, 3)))))
            await _settled(app, pilot)


@pytest.mark.parametrize("loading", [False, True], ids=["loaded", "loading"])
async def test_two_keys_before_a_dialog_has_closed_close_nothing_else(tmp_path: Path, loading: bool) -> None:
    engine = answering(loading=loading)
    store = Store(tmp_path)
    store.begin().ask("Who are you?")
    async with opened(engine, model=None, store=store, start=Start(latest=True)) as (app, pilot):
        for keys in (
            ("shift+tab", "enter", "c", "c"),
            ("ctrl+o", "enter", "enter"),
            ("ctrl+r", "escape", "escape", "escape"),
            ("ctrl+t", "enter", "enter"),
            ("f1", "f1", "escape"),
            ("ctrl+s", "escape", "escape"),
        ):
            await _at_rest(app, pilot)
            burst(app, *keys)
            await _settled(app, pilot)


async def test_an_answer_for_a_list_that_is_closed_is_dropped(
    engine: ScriptedEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, read = Store(tmp_path), threading.Event()
    store.begin().ask("Who are you?")
    page = store.page

    def slow(*arguments: Any, **named: Any) -> Any:
        read.wait()
        return page(*arguments, **named)

    monkeypatch.setattr(store, "page", slow)
    async with opened(engine, store=store) as (app, pilot):
        await pilot.press("ctrl+t", "escape")
        read.set()
        await _settled(app, pilot)
        assert app.screen is app.chat_screen


async def test_a_dialog_closes_once_and_calls_back_once() -> None:
    results: list[str | None] = []
    app = App[None]()
    async with app.run_test() as pilot:
        below, above = Dialog[str](), Dialog[str]()
        await app.push_screen(below, results.append)
        await app.push_screen(above, results.append)
        below.dismiss("covered")
        for result in ("first", "second"):
            above.dismiss(result)
        await pilot.pause()
        assert app.screen is below
        assert results == ["first"]


async def _settled(app: ChatApp, pilot: Pilot[None]) -> None:
    await pilot.pause()  # until the application has taken them
    await wait_until(pilot, lambda: app.key_order.is_idle and not app.chat_screen.store_worker.busy)
    assert app.return_code is None
    assert screen_text(app).strip()
    assert app.screen_stack[0] is app.chat_screen


async def _at_rest(app: ChatApp, pilot: Pilot[None]) -> None:
    """Back at the prompt, in a conversation."""
    while app.screen is not app.chat_screen:
        app.pop_screen()
        await pilot.pause()
    app.chat_screen.prompt.clear_all()
    app.chat_screen.prompt.focus()
    chat = app.chat_screen
    await wait_until(
        pilot, lambda: chat.state.phase in (Phase.LOADING, Phase.READY) and not app.chat_screen.store_worker.busy
    )
    if not chat.state.conversation.path and chat.state.phase is Phase.READY:
        submit(chat, "Hello")
        await wait_until(pilot, lambda: chat.state.conversation.path and chat.state.phase is Phase.READY)
