"""Another token at a place of a reply begins another reply there; the arrows change the place.

In the inspector the same holds of the tokens that may come next in a paused reply.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import pytest
from textual.pilot import Pilot

from lade_chat.protocol.commands import Command, RankTokens, Reply, Stop
from lade_chat.protocol.events import Event, Failed, Tokens, TokensRanked
from lade_chat.protocol.inspection import RankedToken
from lade_chat.store.all_conversations import Store
from lade_chat.tui.app.application import ChatApp
from lade_chat.tui.transcript.menus import TokenMenu
from tests.pairs import LONG
from tests.tui.driving import opened, say, screen_text, sees, sees_no, status, wait_until
from tests.tui.scripted import (
    FUNCTION,
    INSPECTED_STEP,
    Script,
    ScriptedEngine,
    finished,
    pieces,
    statistics,
    streamed,
    text_of,
)
from tests.tui.talking import answered, asked, assistant, last_messages, talked, user


def ranking(command: Command) -> Iterable[Event]:
    """Tell the reply's own token and some others at each place."""
    if isinstance(command, RankTokens):
        yield TokensRanked(
            command.place,
            (
                RankedToken(command.own, "own", "own", 1, 0.55),
                RankedToken(7, "Ġ43", " 43", 2, 0.25),
                RankedToken(0, "<|im_end|>", "", 3, 0.1, ends=True),
                RankedToken(8, "Ã", "", 4, 0.05),
            ),
        )


async def opened_menu(app: ChatApp, pilot: Pilot[None], engine: ScriptedEngine) -> None:
    await talked(app, pilot, engine, "17 + 25?")
    await pilot.press("shift+tab", "enter")
    await sees(pilot, "Another token, and go on from there")
    await pilot.press("t")
    await sees(pilot, "Another token", "ends it", "in the reply", "tiny-12M's own probabilities, before temperature")


async def test_another_token_begins_another_reply_at_its_place(folder: Path) -> None:
    engine = ScriptedEngine(ranking)
    async with opened(engine, store=Store(folder)) as (app, pilot):
        await opened_menu(app, pilot, engine)
        await pilot.press("left")
        await wait_until(pilot, lambda: engine.sent_of(RankTokens)[-1].place == 2)  # type: ignore[attr-defined]
        command = engine.sent_of(RankTokens)[-1]
        assert isinstance(command, RankTokens)
        assert command.messages == (user("17 + 25?"), assistant("It is"))
        await sees(pilot, "·43", "25.0%")
        await pilot.press("enter")  # the reply's own cannot be chosen
        await wait_until(pilot, lambda: len(engine.sent_of(Reply)) == 2)
        assert last_messages(engine) == (user("17 + 25?"), assistant("It is 43"))
        await answered(app, pilot, engine, ((",", " no."),))
        await sees(pilot, "It is 43, no.", "2 of 2")
        await pilot.press("shift+tab", "left")
        await sees(pilot, "It is 42.", "1 of 2")


async def test_the_end_ends_the_reply_and_half_a_character_cannot_be_chosen() -> None:
    engine = ScriptedEngine(ranking)
    async with opened(engine) as (app, pilot):
        await opened_menu(app, pilot, engine)
        await pilot.press("home")
        await wait_until(pilot, lambda: engine.sent_of(RankTokens)[-1].place == 0)  # type: ignore[attr-defined]
        assert engine.sent_of(RankTokens)[-1].messages == (user("17 + 25?"),)  # type: ignore[attr-defined]
        await pilot.press("end")
        await sees(pilot, "·43")
        await pilot.press("down", "down", "up", "enter")
        await sees(pilot, "2 of 2")
        await sees_no(pilot, "42.", "context")  # nobody has counted that text's tokens
        assert len(engine.sent_of(Reply)) == 1
        assert app.chat_screen.conversation.messages == (user("17 + 25?"), assistant("It is 42"))


async def test_what_cannot_be_told_is_said_in_the_menu() -> None:
    engine = ScriptedEngine(lambda command: [Failed("out of memory")] if isinstance(command, RankTokens) else ())
    async with opened(engine) as (app, pilot):
        await talked(app, pilot, engine, "17 + 25?")
        await pilot.press("shift+tab", "enter", "t")
        await wait_until(pilot, lambda: isinstance(app.screen, TokenMenu))
        await sees(pilot, "out of memory")
        await pilot.press("escape")
        await sees(pilot, "It is 42.")


@pytest.mark.parametrize(
    ("said", "word", "before"),
    [
        ((("<think>", "Ada", " adds"), ("</think>", "It", " is")), "adds", "<think>Ada"),
        ((("<think>", "Ada", "</think>"), ("\n\n", "It", " is")), "is", "<think>Ada</think>\n\nIt"),
        ((("One:", "\n\n"), ("```", "\n", "\tif", " x"), ("\n```",)), "x", "One:\n\n```\n\tif"),
        ((("One:", "\n"), ("- ", "**a", "**"), ("\n- ", "or", " b")), "b", "One:\n- **a**\n- or"),
        ((("| a | ", "b |"), ("\n|-|-|\n| ", "c"), (" | ", "dd", " |")), "dd", "| a | b |\n|-|-|\n| c | "),
    ],
)
@pytest.mark.parametrize("rendered", [True, False])
async def test_a_right_click_on_a_word_offers_others_in_its_place(
    said: Script, word: str, before: str, rendered: bool
) -> None:
    engine = ScriptedEngine(ranking)
    async with opened(engine) as (app, pilot):
        await say(app, pilot, "Who?")
        await answered(app, pilot, engine, said)
        await pilot.press("f5", *(() if rendered else ("f7",)))
        marks = {mark for mark in ("```", "**", "|-|") if mark in before}
        await (sees_no(pilot, *marks) if rendered else sees(pilot, "Replies token by token.", *marks))
        await sees(pilot, word, *({"Ada"} if "Ada" in before else ()))
        lines = screen_text(app).splitlines()
        row = next(row for row, line in enumerate(lines) if word in re.split(r"[ │|]", line))
        await pilot.click(offset=(lines[row].rindex(word), row), button=3)
        await sees(pilot, "Another token", "·43")
        await sees_no(pilot, "think>")
        command = engine.sent_of(RankTokens)[-1]
        assert isinstance(command, RankTokens)
        assert command.messages == (user("Who?"), assistant(before))
        await pilot.press("enter")
        await wait_until(pilot, lambda: len(engine.sent_of(Reply)) == 2)
        assert last_messages(engine) == (user("Who?"), assistant(f"{before} 43"))


async def test_a_right_click_on_either_half_of_a_wide_character_is_on_that_one() -> None:
    engine = ScriptedEngine(ranking)
    async with opened(engine) as (app, pilot):
        await say(app, pilot, "Rain?")
        await answered(app, pilot, engine, (("雨", "天", "a"),))
        await sees(pilot, "雨天a", "Say something")
        lines = screen_text(app).splitlines()
        row = next(row for row, line in enumerate(lines) if "雨天a" in line)
        for column in range(5):
            await pilot.click(offset=(lines[row].index("雨") + column, row), button=3)
            await wait_until(pilot, lambda: len(engine.sent_of(RankTokens)) > column)  # noqa: B023
            await pilot.press("escape")
            await wait_until(pilot, lambda: app.screen is app.chat_screen)
        assert [command.place for command in engine.sent_of(RankTokens)] == [0, 0, 1, 1, 2]  # type: ignore[attr-defined]


async def test_a_right_click_beside_the_words_or_in_a_running_reply_opens_no_menu(engine: ScriptedEngine) -> None:
    async with opened(engine, size=(100, 24)) as (app, pilot):
        await say(app, pilot, "17 + 25?")
        engine.tell(*streamed((("It", " is"),)))
        await sees(pilot, "It is")
        row = next(row for row, line in enumerate(screen_text(app).splitlines()) if "It is" in line)
        column = screen_text(app).splitlines()[row].index("It is")
        await pilot.click(offset=(column, row), button=3)
        await sees(pilot, "F9 pauses the reply first")
        assert app.screen is app.chat_screen


BEGUN = FUNCTION[:12]
NEXT = (
    RankedToken(6, "Ġ+=", " +=", 1, 0.6),
    RankedToken(7, "Ġ=", " =", 2, 0.3),
    RankedToken(0, "<|im_end|>", "", 3, 0.05, ends=True),
)


@asynccontextmanager
async def paused(engine: ScriptedEngine, size: tuple[int, int]) -> AsyncIterator[tuple[ChatApp, Pilot[None]]]:
    """A reply that is paused after its twelfth step, with the inspector's page of candidates open."""
    async with opened(engine, size=size, debug=True) as (app, pilot):
        await say(app, pilot, "Write a function.")
        engine.tell(*[Tokens(pieces(BEGUN[:11]), statistics(BEGUN[:11]))])
        await sees(pilot, "result")
        await pilot.press("f9", *(["f4", "f4"] if size[0] < 120 else []))
        told = msgspec.structs.replace(INSPECTED_STEP, likeliest=NEXT)
        engine.tell(Tokens(pieces(BEGUN[11:], 11), statistics(BEGUN), inspection=told))
        await sees(pilot, "next, the model's own: ·+= 60% · ·= 30% · <|im_end|> 5%", "a click or /token")
        yield app, pilot


async def stopped(pilot: Pilot[None], engine: ScriptedEngine) -> None:
    await wait_until(pilot, lambda: engine.sent_of(Stop))
    engine.tell(finished(BEGUN, "cancelled"))


@pytest.mark.parametrize(
    ("way", "size"),
    [("command", (80, 24)), ("turn", (160, 50)), ("click", (80, 24)), *([("click", (160, 50))] if LONG else [])],
)
async def test_what_may_come_next_in_a_paused_reply_begins_another_that_is_paused_too(
    engine: ScriptedEngine, way: str, size: tuple[int, int]
) -> None:
    async with paused(engine, size) as (app, pilot):
        if way == "click":
            view = app.screen.query_one("#debug-candidates")
            line = next(line for line in screen_text(app).splitlines() if "·= 30%" in line)
            row = screen_text(app).splitlines().index(line) - view.region.y
            await pilot.click(view, offset=(line.index("·= 30%") - view.region.x, row))
        else:
            if way == "command":
                await say(app, pilot, "/token")
            else:
                await pilot.press("shift+tab", "enter")
            await sees(pilot, "Another token", "60.0%", "ends it", "↑ ↓ token")
            await pilot.press("down", "enter")
        await stopped(pilot, engine)
        await wait_until(pilot, lambda: len(engine.sent_of(Reply)) == 2)
        assert last_messages(engine) == (user("Write a function."), assistant(f"{text_of(BEGUN)} ="))
        assert asked(engine).paused
        await answered(app, pilot, engine, ((" 1",),))
        await pilot.press("ctrl+d", "pageup", "pageup")  # there is room for all of it
        await sees(pilot, "2 of 2")
        await pilot.press("shift+tab", "left")
        await sees(pilot, "stopped for another token")


async def test_the_end_chosen_in_a_paused_reply_ends_it(engine: ScriptedEngine) -> None:
    async with paused(engine, (160, 50)) as (app, pilot):
        await say(app, pilot, "/token")
        await sees(pilot, "60.0%")
        await pilot.press("up", "enter")
        await stopped(pilot, engine)
        await sees(pilot, "2 of 2")
        assert len(engine.sent_of(Reply)) == 1
        assert "paused" not in status(app)
        assert app.chat_screen.conversation.messages[-1] == assistant(text_of(BEGUN))


async def test_a_token_for_a_place_that_the_reply_has_left_is_refused(engine: ScriptedEngine) -> None:
    async with paused(engine, (160, 50)) as (app, pilot):
        app.chat_screen.action_take_next(0)
        await wait_until(pilot, lambda: engine.sent_of(Stop))
        engine.tell(finished(FUNCTION[:13], "cancelled"))
        await sees(pilot, "The reply had gone on meanwhile")
        assert len(app.chat_screen.conversation.turns) == 1


async def test_it_is_said_why_no_next_token_can_be_chosen(engine: ScriptedEngine) -> None:
    async with opened(engine, size=(100, 24)) as (app, pilot):
        await say(app, pilot, "/token")
        await sees(pilot, "There is no reply yet.")
        await say(app, pilot, "Hello")
        await say(app, pilot, "/token")
        await sees(pilot, "F9 pauses the reply first; F10 takes a step.")
        await pilot.press("f9")
        await say(app, pilot, "/token")
        await sees(pilot, "The next token is not known here; F10 takes a step.")
        await say(app, pilot, "And then?")
        await say(app, pilot, "/token")
        await sees(pilot, "A message waits: take it back first")


async def test_the_command_offers_the_tokens_of_the_last_reply(engine: ScriptedEngine) -> None:
    async with opened(ScriptedEngine(ranking)) as (app, pilot):
        engine = app.chat_screen.engine  # type: ignore[assignment]
        await talked(app, pilot, engine, "17 + 25?")
        await say(app, pilot, "/token")
        await sees(pilot, "← → place", "in the reply")
