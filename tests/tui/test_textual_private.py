"""The undocumented interfaces of Textual: each test says which one is gone, and what needs it."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import pytest
import textual
import tomlkit
from packaging.requirements import Requirement
from textual.app import App, ComposeResult
from textual.driver import Driver
from textual.drivers.web_driver import WebDriver
from textual.events import Key
from textual.filter import Monochrome, NoColor
from textual.widgets import Markdown
from textual.widgets.markdown import MarkdownBlock, MarkdownFence
from textual.worker import WorkerFailed

import lade_chat.tui
from lade_chat.tui.terminal import textual_private

ROOM = Path(lade_chat.tui.__file__).parent
ROOT = ROOM.parents[1]
MODULE = Path(textual_private.__file__)


def test_the_installed_textual_is_in_the_range_that_the_package_declares() -> None:
    declared = map(Requirement, tomlkit.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"])
    (requirement,) = (each for each in declared if each.name == "textual")
    assert requirement.specifier.contains(textual.__version__)


@pytest.mark.parametrize("path", sorted(ROOM.rglob("*.py")), ids=lambda path: path.stem)
def test_only_one_module_imports_what_textual_does_not_document(path: Path) -> None:
    imports = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ImportFrom)]
    names = [f"{each.module}.{name.name}" for each in imports for name in each.names if each.module]
    private = [name for name in names if name.startswith("textual") and "._" in name]
    assert path == MODULE or not private


class Shown(App[None]):
    """Every widget whose inner parts the screen reads."""

    def compose(self) -> ComposeResult:
        yield Markdown("some *text*\n\n```python\nx = 1\n```")
        yield textual_private.TextCheckbox("code", True)


async def test_widgets_keep_what_they_show_in_the_known_places() -> None:
    app = Shown()
    async with app.run_test() as pilot:
        await pilot.pause()
        assert textual_private.content_of(app.query(MarkdownBlock).first()).plain == "some text", "MarkdownReply"
        assert textual_private.code_of(app.query_one(MarkdownFence)).plain.strip() == "x = 1", "TintedFence"
        assert "[X]" in str(app.query_one(textual_private.TextCheckbox).render()), "TextCheckbox"


def test_drivers_keep_their_application_and_what_writes_for_them() -> None:
    assert {"_app", "_debug"} <= set(inspect.getsource(Driver.__init__).replace("self.", " ").split()), "TerminalDriver"
    assert "self._write" in inspect.getsource(WebDriver), "TabDriver"
    driver = WebDriver.__new__(WebDriver)
    driver._debug = False
    assert not textual_private.is_debugged(driver), "TerminalDriver"
    assert "XTermParser(" in inspect.getsource(WebDriver.run_input_thread), "TabDriver"
    parser = textual_private.XTermParser()
    assert list(parser.feed("\x1b")) == []
    textual_private.end_sequence(parser)
    assert [event.key for event in parser.tick() if isinstance(event, Key)] == ["escape"], "KeyParser"


def test_an_application_has_filters_to_replace() -> None:
    app, without = App[None](), NoColor()
    app._filters.append(Monochrome())
    textual_private.replace_monochrome(app, without)
    assert app._filters[-1] is without, "Colouring"
    assert not any(isinstance(each, Monochrome) for each in app._filters)


@pytest.mark.parametrize("in_worker", [False, True])
async def test_an_unexpected_error_is_told_in_a_line(capsys: pytest.CaptureFixture[str], in_worker: bool) -> None:
    app = App[None]()
    textual_private.fail_in_a_line(app, lambda error: f"error: {error!r}")

    def fail() -> None:
        raise OSError("the disk\nis gone")

    async def run() -> None:
        async with app.run_test() as pilot:
            _ = app.run_worker(fail, thread=True) if in_worker else app.call_later(fail)
            await pilot.pause(0.05)

    with pytest.raises((OSError, WorkerFailed)):
        await run()
    assert app.return_code == 1
    app._print_error_renderables()
    assert capsys.readouterr().err == "error: OSError('the disk\\nis gone')\n", "ChatApp, ExplainApp"


async def test_an_error_while_an_application_ends_is_not_told_and_changes_no_exit_code() -> None:
    """Its parts miss one another, above all where it ends in the middle of its start."""
    app = App[None]()
    textual_private.fail_in_a_line(app, lambda error: f"error: {error!r}")

    def fail() -> None:
        app.exit(return_code=130)
        raise OSError("gone")

    async def run() -> None:
        async with app.run_test() as pilot:
            app.call_later(fail)
            await pilot.pause(0.05)

    with pytest.raises(OSError, match="gone"):
        await run()
    assert app.return_code == 130
    assert not app._exit_renderables
