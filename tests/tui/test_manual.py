"""The manual: every page can be read and found, and what it says of keys, commands and flags holds."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import typer.main
from textual.widgets import Input, Markdown, Static

import lade_chat.tui
from lade_chat.cli.app import app as command_line
from lade_chat.cli.app import main
from lade_chat.cli.running.process_exit import EXIT_CODES, FAILURE, INTERRUPTED, READER_GONE, TERMINATED, USAGE
from lade_chat.protocol.values import DecodingOptions, ModelOptions
from lade_chat.settings.effective import Preferences, load
from lade_chat.store.all_conversations import Store
from lade_chat.tui.app.application import ChatApp
from lade_chat.tui.chat.chat_screen import ChatScreen
from lade_chat.tui.chat.slash_commands import COMMANDS
from lade_chat.tui.key_map import KeyNames, default_keys
from lade_chat.tui.screens.manual import NAMES, HelpScreen, PageList, manual_pages
from tests import usage_page
from tests.tui.driving import burst, driven, opened, say, sees, status, wait_until
from tests.tui.scripted import MODEL, ScriptedEngine

USUAL = default_keys(ChatScreen, ChatApp)
PAGES = manual_pages(KeyNames(USUAL), MODEL, COMMANDS)


def shown_page(app: ChatApp) -> str:
    """All the text of the page that is open, scrolled out of sight or not."""
    return "\n".join(str(widget.content) for widget in app.screen.query_one(Markdown).walk_children(Static))


# --- what it says -------------------------------------------------------------------------------------------------


def test_every_action_that_has_keys_is_told_with_them() -> None:
    told = PAGES[NAMES.index("keys")].text
    for action in USUAL:
        key = re.escape(KeyNames(USUAL).first(action))
        assert re.search(rf"^\|.*(?<![\w+]){key}(?!\w)", told, re.MULTILINE), action


def test_the_command_line_prints_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["manual"]) == 0
    whole = capsys.readouterr().out
    assert all(whole.count(f"\n# {page.text.strip().splitlines()[0][2:]}\n") == 1 for page in PAGES[1:])
    assert main(["manual", "key"]) == 0
    assert whole.startswith(capsys.readouterr().out)
    assert main(["manual", "poems"]) == 2
    assert "no page 'poems'" in capsys.readouterr().err


def test_the_document_of_usage_is_the_manual() -> None:
    assert usage_page.PAGE.read_text(encoding="utf-8") == usage_page.usage(), "run python -m tests.usage_page"


@pytest.mark.parametrize("code", [0, FAILURE, USAGE, INTERRUPTED, READER_GONE, TERMINATED])
def test_every_exit_code_is_in_the_help_and_in_the_table(code: int) -> None:
    assert re.search(rf"\b{code} \w", EXIT_CODES)
    assert f"\n| **{code}** | " in PAGES[NAMES.index("pipes")].text


def test_every_slash_command_that_a_page_names_is_one() -> None:
    named = {name for page in PAGES for name in re.findall(r"`/([a-z]+)", page.text)}
    assert {"set", "continue", "export"} <= named
    assert named <= {command.name for command in COMMANDS}


def test_every_flag_that_a_page_names_is_one() -> None:
    group = typer.main.get_command(command_line)
    flags = {flag for command in (group, *group.commands.values()) for each in command.params for flag in each.opts}  # type: ignore[attr-defined]
    flags |= {flag for each in group.commands["ask"].params for flag in each.secondary_opts}  # type: ignore[attr-defined]
    named = {flag for page in PAGES for flag in re.findall(r"(?<![\w-])--[a-z][a-z_-]+", page.text)}
    assert {"--no-save", "--batch", "--device"} <= named
    assert named <= {*flags, "--help"}


def test_no_page_names_a_key_that_can_be_another() -> None:
    fixed = {*(f"Ctrl+{letter}" for letter in "CDEJNSUYZ_"), "F2", "F3", "F8", "F12"}
    for name in NAMES:
        folder = Path(lade_chat.tui.__file__).parent / "screens" / "manual_text"
        raw = (folder / f"{name}.md").read_text(encoding="utf-8")
        assert set(re.findall(r"Ctrl\+\w|\bF\d+\b", raw)) <= fixed, name


# --- how it is read -----------------------------------------------------------------------------------------------


async def test_every_page_can_be_read_to_its_end(engine: ScriptedEngine) -> None:
    async with opened(engine, size=(60, 80)) as (app, pilot):
        await pilot.press("f1")
        for name, page in zip(NAMES, PAGES, strict=True):
            heading = page.text.partition("\n")[0].removeprefix("# ")
            await sees(pilot, heading, name.capitalize())
            view = app.screen.query_one(".page")
            await wait_until(pilot, lambda: shown_page(app).startswith(heading) and view.scroll_y == 0)  # noqa: B023
            while view.scroll_y < view.max_scroll_y:
                before = view.scroll_y
                await pilot.press("pagedown")
                await wait_until(pilot, lambda: view.scroll_y > before)  # noqa: B023
            assert view.max_scroll_x == 0
            await pilot.press("down")
        await pilot.press("escape")
        assert app.screen is app.chat_screen


async def test_no_word_of_a_table_is_cut_off_on_a_narrow_screen(engine: ScriptedEngine) -> None:
    async with opened(engine, size=(40, 80)) as (app, pilot):
        await say(app, pilot, "/help commands")
        await sees(pilot, "/retry")
        await pilot.press("pagedown")
        await sees(pilot, "max_new_token")


async def test_a_topic_opens_its_page_and_other_words_are_searched_for(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        await say(app, pilot, "/help web")
        await sees(pilot, "In a browser")
        await pilot.press("escape")
        await say(app, pilot, "/help near tie")
        await wait_until(pilot, lambda: isinstance(app.screen, HelpScreen))
        await sees(pilot, "Sampling", "near ties too")
        assert app.screen.query_one(Input).value == "near tie"


async def test_typing_searches_all_pages(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        await pilot.press("f1", *"ssh")
        await wait_until(pilot, lambda: "SSH tunnel" in shown_page(app))
        burst(app, *"xyz")
        await wait_until(pilot, lambda: "Nothing found." in shown_page(app))
        burst(app, *["backspace"] * 6)
        await wait_until(pilot, lambda: len(app.screen.query_one(PageList).options) == len(NAMES))


async def test_a_term_is_found_where_it_is_defined(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        for term, heading in (("verified", "Lookahead decoding"), ("tok/s", "Colours and metrics")):
            await pilot.press("f1")
            burst(app, *term)
            await wait_until(pilot, lambda heading=heading: shown_page(app).startswith(heading))
            await sees(pilot, term)
            await pilot.press("escape")


async def test_pages_about_a_topic_come_before_those_that_mention_it(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):

        async def listed(topic: str) -> list[str]:
            await say(app, pilot, f"/help {topic}")
            await wait_until(pilot, lambda: isinstance(app.screen, HelpScreen) and app.screen.query("PageList"))
            await wait_until(pilot, lambda: topic in shown_page(app).lower())
            options = app.screen.query_one(PageList).options
            return [str(option.prompt) for option in options]

        themes = await listed("themes")  # a heading of one page, a word of others
        place = themes.index("mentioned in")
        assert themes[:place] == ["Settings"]
        assert "Keys" in themes[place:]
        await wait_until(pilot, lambda: shown_page(app).startswith("Settings"))
        await pilot.press("down")
        await wait_until(pilot, lambda: not shown_page(app).startswith("Settings"))
        await pilot.press("up", "escape")
        assert (await listed("near tie"))[0] == "mentioned in"


async def test_enter_goes_to_the_next_place_and_then_to_the_next_page(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        await pilot.press("f1")
        burst(app, *"seed")
        await wait_until(pilot, lambda: "seed" in shown_page(app))
        first = shown_page(app)
        for _ in range(30):
            if shown_page(app) != first:
                break
            await pilot.press("enter")
            await pilot.pause(0.05)
        assert "seed" in shown_page(app)
        assert shown_page(app) != first


# --- keys in force ------------------------------------------------------------------------------------------------


async def test_other_keys_are_named_wherever_the_usual_ones_were(engine: ScriptedEngine, tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    path.write_text('[keys]\ntoggle_lookahead = "f11,ctrl+y"\nstop = "f12"\nsettings = "ctrl+s"\n')
    preferences = Preferences.of(load(path, {}), {}, None, "verified")
    app = ChatApp(engine, ModelOptions(), DecodingOptions(), store=Store(tmp_path / "data"), preferences=preferences)
    async with driven(app, (80, 24), MODEL, engine) as pilot:
        await sees(pilot, "F11 lookahead on or off")
        await say(app, pilot, "Hello")
        await pilot.press("ctrl+r")
        await wait_until(pilot, lambda: "F12 stops it" in status(app))
        await pilot.press("f1")
        await wait_until(pilot, lambda: "F11" in shown_page(app))
        assert "Ctrl+L" not in shown_page(app)
