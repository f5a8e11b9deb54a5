"""The colours of tokens: two views, their legends, and marks where colours do not tell."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import get_args

import pytest
from textual.pilot import Pilot
from textual.style import Style
from textual.widgets import Static

from lade_chat.protocol.events import ReplyStarted, Tokens
from lade_chat.protocol.inspection import TokenSource
from lade_chat.protocol.values import DecodingOptions, ModelOptions, Piece
from lade_chat.settings.effective import Preferences, load
from lade_chat.store.all_conversations import Store
from lade_chat.tui.app.application import ChatApp
from lade_chat.tui.reply.markdown_reply import TintedFence
from lade_chat.tui.reply.tinted_text import TextChunk
from lade_chat.tui.theme.themes import MARKED, default_theme
from tests.pairs import LONG
from tests.tui.driving import MEMORY, driven, opened, say, screen_text, sees, sees_no, wait_until
from tests.tui.scripted import MODEL, ScriptedEngine, finished, statistics

ORIGINS: tuple[TokenSource, ...] = get_args(TokenSource)
SCRIPT = (("plain ", "trajectory ", "context ", "successor "),)


async def shown(app: ChatApp, pilot: Pilot[None], engine: ScriptedEngine) -> None:
    """A reply with a token of every origin, each called by it."""
    await say(app, pilot, "Hello")
    pieces = tuple(Piece(f"{origin} ", origin, 1, 0) for origin in ORIGINS)
    engine.tell(ReplyStarted(3), Tokens(pieces, statistics(SCRIPT)), finished(SCRIPT))
    await sees(pilot, " ".join(ORIGINS), "ready")


def looks(app: ChatApp) -> dict[str, Style]:
    """How the token of each origin is drawn now; without what all text has."""
    chunk = app.screen.query_one(TextChunk)
    strip = next(line for line in chunk.render_lines(chunk.size.region) if "plain" in line.text)
    found = {}
    for segment in strip:
        for word in segment.text.split():
            style = segment.style
            assert style is not None
            found[word] = Style.from_rich_style(style)
    assert set(found) == set(ORIGINS)
    return found


def kinds(app: ChatApp) -> int:
    """How many looks there are."""
    return len({(style.background, style.underline, style.italic, style.bold) for style in looks(app).values()})


async def test_one_key_shows_the_sources_and_one_more_press_hides_them(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        await shown(app, pilot, engine)
        await sees(pilot, " verified  plain ")
        assert kinds(app) == 2
        await pilot.press("ctrl+b")
        await sees(pilot, " trajectory   context   successor  plain ")
        await wait_until(pilot, lambda: kinds(app) == 4)
        await say(app, pilot, "/colours")
        await sees_no(pilot, " context   successor ")
        await wait_until(pilot, lambda: kinds(app) == 2)


@pytest.mark.parametrize("case", ["ansi-dark", "no colours", "sixteen colours"])
async def test_without_colours_or_with_few_lines_and_letters_tell_the_sources(
    engine: ScriptedEngine, case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if case == "no colours":
        monkeypatch.setenv("NO_COLOR", "1")
    elif case == "sixteen colours":
        monkeypatch.setattr("textual.constants.COLOR_SYSTEM", "standard")
    async with opened(engine) as (app, pilot):
        if case == "ansi-dark":
            app.theme = case
        await shown(app, pilot, engine)
        before = looks(app)
        assert not before["plain"].underline
        assert all(before[origin].underline for origin in ORIGINS if origin != "plain")
        await pilot.press("ctrl+b")
        await sees(pilot, " trajectory   context ")
        after = looks(app)
        marks = {(style.underline, style.italic, style.bold) for style in after.values()}
        assert len(marks) == 4
        assert len({style.background for style in after.values()}) == 1


@pytest.mark.parametrize("theme", sorted(MARKED))
async def test_themes_for_whom_colours_are_alike_mark_the_sources_too(engine: ScriptedEngine, theme: str) -> None:
    async with opened(engine) as (app, pilot):
        app.theme = theme
        app.colours = "sources"
        await shown(app, pilot, engine)
        styles = looks(app)
        assert len({(style.underline, style.italic, style.bold) for style in styles.values()}) == 4
        assert len({style.background for style in styles.values()}) == 4


async def test_sources_are_told_apart_in_every_theme_and_text_stays_readable(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        app.colours = "sources"
        await shown(app, pilot, engine)
        themes = sorted(set(app.available_themes) - {"ansi-dark", "ansi-light", "textual-ansi"})
        for theme in themes if LONG else [name for name in themes if name.startswith("lade-")] + themes[::3]:
            app.theme = theme
            await pilot.pause()
            styles = looks(app)
            plain = styles["plain"]
            own = contrast(plain)
            for origin in ORIGINS[1:]:
                assert contrast(styles[origin]) >= min(4.5, 0.55 * own), (theme, origin)
            for one, another in combinations(ORIGINS, 2):
                assert distance(styles[one], styles[another]) > 20, (theme, one, another)


def contrast(style: Style) -> float:
    """Of a text on its ground, as WCAG has it."""
    assert style.foreground is not None
    assert style.background is not None
    light, dark = sorted((luminance(each.rgb) for each in (style.foreground, style.background)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def luminance(rgb: tuple[int, int, int]) -> float:
    linear = [each / 255 / 12.92 if each <= 10 else ((each / 255 + 0.055) / 1.055) ** 2.4 for each in rgb]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def distance(one: Style, another: Style) -> float:
    """Between two grounds, in steps of 255."""
    assert one.background is not None
    assert another.background is not None
    return sum(abs(a - b) for a, b in zip(one.background.rgb, another.background.rgb, strict=True))


async def test_the_view_is_kept_and_comes_back(engine: ScriptedEngine, tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"

    def preferences() -> Preferences:
        return Preferences.of(load(path, {}), {}, None)

    with TemporaryDirectory(dir=MEMORY) as folder:
        for expected, engine_of_it in (("verified", engine), ("sources", ScriptedEngine())):
            app = ChatApp(
                engine_of_it, ModelOptions(), DecodingOptions(), store=Store(Path(folder)), preferences=preferences()
            )
            async with driven(app, (80, 24), MODEL, engine_of_it) as pilot:
                assert app.colours == expected
                if expected == "verified":
                    await pilot.press("ctrl+b")
                    await sees(pilot, " context ")
                else:
                    assert " context " in screen_text(app)
    assert 'colours = "sources"' in path.read_text()


async def test_a_race_has_the_legend_on_the_side_that_can_show_it(engine: ScriptedEngine) -> None:
    async with opened(engine) as (app, pilot):
        app.chat_screen.prompt.put("Hello")
        await pilot.press("ctrl+r")
        await sees(pilot, "longer than the clocks", " verified  plain ")
        assert screen_text(app).count(" verified  plain ") == 1
        await pilot.press("ctrl+b")
        await wait_until(pilot, lambda: screen_text(app).count(" trajectory   context   successor  plain ") == 1)


@pytest.mark.parametrize(
    ("ground", "theme"),
    [
        ("15;0", "lade-dark"),
        ("0;15", "lade-light"),
        ("0;default;7", "lade-light"),
        ("7;8", "lade-dark"),
        ("", "lade-dark"),
    ],
)
def test_the_theme_is_as_light_as_the_terminal(ground: str, theme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLORFGBG", ground)
    assert default_theme() == theme


async def test_without_a_choice_the_chat_is_as_light_as_the_terminal(
    engine: ScriptedEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLORFGBG", "0;15")
    async with opened(engine) as (app, _pilot):
        assert app.theme == "lade-light"
        assert "theme" not in app.preferences.file_values


async def test_a_theme_that_is_chosen_for_all_of_textual_is_the_chats_too(
    engine: ScriptedEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TEXTUAL_THEME", "nord")
    async with opened(engine) as (app, _pilot):
        assert app.theme == "nord"


async def test_code_has_no_lines_and_letters_of_its_own_where_they_mark_tokens(
    engine: ScriptedEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    code = '```python\ndef double(x):\n    """Twice."""\n    return x + x\n```\n'
    async with opened(engine) as (app, pilot):
        await say(app, pilot, "Hello")
        engine.tell(ReplyStarted(3), Tokens((Piece(code, "plain", 1, 0),), statistics(SCRIPT)), finished(SCRIPT))
        await sees(pilot, "def double(x):", "ready")
        await wait_until(pilot, lambda: app.screen.query(TintedFence))
        fence = app.screen.query_one(TintedFence).query_one(Static)
        await wait_until(pilot, lambda: "double" in str(fence.content) and fence.size)
        styles = [segment.style for line in fence.render_lines(fence.size.region) for segment in line if segment.style]
        assert styles
        assert not any(style.underline or style.italic or style.bold for style in styles)
