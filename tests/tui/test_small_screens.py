"""Small terminals: nothing that is needed is cut off or scrolled away."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest
from textual.app import ComposeResult
from textual.pilot import Pilot
from textual.widgets import Static

from lade_chat.protocol.events import ComparisonFinished, LoadFailed
from lade_chat.tui.app.application import ChatApp
from lade_chat.tui.chat.chat_state import Phase
from lade_chat.tui.reply.markdown_reply import MarkdownReply
from lade_chat.tui.reply.reply_turn import ReplyTurn
from lade_chat.tui.transcript.notices import Earlier
from lade_chat.tui.transcript.transcript import Transcript
from lade_chat.tui.widgets.bars import KeyFooter
from lade_chat.tui.widgets.dialog import Dialog, SizedScreen
from tests.tui.driving import opened, resize, say, screen_text, sees, wait_until
from tests.tui.scripted import Script, ScriptedEngine, finished, streamed
from tests.tui.settled import closed, opened_settings, settled
from tests.tui.talking import talked
from tests.tui.test_snapshots import race
from tests.tui.test_token_menu import ranking

SIZES = [(60, 18), (50, 15), (40, 12)]


async def test_settings_begin_at_their_top(engine: ScriptedEngine, path: Path) -> None:
    async with settled(engine, path) as (app, pilot):
        for size in SIZES:
            await resize(pilot, *size)
            screen = await opened_settings(app, pilot)
            await sees(pilot, "theme", "system")
            await pilot.pause(0.1)
            assert screen.query_one("VerticalScroll").scroll_y == 0
            assert screen.focused is screen.query_one("#system")
            await pilot.press("escape")
            await closed(app, pilot)


async def test_opening_a_model_begins_at_the_top(engine: ScriptedEngine) -> None:
    async with opened(engine, size=(40, 12)) as (app, pilot):
        await pilot.press("ctrl+o")
        await sees(pilot, "Device")
        await pilot.pause(0.1)
        assert "Folder, GGUF file" in screen_text(app)


@pytest.mark.parametrize("size", [(80, 24), (60, 18), (104, 30)])
async def test_no_scraps_of_the_chat_stand_beside_a_dialog(
    engine: ScriptedEngine, path: Path, size: tuple[int, int]
) -> None:
    async with settled(engine, path, size=size) as (app, pilot):
        await talked(app, pilot, engine, "scraps " * 200)
        for key in ("ctrl+s", "ctrl+o", "ctrl+t", "f1"):
            await pilot.press(key)
            await wait_until(pilot, lambda: isinstance(app.screen, Dialog) and app.screen.query(".dialog"))
            dialog = app.screen.query_one(".dialog")
            await wait_until(pilot, lambda dialog=dialog: dialog.region.height)
            rows = screen_text(app).splitlines()[dialog.region.y : dialog.region.bottom]
            assert not "".join(row[: dialog.region.x] + row[dialog.region.right :] for row in rows).strip()
            await pilot.press("escape")
            await closed(app, pilot)


async def test_a_screen_has_the_classes_of_its_size_before_its_parts_are_styled(engine: ScriptedEngine) -> None:
    class Seeing(SizedScreen[None]):
        def compose(self) -> ComposeResult:
            yield Static(" ".join(self.classes))

    async with opened(engine, size=(60, 18)) as (app, pilot):
        app.push_screen(Seeing())
        await sees(pilot, "-narrow", "-short")


async def test_an_error_above_the_welcome_page_is_in_sight(engine: ScriptedEngine) -> None:
    async with opened(engine, debug=True) as (app, pilot):
        await pilot.press("shift+tab", "end")
        await wait_until(pilot, lambda: app.chat_screen.transcript.scroll_y > 0)
        engine.tell(LoadFailed("There is no folder /m.", kept=True))
        await sees(pilot, "There is no folder /m.", "Ctrl+O opens another model.")


async def test_completions_leave_prompt_and_transcript_in_place(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        await pilot.press("/")
        for width, height in SIZES:
            await resize(pilot, width, height)
            await sees(pilot, "/help", "/new")
            lines = screen_text(app).splitlines()
            assert lines[-3].startswith("│ /")
            assert app.screen.query_one(Transcript).region.width == width


async def test_each_line_of_a_turn_s_menus_is_one_row() -> None:
    engine = ScriptedEngine(ranking)
    async with opened(engine, size=(40, 12)) as (app, pilot):
        await talked(app, pilot, engine, "17 + 25?")
        await pilot.press("shift+tab", "enter")
        await sees(pilot, " a  Edit the reply and have it go on", " t  Another token, and go on from t…")
        await pilot.press("t")
        await sees(pilot, "55.0%  ━…", "·43", "<|im_end|>", " 5.0%  ━…")


async def test_settings_show_their_values_in_a_terminal_of_thirty_columns(engine: ScriptedEngine) -> None:
    async with opened(engine, size=(30, 8)) as (_app, pilot):
        await pilot.press("ctrl+s")
        await sees(pilot, "theme       lade-dark", "colours     verified", "system      none", "1024 · by")


async def test_titles_of_a_race_are_whole(engine: ScriptedEngine) -> None:
    async with opened(engine, size=(50, 15)) as (app, pilot):
        await race(app, pilot, engine)
        titles = screen_text(app).splitlines()[1]
        assert "lookahead auto" in titles
        assert "plain decoding" in titles
        assert "…" not in titles


@pytest.mark.parametrize("size", [(20, 6), (29, 20), (60, 7)])
async def test_a_terminal_that_is_too_small_for_a_race_is_told_so(
    engine: ScriptedEngine, size: tuple[int, int]
) -> None:
    async with opened(engine, size=size) as (app, pilot):
        app.chat_screen.prompt.put("Hello")
        await pilot.press("ctrl+r")
        engine.tell(*streamed(SHORT)[1:], finished(SHORT), *streamed(SHORT, side="right")[1:])
        engine.tell(finished(SHORT, side="right"), ComparisonFinished(1.0, identical=True))
        await sees(pilot, "too small", "30×8", "esc Close")
        assert "word" not in screen_text(app)
        await resize(pilot, 40, 8)
        await sees(pilot, "A word.", "lookahead auto", "identical")
        assert "too small" not in screen_text(app)


@pytest.mark.parametrize("size", [(20, 6), (30, 8), (40, 10)])
async def test_the_prompt_is_whole_below_a_long_hint(engine: ScriptedEngine, size: tuple[int, int]) -> None:
    async with opened(engine, size=size) as (app, pilot):
        app.chat_screen.hint("a hint of many words " * 20)
        await say(app, pilot, "a question of many words " * 20)
        app.chat_screen.prompt.put("a draft of many words " * 20 + "end")
        app.chat_screen.hint("a hint of many words " * 20)
        await sees(pilot, "end", "a hint")
        prompt, footer = app.chat_screen.prompt.region, app.screen.query_one(KeyFooter).region
        assert prompt.bottom == footer.y == size[1] - 1
        assert prompt.height == (3 if size[1] > 6 else 1)


@pytest.mark.parametrize("rows", [2, 3, 4])
async def test_the_lowest_terminal_has_the_prompt(engine: ScriptedEngine, rows: int) -> None:
    async with opened(engine, size=(40, rows)) as (_app, pilot):
        await pilot.press(*"typed")
        await sees(pilot, "typed")


async def test_no_scraps_of_a_race_stand_beside_its_dialogs(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        await race(app, pilot, engine)
        for key in ("ctrl+s", "ctrl+o"):
            await pilot.press(key)
            await wait_until(pilot, lambda: isinstance(app.screen, Dialog) and app.screen.query(".dialog"))
            dialog = app.screen.query_one(".dialog")
            await wait_until(pilot, lambda dialog=dialog: dialog.region.height)
            assert dialog.region.width == app.size.width
            await pilot.press("escape")
            await wait_until(pilot, lambda: not isinstance(app.screen, Dialog))


# --- A conversation that goes on and on costs no more than its last turns, and nothing of it is out of reach

AT_ONCE = 3
SHORT: Script = (("A", " word"), (".",))
LISTED: Script = (("1.", " one", "\n"), ("2.", " two"))


def is_answered(app: ChatApp, number: int) -> bool:
    chat = app.chat_screen
    return chat.state.phase is Phase.READY and len(chat.conversation.path) == number + 1


async def talk(app: ChatApp, pilot: Pilot[None], engine: ScriptedEngine, turns: range, script: Script = SHORT) -> None:
    for number in turns:
        await say(app, pilot, f"question {number}")
        engine.tell(*streamed(script), finished(script))
        await wait_until(pilot, lambda number=number: is_answered(app, number))  # type: ignore[misc]


async def test_the_oldest_turns_give_way_and_come_back(engine: ScriptedEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lade_chat.tui.transcript.transcript.AT_ONCE", AT_ONCE)
    monkeypatch.setattr("lade_chat.tui.transcript.transcript.MAX_UNFOLDED_REPLIES", AT_ONCE + 1)
    async with opened(engine) as (app, pilot):
        transcript = app.chat_screen.transcript
        await talk(app, pilot, engine, range(AT_ONCE + 1))
        assert not app.screen.query(Earlier)
        await talk(app, pilot, engine, range(AT_ONCE + 1, AT_ONCE + 4))
        await wait_until(pilot, lambda: len(app.screen.query(ReplyTurn)) <= AT_ONCE + 1)
        assert len(app.chat_screen.conversation.messages) == 2 * (AT_ONCE + 4)
        await wait_until(pilot, lambda: f"question {AT_ONCE + 3}" in screen_text(app))
        while transcript.show_earlier():
            await pilot.pause()
        await wait_until(pilot, lambda: len(app.screen.query(ReplyTurn)) == AT_ONCE + 4)
        asked = [turn.kept.turn.question for turn in app.screen.query(ReplyTurn) if turn.kept is not None]
        assert asked == [f"question {number}" for number in range(AT_ONCE + 4)]


async def test_what_is_no_longer_shown_is_let_go(engine: ScriptedEngine) -> None:
    def left(kind: type) -> int:
        gc.collect()
        return sum(isinstance(each, kind) for each in gc.get_objects())

    async with opened(engine) as (app, pilot):
        # What other tests have left in this process may go meanwhile.
        before = left(MarkdownReply)
        await talk(app, pilot, engine, range(3), LISTED)
        await wait_until(pilot, lambda: len(app.screen.query(MarkdownReply)) == 3)
        await say(app, pilot, "/new")
        await wait_until(pilot, lambda: not app.screen.query(MarkdownReply))
        # Textual's pilot has every widget take a message: each holds on to its latest until the next.
        await wait_until(Pilot(app), lambda: left(MarkdownReply) <= before)
