"""The settings screen: what is changed in it counts at once and is kept."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from textual.widgets import Input

from lade_chat.protocol.commands import Reply
from lade_chat.protocol.values import DecodingOptions, Sampling
from lade_chat.settings.catalogue import SETTINGS
from lade_chat.settings.effective import SettingSource, load
from tests.tui.driving import say, screen_text, sees, wait_until
from tests.tui.scripted import ScriptedEngine
from tests.tui.settled import closed, opened_settings, settled


async def test_what_is_changed_is_kept_and_counts_at_once(engine: ScriptedEngine, path: Path) -> None:
    path.write_text("seed = 3 # lucky\n")
    async with settled(engine, path) as (app, pilot):
        screen = await opened_settings(app, pilot)
        for name, text in {"temperature": "0.5", "max_new_tokens": "9", "stop": "END | \\n", "system": "Hm."}.items():
            screen.query_one(f"#{name}", Input).value = text
        await pilot.press("enter")
        await closed(app, pilot)
        await say(app, pilot, "Hello")
        await wait_until(pilot, lambda: engine.sent_of(Reply))
        (reply,) = engine.sent_of(Reply)
        assert isinstance(reply, Reply)
        assert reply.options.sampling == Sampling(temperature=0.5)
        assert (reply.options.max_new_tokens, reply.options.stop) == (9, ("END", "\n"))
        assert reply.messages[0].content == "Hello"  # this conversation had begun
    assert "seed = 3 # lucky" in path.read_text()
    assert load(path, {}).get("system") == "Hm."
    assert load(path, {}).get("stop") == ("END", "\n")


async def test_an_unknown_theme_is_shown_as_it_stands_in_the_file(engine: ScriptedEngine, path: Path) -> None:
    path.write_text('theme = "[/b]"\n')
    async with settled(engine, path) as (app, pilot):
        await opened_settings(app, pilot)
        await sees(pilot, "[/b]")
        await pilot.press("down", "up", "enter")
        await closed(app, pilot)
    assert path.read_text() == 'theme = "[/b]"\n'


async def test_a_wrong_value_is_told_and_nothing_is_kept(engine: ScriptedEngine, path: Path) -> None:
    async with settled(engine, path) as (app, pilot):
        screen = await opened_settings(app, pilot)
        screen.query_one("#seed", Input).value = "3"
        screen.query_one("#top_p", Input).value = "2"
        await pilot.press("enter")
        await sees(pilot, "top_p must be a number above 0, at most 1, not 2")
        assert app.focused is screen.query_one("#top_p")
        await pilot.press("up", "down", "down", "up")
        assert app.focused is screen.query_one("#top_p")
        await pilot.press("up")
        assert app.focused is not screen.query_one("#top_p")
        await pilot.press("escape")
        await closed(app, pilot)
    assert not path.exists()


async def test_an_emptied_field_is_forgotten(engine: ScriptedEngine, path: Path) -> None:
    path.write_text("max_new_tokens = 5\nseed = 1\n")
    async with settled(engine, path, options=DecodingOptions(max_new_tokens=5)) as (app, pilot):
        screen = await opened_settings(app, pilot)
        screen.query_one("#max_new_tokens", Input).value = ""
        await pilot.press("ctrl+s")
        await closed(app, pilot)
        assert app.chat_screen.state.options.max_new_tokens == DecodingOptions().max_new_tokens
    assert path.read_text() == "seed = 1\n"


async def test_a_flag_stays_in_force(engine: ScriptedEngine, path: Path) -> None:
    options = DecodingOptions(max_new_tokens=7)
    async with settled(engine, path, options=options, origins={"max_new_tokens": "flag"}, size=(150, 40)) as (
        app,
        pilot,
    ):
        screen = await opened_settings(app, pilot)
        await sees(pilot, "a flag overrides it now")
        screen.query_one("#max_new_tokens", Input).value = "9"
        await pilot.press("enter")
        await closed(app, pilot)
        assert app.chat_screen.state.options.max_new_tokens == 7
    assert load(path, {}).get("max_new_tokens") == 9


async def test_a_file_that_is_no_toml_is_told_and_left_alone(engine: ScriptedEngine, path: Path) -> None:
    path.write_text("seed = = 1\n")
    async with settled(engine, path) as (app, pilot):
        await sees(pilot, "is not used, because it is not TOML")
        screen = await opened_settings(app, pilot)
        screen.query_one("#seed", Input).value = "3"
        await pilot.press("enter")
        await sees(pilot, "Nothing was saved")
    assert path.read_text() == "seed = = 1\n"


async def test_every_field_can_be_reached(engine: ScriptedEngine, path: Path) -> None:
    async with settled(engine, path, size=(60, 18)) as (app, pilot):
        screen = await opened_settings(app, pilot)
        reached = set()
        for _press in range(20):
            await pilot.press("tab")
            assert app.focused is not None
            await wait_until(pilot, partial(screen.can_view_entire, app.focused))
            reached.add(app.focused.id)
        assert reached >= {"theme", "seed", "debug"}


async def test_every_description_stands_there_whole(engine: ScriptedEngine, path: Path) -> None:
    path.write_text("repetition_penalty = 1.125\nread_ahead = false\n")
    origins: dict[str, SettingSource] = {"read_ahead": "file"}
    async with settled(engine, path, size=(60, 18), origins=origins) as (app, pilot):
        screen = await opened_settings(app, pilot)
        screen.query_one("#repetition_penalty").focus()
        await sees(pilot, "repetition_penalty", "1.12")  # what the file has is never hidden
        assert not screen.query_one("#top_k").region
        screen.query_one("#more").focus()
        await sees(pilot, "Space lists top_k, min_p")
        await pilot.press("space")
        for field in screen.query(".setting Input:enabled, .setting Select:enabled"):
            field.focus()
            await pilot.pause()
            assert field.id is not None
            meaning = SETTINGS[field.id].meaning if field.id != "stop" else "texts before which a reply ends, with |"
            area = screen.query_one(".line").region
            rows = screen_text(app).splitlines()[area.y : area.bottom]
            described = " ".join(" ".join(row[area.x : area.right] for row in rows).split())
            assert meaning[1:] in described
            assert ("Now off, from this file." in described) is (field.id == "read_ahead")
            await wait_until(pilot, lambda: field.region.bottom <= area.y)  # noqa: B023
        screen.query_one("#more").focus()
        await pilot.press("space")
        await wait_until(pilot, lambda: not screen.query_one("#top_k").region)
        assert screen.query_one("#repetition_penalty").region


async def test_values_are_told_in_words_with_their_source(engine: ScriptedEngine, path: Path) -> None:
    path.write_text("read_ahead = false\n")
    sampled = Sampling(temperature=0.7, from_model=True)
    options = DecodingOptions(max_new_tokens=7, sampling=sampled)
    origins: dict[str, SettingSource] = {"max_new_tokens": "flag", "sampling": "flag"}
    async with settled(engine, path, options=options, origins=origins, size=(80, 30)) as (app, pilot):
        await say(app, pilot, "/lookahead off")
        await opened_settings(app, pilot)
        rows = {row.split()[1]: " ".join(row.strip(" │▼").split()[1:]) for row in screen_text(app).splitlines()[4:21]}
        assert rows["read_ahead"] == "off"
        assert rows["max_new_tokens"] == "7 · from a flag"
        assert rows["sampling"] == "as the model says · from a flag"
        assert rows["temperature"] == "0.7 · as the model says"
        assert rows["top_p"] == "as the model says"
        assert rows["lookahead"] == "off · in this chat"
        assert rows["remember"] == "on · by default"
        assert rows["system"] == "none"
        app.screen.query_one("#seed").focus()
        await sees(pilot, "Now drawn anew.")


async def test_a_theme_is_shown_while_the_cursor_is_on_it(engine: ScriptedEngine, path: Path) -> None:
    async with settled(engine, path, theme="lade-dark") as (app, pilot):
        screen = await opened_settings(app, pilot)
        screen.query_one("#theme").focus()
        await pilot.press("enter", "down")
        await wait_until(pilot, lambda: app.theme == "lade-contrast")
        await pilot.press("down", "down")
        await wait_until(pilot, lambda: app.theme == "lade-dark-underlined")
        await pilot.press("escape", "tab")
        await wait_until(pilot, lambda: app.theme == "lade-dark")
        assert app.screen is screen  # Esc has closed the choices alone
        await pilot.press("shift+tab", "enter", "down")
        await wait_until(pilot, lambda: app.theme != "lade-dark")
        await pilot.press("enter", "escape")
        await closed(app, pilot)
        assert app.theme == "lade-dark"
    assert not path.exists()
