"""Thinking is switched and limited in the chat, shown below and beside the reply, and folded as last time."""

from __future__ import annotations

from pathlib import Path

import msgspec

from lade_chat.protocol.events import ReplyFinished, ReplyStarted, Tokens
from lade_chat.protocol.values import DecodingOptions, ModelOptions, Piece
from lade_chat.settings.effective import Preferences, load
from lade_chat.store.all_conversations import Store
from lade_chat.tui.app.application import ChatApp
from lade_chat.tui.conversations.conversation_session import Start
from tests.tui.driving import driven, opened, resize, say, sees, sees_no, status, wait_until
from tests.tui.scripted import MODEL, ScriptedEngine, statistics
from tests.tui.talking import asked

THINKER = msgspec.structs.replace(MODEL, has_thinking_switch=True)
SCRIPT = (("<think>",), ("Two", " and", " two"), (".", "</think>"), ("Four", "."))
THOUGHT = msgspec.structs.replace(statistics(SCRIPT), thought_tokens=4, thought_seconds=0.1)


def thought_out(engine: ScriptedEngine) -> None:
    """Tell a reply with a thought."""
    tokens = [Piece(text, "plain", 1, step) for step, texts in enumerate(SCRIPT) for text in texts]
    engine.tell(ReplyStarted(23), Tokens(tuple(tokens), THOUGHT), ReplyFinished("eos", THOUGHT))


async def test_thinking_is_switched_and_limited(engine: ScriptedEngine) -> None:
    async with opened(engine, model=THINKER, size=(100, 24)) as (app, pilot):
        await sees(pilot, "thinking auto")
        for command, shown, wanted in (
            ("/think off", "thinking off", (False, None)),
            ("/think on", "thinking on", (True, None)),
            ("/think 512", "thinking on, at most 512 tokens", (True, 512)),
            ("/set think off", "thinking off", (False, 512)),
            ("/think auto", "thinking auto", (None, None)),
        ):
            await say(app, pilot, command)
            app.chat_screen.status.hint("")  # which leaves no room for all of the state
            await sees(pilot, shown)
            options = app.chat_screen.state.options
            assert (options.think, options.max_thought_tokens) == wanted
        await say(app, pilot, "/think 64")
        await say(app, pilot, "2 + 2?")
        assert asked(engine).options.max_thought_tokens == 64
        await say(app, pilot, "/think twice")
        await sees(pilot, "Use /think on, off or auto, or /think 512")


async def test_a_template_without_a_switch_is_told_and_a_limit_goes(engine: ScriptedEngine) -> None:
    async with opened(engine, size=(120, 24)) as (app, pilot):
        assert "thinking" not in status(app)
        for command in ("/think on", "/set think off", "/think"):
            await say(app, pilot, command)
            await sees(pilot, "The chat template of this model has no switch for thinking.")
            assert app.chat_screen.state.options.think is None
        await say(app, pilot, "/think 512")
        await sees(pilot, "thoughts of at most 512 tokens")
        await say(app, pilot, "/think auto")
        await sees(pilot, "Thoughts have no limit")


async def test_a_thought_is_folded_with_its_tokens_and_seconds_also_when_it_comes_back(
    engine: ScriptedEngine, folder: Path
) -> None:
    async with opened(engine, store=Store(folder), model=THINKER) as (app, pilot):
        await say(app, pilot, "2 + 2?")
        thought_out(engine)
        await sees(pilot, "▸ thought for 4 tokens in 0.10 s", "Four.", "4 tokens thought")
        await sees_no(pilot, "Two and two")
    async with opened(ScriptedEngine(), store=Store(folder), start=Start(latest=True)) as (app, pilot):
        await sees(pilot, "▸ thought for 4 tokens in 0.10 s", "4 tokens thought")


async def test_opened_thoughts_are_open_next_time(engine: ScriptedEngine, path: Path) -> None:
    for number in range(2):
        preferences = Preferences.of(load(path, {}), {}, None)
        store = Store(path.parent / f"data{number}")
        app = ChatApp(engine, ModelOptions(), DecodingOptions(), store=store, preferences=preferences)
        async with driven(app, (100, 24), THINKER, engine) as pilot:
            await say(app, pilot, "2 + 2?")
            thought_out(engine)
            if not number:
                await sees(pilot, "▸ thought for")
                await pilot.press("f5")
                await wait_until(pilot, lambda: load(path, {}).get("open_thoughts") is True)
            await sees(pilot, "▾ thought for", "Two and two.")
        engine = ScriptedEngine()


async def test_the_switch_is_among_the_settings(engine: ScriptedEngine) -> None:
    async with opened(engine, model=THINKER) as (app, pilot):
        await say(app, pilot, "/think off")
        await pilot.press("ctrl+s")
        await wait_until(pilot, lambda: app.screen.query("#think"))
        app.screen.query_one("#think").focus()
        await sees(pilot, "Whether the model thinks first", "off, in this chat.")


async def test_a_model_without_a_switch_has_it_disabled_among_the_settings(engine: ScriptedEngine, path: Path) -> None:
    path.write_text("think = true\n")
    preferences = Preferences.of(load(path, {}), {}, None)
    app = ChatApp(engine, ModelOptions(), DecodingOptions(), store=Store(path.parent), preferences=preferences)
    async with driven(app, (80, 24), MODEL, engine) as pilot:
        await pilot.press("ctrl+s")
        await wait_until(pilot, lambda: app.screen.query("#think"))
        app.screen.query_one("#think").scroll_visible(animate=False)
        await sees(pilot, "this model has no switch")
        await resize(pilot, 160, 50)
        await sees(pilot, "this model has no switch", "limits a thought.")
        assert app.screen.query_one("#think").disabled
        await pilot.press("enter")
        await wait_until(pilot, lambda: app.screen is app.chat_screen)
        assert load(path, {}).get("think") is True
