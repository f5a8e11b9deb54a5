"""Fixtures for the tests of the screen: a scripted engine, folders, and a screen that renders alike everywhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from textual._compositor import Compositor
from textual._context import visible_screen_stack
from textual.cache import LRUCache
from textual.css.model import RuleSet
from textual.css.stylesheet import Stylesheet

from tests.tui.driving import MEMORY
from tests.tui.quick_clock import QuickLoop, now
from tests.tui.scripted import ScriptedEngine


@pytest.fixture
def engine() -> ScriptedEngine:
    return ScriptedEngine()


@pytest.fixture
def folder() -> Iterator[Path]:
    """The folder of the conversations, empty."""
    with TemporaryDirectory(dir=MEMORY) as name:
        yield Path(name)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working folder, empty."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """The settings file, which is not there yet."""
    return tmp_path / "settings.toml"


@pytest.fixture(autouse=True)
def _steady(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "TEXTUAL_THEME", "COLORFGBG", "TEXTUAL_FILTERS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("textual.constants.COLOR_SYSTEM", "truecolor")


def pytest_asyncio_loop_factories() -> dict[str, type[QuickLoop]]:
    return {"quick": QuickLoop}


@pytest.fixture(autouse=True)
def _one_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """The event loop's, which does not wait, also for Textual's timers and for what the chat times: else half of the
    time of these tests are waits. Not for the whole session: on other loops it would stand still."""
    monkeypatch.setattr("textual._time.get_time", now)
    for module in ("chat.loop", "chat.chat_screen", "demo.demo_app", "demo.script"):
        monkeypatch.setattr(f"lade_chat.tui.{module}.monotonic", now)


@pytest.fixture(autouse=True, scope="session")
def _nothing_is_drawn_for_nobody() -> Iterator[None]:
    """Draw a screen when a test reads it, and as it ends, not at every change for a terminal that is not there.

    Where a Textual draws elsewhere, this changes nothing.
    """
    draw = Compositor.render_update

    def draw_whole(
        compositor: Compositor, full: bool = False, screen_stack: list[Any] | None = None, **options: Any
    ) -> object:
        if full:
            return draw(compositor, full=True, screen_stack=screen_stack, **options)
        visible_screen_stack.set(screen_stack or [])
        compositor._dirty_regions.clear()
        return None

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Compositor, "render_update", draw_whole)
        yield


@pytest.fixture(autouse=True, scope="session")
def _style_sheets_are_parsed_once() -> Iterator[None]:
    """And not by every application: a fifth of the time that one takes to start. Rules are told apart by their identity
    in C, as they are in Python: all of them are looked up for every widget.

    Where a Textual keeps what it has parsed elsewhere, this changes nothing.
    """
    kept: dict[frozenset[tuple[str, str]], LRUCache[Any, Any]] = {}
    begin, set_variables = Stylesheet.__init__, Stylesheet.set_variables

    def keep(sheet: Stylesheet, variables: dict[str, str]) -> None:
        sheet._parse_cache = kept.setdefault(frozenset(variables.items()), LRUCache(512))

    def begin_with_kept(sheet: Stylesheet, *, variables: dict[str, str] | None = None) -> None:
        begin(sheet, variables=variables)
        keep(sheet, variables or {})

    def change_to_kept(sheet: Stylesheet, variables: dict[str, str]) -> None:
        sheet._parse_cache = LRUCache(1)  # this one is cleared
        set_variables(sheet, variables)
        keep(sheet, variables)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RuleSet, "__hash__", object.__hash__)
        patch.setattr(Stylesheet, "__init__", begin_with_kept)
        patch.setattr(Stylesheet, "set_variables", change_to_kept)
        yield
