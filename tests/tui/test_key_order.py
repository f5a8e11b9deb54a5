"""Keys act in the order in which they were pressed, however fast they come."""

from __future__ import annotations

from pathlib import Path

import pytest
from textual.command import CommandList
from textual.events import Key, Paste
from textual.widgets import Input

from lade_chat.protocol.commands import Reply, SetLookahead
from lade_chat.protocol.values import DecodingOptions, ModelInfo, ModelOptions
from lade_chat.store.all_conversations import Store
from lade_chat.tui.app.application import ChatApp
from lade_chat.tui.conversations.list_screen import ConversationList
from lade_chat.tui.screens.model_choice import ModelScreen
from lade_chat.tui.terminal.key_parser import KeyParser
from tests.pairs import in_turn
from tests.tui.driving import burst, opened, say, sees, wait_until
from tests.tui.explained import walks
from tests.tui.scripted import MODEL, ScriptedEngine
from tests.tui.terminal import Terminal

EDITED = (
    (("abcdef", "backspace*3", "XYZ"), "abcXYZ"),
    (("abcdef", "left*3", "delete", "X"), "abcXef"),
    (("bc", "home", "a", "end", "d", "left", "right", "e"), "abcde"),
    (("one two", "ctrl+w", "three"), "one three"),
    (("abc", "ctrl+u", "x"), "x"),
    (("abcdef", "home", "right*2", "ctrl+k", "X"), "abX"),
    (("abc", "ctrl+a", "x", "end", "y"), "xabcy"),
    (("abc", "shift+left*2", "x"), "ax"),
    (("a", Paste("bc"), "backspace", "d"), "abd"),
)
"""What is pressed, and what stands there then, in any field."""


def pressed(*parts: str | Paste) -> list[str | Paste]:
    """The keys of a shorthand: letters one by one, a key's name with how often it is pressed."""
    keys: list[str | Paste] = []
    for part in parts:
        if isinstance(part, Paste):
            keys.append(Paste(part.text))
            continue
        name, _, times = part.partition("*")
        known = "+" in name or name in ("backspace", "left", "right", "delete", "home", "end", "enter", "escape", "tab")
        keys += [name] * int(times or 1) if known else list(part)
    return keys


@pytest.mark.parametrize("model", [MODEL, None], ids=["loaded", "loading"])
async def test_the_prompt_is_edited_in_order(engine: ScriptedEngine, model: ModelInfo | None) -> None:
    async with opened(engine, model=model) as (app, pilot):
        prompt = app.chat_screen.prompt
        for parts, expected in (
            *EDITED,
            (("a", "ctrl+j", "b", "left", "c", "shift+enter", "d"), "a\nc\ndb"),
            (("/renam", "tab", "x"), "/rename x"),
            (("/re", "escape", "tab", "x"), "/resume x"),
        ):
            prompt.put("")
            await pilot.pause()
            burst(app, *pressed(*parts))
            await wait_until(pilot, lambda expected=expected: prompt.text == expected)


async def test_enter_sends_what_was_typed_before_it_and_nothing_else(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        burst(app, *pressed("hello!", "backspace", "enter", "more"))
        await wait_until(pilot, lambda: engine.sent_of(Reply) and app.chat_screen.prompt.text == "more")
        (command,) = engine.sent_of(Reply)
        assert isinstance(command, Reply)
        assert command.messages[-1].content == "hello"


async def test_a_command_of_one_burst_is_carried_out_before_what_follows(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        burst(app, *pressed("/looka", "enter", "ctrl+l", "x"))
        await wait_until(pilot, lambda: app.chat_screen.prompt.text == "x")
        assert engine.sent[-2:] == [SetLookahead(False), SetLookahead(True)]


@pytest.mark.parametrize(
    ("number", "key", "field"),
    [(0, "ctrl+t", "#search"), (1, "ctrl+o", "#path"), (2, "f1", "Input"), (3, "ctrl+p", "CommandInput")],
)
async def test_fields_of_other_screens_are_edited_in_order(
    engine: ScriptedEngine, number: int, key: str, field: str
) -> None:
    """The key that opens the screen is of the burst, too: what follows it is typed there."""
    async with opened(engine, model=None) as (app, pilot):
        for parts, expected in in_turn(EDITED[:2], number):
            burst(app, key, *pressed(*parts))

            def stands(expected: str = expected) -> bool:
                found = app.screen.query(field)
                return bool(found) and found.first(Input).value == expected

            await wait_until(pilot, stands)
            assert not app.chat_screen.prompt.text
            burst(app, "escape")
            await wait_until(pilot, lambda: app.screen is app.chat_screen)


async def test_a_screen_closed_in_a_burst_gives_the_keys_after_it_back(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        burst(app, *pressed("a", "ctrl+t", "zz", "escape", "b", "ctrl+o", "zz", "escape", "c"))
        await wait_until(pilot, lambda: app.chat_screen.prompt.text == "abc")
        assert app.screen is app.chat_screen


async def test_a_conversation_is_resumed_and_talked_to_in_one_burst(engine: ScriptedEngine, tmp_path: Path) -> None:
    store = Store(tmp_path)
    for question in ("About apples", "About pears"):
        store.begin().ask(question)
    async with opened(engine, store=store) as (app, pilot):
        burst(app, *pressed("ctrl+t", "pearx", "backspace", "enter"))
        await wait_until(
            pilot, lambda: [each.question for each in app.chat_screen.state.conversation.path] == ["About pears"]
        )
        assert app.screen is app.chat_screen


async def test_screens_open_and_close_in_order(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        burst(app, "ctrl+t", "escape", "ctrl+o", "escape", "ctrl+t")
        await wait_until(pilot, lambda: isinstance(app.screen, ConversationList))
        burst(app, "escape", "ctrl+o")
        await wait_until(pilot, lambda: isinstance(app.screen, ModelScreen))


async def test_keys_wait_for_the_prompt(engine: ScriptedEngine, tmp_path: Path) -> None:
    class TypedAhead(ChatApp):
        def on_load(self) -> None:
            burst(self, *"hello")

    app = TypedAhead(engine, ModelOptions(), DecodingOptions(), store=Store(tmp_path))
    async with app.run_test() as pilot:
        await wait_until(pilot, lambda: app.chat_screen.prompt.text == "hello")


async def test_a_key_that_is_held_stops_at_the_screen_that_it_closed(
    engine: ScriptedEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lade_chat.tui.terminal.key_order.REPEAT_SECONDS", 3600.0)  # however slow the machine
    async with opened(engine) as (app, pilot):
        await say(app, pilot, "/explain")
        engine.tell(*walks())
        await sees(pilot, "1 / ")  # all pages are there
        burst(app, *["space"] * 60)
        await wait_until(pilot, lambda: app.screen is app.chat_screen and app.key_order.is_idle)
        burst(app, "space", "a", "space", "b")
        await wait_until(pilot, lambda: app.chat_screen.prompt.text.endswith("b"))
        assert app.chat_screen.prompt.text == "a b"


@pytest.mark.parametrize(
    ("read", "keys"),
    [
        ("\x1b\x1b", ["escape", "escape"]),
        ("\x1ba\x1b", ["alt+a", "escape"]),
        ("\x1b[A\x1b\x1b[B\x1b", ["up", "escape", "down", "escape"]),
    ],
)
def test_an_escape_ends_the_key_before_it_and_types_nothing(read: str, keys: list[str]) -> None:
    parser = KeyParser()
    events = [*parser.feed(read), *parser.feed("x")]
    assert [event.key for event in events if isinstance(event, Key)] == [*keys, "x"]


@pytest.mark.parametrize(
    ("shown", "keys", "question"),
    [
        # Until the driver starts the terminal makes a line feed of Enter, and no field takes keys yet.
        ((), "What is 17 plus 25?\r", "What is 17 plus 25?"),
        (("Enter sends",), "abcdef\x7f\x7f\x7fXYZ\x1b[D\x1b[Dx\r", "abcXxYZ"),
    ],
    ids=["before the first frame", "in a burst"],
)
def test_what_is_typed_into_a_terminal_is_whole_in_order_and_sent(
    tmp_path: Path, shown: tuple[str, ...], keys: str, question: str
) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    terminal = Terminal(folder)
    try:
        terminal.sees(*shown)
        terminal.say(keys)
        terminal.sees("word-5")
        latest = Store(folder).latest()
        assert latest is not None
        assert latest.path[0].question == question
    finally:
        terminal.process.kill()
        terminal.process.wait()


async def test_a_long_text_from_a_terminal_that_does_not_mark_pastes_is_there_soon_and_in_order(
    engine: ScriptedEngine,
) -> None:
    text = "letters, each of them a key (and brackets). " * 230
    async with opened(engine) as (app, pilot):
        prompt = app.chat_screen.prompt
        burst(app, "H", "i", "space", *text, "backspace", *"ab", "enter", *text[::-1], "backspace")
        await wait_until(pilot, lambda: len(prompt.text) == len(text) - 1)
        assert prompt.text == text[::-1][:-1]
        (reply,) = engine.sent_of(Reply)
        assert isinstance(reply, Reply)
        assert reply.messages[-1].content == f"Hi {text[:-1]}ab"


async def test_a_palette_that_goes_before_its_search_begins_ends_nothing_else(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        await pilot.press("ctrl+p")
        await sees(pilot, "How it works")
        # As where it closes in the moment in which the search begins.
        await app.screen.query_one(CommandList).remove()
        await pilot.press("x")
        await pilot.press("y")
        assert app.is_running
