"""Another token at a place of a reply begins another reply there; the arrows change the place."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from textual.pilot import Pilot

from lade_chat.protocol.commands import Command, RankTokens, Reply
from lade_chat.protocol.events import Event, Failed, TokensRanked
from lade_chat.protocol.inspection import RankedToken
from lade_chat.store.store import Store
from lade_chat.tui.app.application import ChatApp
from lade_chat.tui.transcript.token_menu import TokenMenu
from tests.tui.driving import opened, sees, sees_no, wait_until
from tests.tui.scripted import ScriptedEngine
from tests.tui.talking import answered, assistant, last_messages, talked, user


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
