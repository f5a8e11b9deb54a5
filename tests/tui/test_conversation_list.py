"""The list of conversations and the side bar: found, resumed, renamed, deleted and brought back."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from rich.cells import cell_len
from textual.widgets import Input, OptionList, Static

from lade_chat.protocol.values import DecodingOptions, ModelOptions
from lade_chat.settings.effective import Preferences, load
from lade_chat.store.all_conversations import Store
from lade_chat.store.records import Model
from lade_chat.tui.app.application import ChatApp
from lade_chat.tui.conversations.list_screen import ConversationList
from lade_chat.tui.conversations.side_bar import SideBar, cut_inside
from tests.store.replies import say as said
from tests.tui.driving import driven, opened, resize, say, screen_text, sees, sees_no, wait_until
from tests.tui.scripted import MODEL, ScriptedEngine
from tests.tui.talking import assistant, kept, last_messages, talked, user


async def test_the_list_finds_resumes_and_closes(engine: ScriptedEngine, folder: Path) -> None:
    async with opened(engine, store=kept(folder, "apples", "pears", "plums")) as (app, pilot):
        await pilot.press("ctrl+t")
        await sees(pilot, "apples", "pears", "plums", "1 turn")
        await pilot.press(*"pear")
        await sees_no(pilot, "plums")
        await pilot.press("enter")
        await sees(pilot, "about pears")
        assert app.screen is app.chat_screen
        await say(app, pilot, "More.")
        await wait_until(
            pilot, lambda: last_messages(engine) == (user("pears"), assistant("about pears"), user("More."))
        )
        await pilot.press("ctrl+t", "escape")
        assert app.screen is app.chat_screen


async def test_a_conversation_is_renamed_deleted_and_brought_back(engine: ScriptedEngine, folder: Path) -> None:
    async with opened(engine, store=kept(folder, "apples", "pears")) as (app, pilot):
        await pilot.press("ctrl+t")
        await sees(pilot, "apples")
        await pilot.press("down", "f2")
        app.screen.query_one("#title", Input).value = "orchard"
        await pilot.press("enter")
        await sees(pilot, "orchard")
        await sees_no(pilot, "apples")
        await pilot.press("ctrl+d")
        await sees_no(pilot, "orchard  ")
        await sees(pilot, "Ctrl+Z brings it back")
        assert [each.title for each in Store(folder).page()] == ["pears"]
        await pilot.press("ctrl+z")
        await wait_until(pilot, lambda: len(Store(folder).page()) == 2)
        await sees(pilot, "orchard  ")


async def test_the_list_acts_on_what_was_typed_however_slow_the_disk(engine: ScriptedEngine, folder: Path) -> None:
    store = kept(folder, "apples", "pears")  # the newest, pears, is the first
    async with opened(engine, store=store) as (app, pilot):
        await pilot.press("ctrl+t")
        await sees(pilot, "apples  ")
        barrier = threading.Event()
        app.chat_screen.store_worker.look_up(barrier.wait, lambda _result: None)
        await pilot.press(*"apple", "ctrl+d", "ctrl+d")
        barrier.set()
        await wait_until(pilot, lambda: not app.chat_screen.store_worker.busy)
        await sees(pilot, "“apples” is deleted")
        assert [each.title for each in Store(folder).page()] == ["pears"]


async def test_who_moves_in_the_list_while_it_is_read_finds_everything_once(
    engine: ScriptedEngine, folder: Path
) -> None:
    async with opened(engine, store=kept(folder, "pears", "pear")) as (app, pilot):
        await pilot.press("ctrl+t")
        await sees(pilot, "pears")
        held = threading.Event()
        app.chat_screen.store_worker.look_up(held.wait, lambda _: None)
        await pilot.press(*"pear", "down")
        held.set()
        await wait_until(pilot, lambda: not app.chat_screen.store_worker.busy)
        assert isinstance(app.screen, ConversationList)
        assert [each.title for each in app.screen._shown] == ["pear", "pears"]


async def test_a_renaming_says_so(engine: ScriptedEngine, folder: Path) -> None:
    async with opened(engine, store=kept(folder, "apples")) as (app, pilot):
        await pilot.press("ctrl+t")
        await sees(pilot, "apples  ", "⏎ Resume")
        await pilot.press("f2")
        await sees(pilot, "⏎ Rename", "esc Cancel")
        assert app.screen.query_one(".dialog").border_title == "Rename"
        await pilot.press("escape")
        await sees(pilot, "⏎ Resume")
        assert app.screen.query_one(".dialog").border_title == "Conversations"


async def test_the_last_one_that_is_deleted_can_be_brought_back_too(engine: ScriptedEngine, folder: Path) -> None:
    async with opened(engine, store=kept(folder, "apples")) as (app, pilot):
        await pilot.press("ctrl+t")
        await sees(pilot, "apples  ")
        await pilot.press("ctrl+d")
        await sees_no(pilot, "apples  ")
        await wait_until(pilot, lambda: not app.chat_screen.store_worker.busy)
        await sees(pilot, "Ctrl+Z brings it back")
        await pilot.press(*"x")
        await sees(pilot, "Nothing found")


async def test_deleting_the_conversation_on_the_screen_begins_a_new_one(engine: ScriptedEngine, folder: Path) -> None:
    async with opened(engine, store=Store(folder)) as (app, pilot):
        await talked(app, pilot, engine, "apples")
        await pilot.press("ctrl+t")
        await sees(pilot, "here")
        await pilot.press("ctrl+d")
        await wait_until(pilot, lambda: not Store(folder).page())
        await pilot.press("escape")
        await sees(pilot, "How does this work?")
        await pilot.press("ctrl+t", "ctrl+z")
        await sees(pilot, "apples")


@pytest.mark.parametrize(
    ("width", "shown"), [(100, ("tiny", "here", "ask", "1 turn")), (80, ("here", "ask", "1 turn"))]
)
async def test_columns_are_even_and_what_was_only_asked_on_the_command_line_is_marked_and_last(
    engine: ScriptedEngine, folder: Path, width: int, shown: tuple[str, ...]
) -> None:
    kept(folder, "apples", "Why do two equal questions get different answers here, and what can be done about it?")
    said(Store(folder, chat=False).begin(), "pears", "about pears")
    async with opened(engine, store=Store(folder), size=(width, 24)) as (app, pilot):
        await talked(app, pilot, engine, "plums")
        await pilot.press("ctrl+t")
        await sees(pilot, "Why do", *shown)
        rows = [row for row in screen_text(app).splitlines() if "just now" in row]
        assert [row[3:9].strip() for row in rows][::3] == ["plums", "pears"]
        ends = {row.index(word) + len(word) for row in rows for word in ("here  ", "ask  ", "1 turn  ") if word in row}
        assert (len(ends), len({row.index("just now") for row in rows})) == (1, 1)


async def test_each_conversation_is_one_line_however_narrow_the_terminal_becomes(
    engine: ScriptedEngine, folder: Path
) -> None:
    store = Store(folder)
    for title in ("Say:", "Why do two equal questions get different answers here?"):
        store.begin().ask(title, Model("org/Some-Model-135M-Instruct", "", "cpu", "float32"))
    async with opened(engine, store=store, size=(100, 16)) as (app, pilot):
        await pilot.press("ctrl+t")
        await sees(pilot, "Say:")
        for width in (80, 60, 50, 40):
            await resize(pilot, width, 16)
            await pilot.pause(0.1)
            assert screen_text(app).count("just now") == app.screen.query_one(OptionList).virtual_size.height == 2


async def test_a_search_shows_the_words_around_the_match(engine: ScriptedEngine, folder: Path) -> None:
    store = kept(folder, "fruit", "fruit", "apples")
    async with opened(engine, store=store, size=(100, 30)) as (app, pilot):
        await pilot.press("ctrl+t")
        await sees(pilot, "fruit (2)  ", "fruit  ", "1 turn    just now")
        await pilot.press(*"about FRUIT")
        await sees(pilot, "about fruit")
        await sees_no(pilot, "apples")
        found = [
            row.text.strip(" │╭╮╰╯─") for row in app.screen._compositor.render_strips() if "about fruit" in row.text
        ]
        assert found == ["about fruit"] * 2
        reversed_texts = {
            segment.text
            for row in app.screen._compositor.render_strips()
            for segment in row
            if segment.style is not None and segment.style.reverse
        }
        assert {"about", "fruit"} <= reversed_texts


async def test_the_side_bar_lists_opens_and_is_remembered(engine: ScriptedEngine, folder: Path) -> None:
    store = kept(folder, "apples", "pears")
    file = folder / "settings.toml"
    preferences = Preferences.of(load(file, {}), {}, None)

    def app_of(engine: ScriptedEngine, preferences: Preferences) -> ChatApp:
        return ChatApp(engine, ModelOptions(), DecodingOptions(), store=store, preferences=preferences)

    app = app_of(engine, preferences)
    async with driven(app, (120, 30), MODEL, engine) as pilot:
        assert "pears" not in screen_text(app)
        await say(app, pilot, "/sidebar")
        await sees(pilot, "apples", "pears")
        await talked(app, pilot, engine, "plums")
        side_bar = app.screen.query_one(SideBar)
        await wait_until(pilot, lambda: side_bar.option_count == 3 and side_bar.highlighted == 0)
        await pilot.resize_terminal(100, 30)
        await sees_no(pilot, "pears")
        await pilot.resize_terminal(120, 30)
        await sees(pilot, "pears")
        await wait_until(pilot, lambda: side_bar.highlighted == 0 and not app.chat_screen.store_worker.busy)
        side_bar.focus()
        await wait_until(pilot, lambda: app.focused is side_bar)
        await pilot.press("down")
        await wait_until(pilot, lambda: side_bar.highlighted == 1)
        await pilot.press("enter")
        await sees(pilot, "about pears")
        assert app.focused is app.chat_screen.prompt
        await say(app, pilot, "/rename Fruit")
        await wait_until(pilot, lambda: "Fruit" in str(side_bar.get_option_at_index(1).prompt))
        await pilot.press("ctrl+n")
        await wait_until(pilot, lambda: side_bar.highlighted is None)
    assert load(file, {}).get("sidebar") is True
    again = ScriptedEngine()
    app = app_of(again, Preferences.of(load(file, {}), {}, None))
    async with driven(app, (130, 30), MODEL, again) as pilot:
        await sees(pilot, "apples", "Fruit", "plums")
        await say(app, pilot, "/sidebar")
        await sees_no(pilot, "apples")
    assert load(file, {}).get("sidebar") is False


async def test_the_side_bar_tells_what_was_asked_on_the_command_line(engine: ScriptedEngine, folder: Path) -> None:
    said(Store(folder, chat=False).begin(), "pears", "about pears")
    async with opened(engine, size=(120, 30), store=Store(folder)) as (app, pilot):
        await say(app, pilot, "/sidebar")
        await sees(pilot, "pears", " · ask")


async def test_a_long_list_is_read_page_by_page(engine: ScriptedEngine, folder: Path) -> None:
    store = kept(folder, *(f"question {number}" for number in range(70)))
    async with opened(engine, store=store) as (_app, pilot):
        await pilot.press("ctrl+t")
        await sees(pilot, "question 69")
        for _ in range(12):
            await pilot.press("pagedown")
        await sees(pilot, "question 0 ")


async def test_the_place_in_a_long_list_stays_when_it_changes(engine: ScriptedEngine, folder: Path) -> None:
    store = kept(folder, *(f"question {number}" for number in range(70)))
    async with opened(engine, store=store) as (app, pilot):
        await pilot.press("ctrl+t")
        await sees(pilot, "question 69")
        for _ in range(12):
            await pilot.press("pagedown")
        await sees(pilot, "question 0 ")
        await pilot.press("up", "ctrl+d")
        await sees(pilot, "“question 1” is deleted")
        await pilot.press("ctrl+d")
        await sees(pilot, "“question 0” is deleted")
        await pilot.press("f2")
        await wait_until(pilot, lambda: app.screen.query_one("#title", Input).value == "question 2")


async def test_a_search_begins_at_its_best_match(engine: ScriptedEngine, folder: Path) -> None:
    async with opened(engine, store=kept(folder, "pear", "pears", "apples", "plums")) as (app, pilot):
        await pilot.press("ctrl+t")
        await sees(pilot, "plums")
        await pilot.press("down", "down", *"pear")
        await sees_no(pilot, "plums")
        await pilot.press("enter")
        await sees(pilot, "about pear")
        assert app.chat_screen.conversation.title == "pear"


async def test_a_list_that_cannot_be_read_says_why(engine: ScriptedEngine, folder: Path) -> None:
    (folder / "file").write_text("in the way")
    async with opened(engine, store=Store(folder / "file")) as (app, pilot):
        await pilot.press("ctrl+t")
        assert isinstance(app.screen, ConversationList)
        line = app.screen.query_one(".line", Static)
        await wait_until(pilot, lambda: "make the folder writable" in str(line.content))
        (folder / "file").unlink()
        await pilot.press("a")
        await wait_until(pilot, lambda: str(line.content) == "Nothing found.")


async def test_long_titles_that_differ_at_their_end_differ_in_the_list(engine: ScriptedEngine, folder: Path) -> None:
    questions = [f"Write a Python function that returns the {what} of a list" for what in ("sum", "product")]
    async with opened(engine, store=kept(folder, *questions)) as (_app, pilot):
        await pilot.press("ctrl+t")
        await sees(pilot, "the sum of a list  ", "product of a list  ")


def test_a_title_is_cut_between_characters_however_many_codes_they_have() -> None:
    family, coder, flag = "👨\u200d👩\u200d👧\u200d👦", "👩🏽\u200d💻", "🏳️\u200d🌈"
    title = f"{family} and {coder * 3}, 日本語 {flag * 4} at home {coder}{family}"
    for width in range(4, cell_len(title)):
        shown = cut_inside(title, width)
        assert cell_len(shown) == width
        for whole in (family, coder, flag, *"日本語…"):
            shown = shown.replace(whole, "")
        assert shown.isascii(), (width, shown)
