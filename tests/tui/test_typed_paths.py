"""Paths that somebody types into the chat: whatever stands there, it is a line, and the chat goes on."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest
from textual.widgets import Input

from lade_chat.protocol.commands import Reply
from lade_chat.settings import models
from lade_chat.tui.screens.model_list import ModelList
from tests.tui.driving import opened, say, sees, sees_no, status, wait_until
from tests.tui.scripted import FUNCTION, ScriptedEngine, finished, streamed

NOBODY = "~nobody-of-this-name"


async def test_a_file_of_nobody_cannot_be_attached(engine: ScriptedEngine, here: Path) -> None:
    async with opened(engine, size=(160, 24)) as (app, pilot):
        app.chat_screen.prompt.put(f"Read @{NOBODY}")
        app.chat_screen.read_ahead(f"Read @{NOBODY}")
        await pilot.press("enter")
        await wait_until(pilot, lambda: f"There is no file {NOBODY}" in status(app))
        await say(app, pilot, f"Read @@{NOBODY}")
        await wait_until(pilot, lambda: engine.sent_of(Reply))


@pytest.mark.parametrize(
    ("name", "why"),
    [
        (f"{NOBODY}/x.md", f"there is no folder {NOBODY}"),
        ("a" * 300 + ".md", "too long"),
        ("file/x.md", "Not a directory"),
    ],
)
async def test_a_conversation_cannot_be_saved_anywhere(engine: ScriptedEngine, here: Path, name: str, why: str) -> None:
    (here / "file").write_text("")
    async with opened(engine, size=(200, 24)) as (app, pilot):
        await say(app, pilot, "Go on")
        engine.tell(*streamed(FUNCTION), finished(FUNCTION))
        for suffix in (".md", ".svg"):
            await say(app, pilot, f"/save {name.replace('.md', suffix)}")
            await wait_until(
                pilot,
                lambda: "cannot be written: " in status(app) and why in status(app),
            )
            assert app.chat_screen.prompt.text.startswith("/save ")
            await say(app, pilot, "/lookahead on")  # the line about it goes
        assert [path.name for path in here.iterdir()] == ["file"]


async def test_folders_of_a_typed_path_are_looked_up_beside_the_screen(
    engine: ScriptedEngine, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "folders" / "one").mkdir(parents=True)
    (here / "folders" / "one" / "config.json").write_text(json.dumps({}))
    (here / "folders" / "one" / "model.safetensors").write_text("")
    (here / "folders" / "other").mkdir()
    screen, threads = threading.get_ident(), set[int]()
    real = models.holds_model

    def recorded(folder: Path) -> bool:
        threads.add(threading.get_ident())
        return real(folder)

    monkeypatch.setattr(models, "holds_model", recorded)
    async with opened(engine, size=(100, 30)) as (app, pilot):
        await pilot.press("ctrl+o")
        await wait_until(pilot, lambda: app.screen.query(ModelList))
        field = app.screen.query_one("#path", Input)
        field.value = f"{NOBODY}/"
        await pilot.pause()
        field.value = "./folders/o"
        await sees(pilot, "./folders/one", "./folders/other/")
        field.value = "./folders/ot"
        await sees_no(pilot, "./folders/one")
        await sees(pilot, "./folders/other/")
    assert threads
    assert screen not in threads


def test_few_of_many_folders_are_offered(here: Path) -> None:
    for number in range(models.MAX_COMPLETIONS + 5):
        (here / f"folder-{number:04}").mkdir()
    found = models.completions("./")
    assert len(found) == models.MAX_COMPLETIONS
    assert found[0].path == "./folder-0000"
    assert models.completions(f"{NOBODY}/") == models.completions("/\0/") == ()
