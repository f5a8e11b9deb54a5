"""Pictures kept from the chat: they look as the chat does, of a reply and of a race."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest
from PIL import Image
from textual.pilot import Pilot

from lade_chat.export.theme import DARK, LIGHT, Colours
from lade_chat.protocol.commands import Reply
from lade_chat.protocol.events import ComparisonFinished
from lade_chat.tui.app.application import ChatApp
from lade_chat.tui.race.race_screen import RaceScreen
from lade_chat.tui.screens.save_as import PictureName, picture_of
from tests.export.samples import rgb
from tests.tui.driving import opened, say, sees, status, wait_until
from tests.tui.scripted import FUNCTION, ScriptedEngine, finished, streamed, text_of
from tests.tui.talking import answered

PLAIN = tuple((token,) for step in FUNCTION for token in step)


async def raced(app: ChatApp, pilot: Pilot[None], engine: ScriptedEngine) -> None:
    """A race that has ended."""
    app.chat_screen.prompt.put("Write a function.")
    await pilot.press("ctrl+r")
    await sees(pilot, "longer than the clocks")
    await pilot.press("ctrl+s")  # not before the end
    assert isinstance(app.screen, RaceScreen)
    engine.tell(*streamed(FUNCTION)[1:], finished(FUNCTION))
    engine.tell(*streamed(PLAIN, side="right", lookahead=False)[1:])
    engine.tell(finished(PLAIN, side="right", lookahead=False), ComparisonFinished(2.94, identical=True))
    await sees(pilot, "The texts are identical")


async def test_a_race_is_kept_with_both_texts_and_what_came_of_it(
    engine: ScriptedEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    async with opened(engine, size=(120, 30)) as (app, pilot):
        await raced(app, pilot, engine)
        await pilot.press("ctrl+b", "ctrl+s")
        await sees(pilot, "race-write-a-function.html", ".gif or .cast, in motion")
        await pilot.press(*"econd", "enter")  # by someone who believes to be in the chat
        await sees(pilot, "The file name must end in")
        await pilot.press("escape", "ctrl+s", "enter")
        await wait_until(pilot, lambda: Path("race-write-a-function.html").exists())
        assert os.listdir() == ["race-write-a-function.html"]
        page = Path("race-write-a-function.html").read_text(encoding="utf-8")
        text = re.sub(r"<[^>]+>", "", page)
        assert text.count(text_of(FUNCTION)) == 2
        assert "2.94x as fast" in text
        assert "the texts are identical" in text
        assert 'class="trajectory"' in page
        assert isinstance(app.screen, RaceScreen)


async def test_the_name_of_a_picture_is_told_as_it_is(
    engine: ScriptedEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    async with opened(engine, size=(120, 30)) as (app, pilot):
        await raced(app, pilot, engine)
        await pilot.press("ctrl+s")
        await sees(pilot, ".gif or .cast, in motion")
        await pilot.press(*"[b]", ".", *"svg", "enter")
        await sees(pilot, "Written: [b].svg")
    assert Path("[b].svg").exists()


async def test_a_name_that_will_not_do_is_told_before_the_dialog_closes(
    engine: ScriptedEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("there.svg").write_text("mine")
    async with opened(engine, size=(120, 30)) as (app, pilot):
        await raced(app, pilot, engine)
        for name, line in (("a.doc", "The file name must end in .html"), ("there.svg", "is there already")):
            await pilot.press("ctrl+s")
            field = app.screen.query_one("Input")
            field.value = name  # type: ignore[attr-defined]
            await pilot.press("enter")
            await sees(pilot, line)
            assert isinstance(app.screen, PictureName)
            await pilot.press("escape")
        assert Path("there.svg").read_text() == "mine"


@pytest.mark.parametrize(
    ("theme", "colours"), [("textual-dark", DARK), ("textual-light", LIGHT)], ids=["dark", "light"]
)
async def test_a_still_is_as_dark_or_light_as_the_chat(
    engine: ScriptedEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, theme: str, colours: Colours
) -> None:
    monkeypatch.chdir(tmp_path)
    async with opened(engine) as (app, pilot):
        app.theme = theme
        await say(app, pilot, "Write a function.")
        engine.tell(*streamed(FUNCTION), finished(FUNCTION))
        await wait_until(pilot, lambda: "ready" in status(app))
        await say(app, pilot, "/export reply.png")
        await wait_until(pilot, lambda: Path("reply.png").exists())
    with Image.open("reply.png") as picture:
        found = {colour for _, colour in picture.convert("RGB").getcolors(1 << 24) or ()}
    assert {rgb(colours.ground), rgb(colours.tints["verified"])} <= found


async def test_a_reply_that_was_continued_is_whole(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        await say(app, pilot, "Count to four.")
        engine.tell(*streamed((("1,", " 2,"),)), finished((("1,", " 2,"),), "length"))
        await wait_until(pilot, lambda: "ready" in status(app))
        await say(app, pilot, "/continue")
        await wait_until(pilot, lambda: len(engine.sent_of(Reply)) == 2)
        await answered(app, pilot, engine, ((" 3,",), (" 4",)))
        content = picture_of(app.chat_screen.conversation, "verified")
    (side,) = content.sides
    first, second = (turn.statistics for turn in app.chat_screen.conversation.path)
    assert first is not None
    assert second is not None
    assert (content.asked, side.text, side.finish_reason) == ("Count to four.", "1, 2, 3, 4", "eos")
    assert side.statistics.generated_tokens == 4
    assert side.times == sorted(side.times)
    assert side.seconds == pytest.approx(first.seconds + second.seconds)
    assert [piece.step for piece in side.pieces] == [0, 0, 1, 2]
