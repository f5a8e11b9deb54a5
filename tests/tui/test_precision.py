"""The precision of a model, quantisation included: from the dialog's field, and when a conversation is reopened."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import msgspec
import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from lade_chat.cli.flags.model import ModelFlags
from lade_chat.errors import DeviceError
from lade_chat.loading.precision import dtype_name
from lade_chat.protocol.commands import Load
from lade_chat.protocol.events import LoadFailed
from lade_chat.protocol.values import ModelOptions
from lade_chat.settings.models import remember
from lade_chat.store.store import Store
from lade_chat.store.values import Model
from lade_chat.tui.app.application import ChatApp
from lade_chat.tui.screens.model import ModelScreen
from tests.tui.driving import opened, say, sees, status, wait_until
from tests.tui.scripted import MODEL, ScriptedEngine
from tests.tui.test_its_model import kept

INT8 = msgspec.structs.replace(MODEL, dtype="int8")
PEAR = ModelOptions("maker/pear", "cpu", "bfloat16")
PEAR_INT8 = ModelOptions("maker/pear", "cpu", quantize="int8")
Loads = Callable[..., Coroutine[Any, Any, ModelOptions]]


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """A conversation in int8; the model dialog knows one model, used in bfloat16."""
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setattr("lade_chat.tui.screens.model_list.in_hub_cache", lambda: ())
    remember(tmp_path / "data", ModelOptions(path="maker/pear", device="cpu", dtype="bfloat16"))
    return kept(tmp_path / "data", Model.of(INT8, None))


def loads_with(engine: ScriptedEngine, app: ChatApp, pilot: Pilot[None]) -> Loads:
    """Open the model dialog unless it is open, press keys and Enter, and return what is to be loaded."""

    async def loads(*keys: str) -> ModelOptions:
        before = len(engine.sent_of(Load))
        if not isinstance(app.screen, ModelScreen):
            await pilot.press("ctrl+o")
        await sees(pilot, "maker/pear", "Begin with this model")
        await pilot.press(*keys, "enter")
        return await sent(engine, pilot, before)

    return loads


async def sent(engine: ScriptedEngine, pilot: Pilot[None], before: int) -> ModelOptions:
    await wait_until(pilot, lambda: len(engine.sent_of(Load)) > before)
    command = engine.sent_of(Load)[-1]
    assert isinstance(command, Load)
    return command.options


async def test_every_field_of_the_dialog_counts(engine: ScriptedEngine, store: Store) -> None:
    async with opened(engine, size=(120, 40), store=store) as (app, pilot):
        loads = loads_with(engine, app, pilot)
        assert await loads("ctrl+u", "down") == PEAR
        engine.tell(LoadFailed("No room.", kept=True))
        in_float32 = msgspec.structs.replace(PEAR, dtype="float32")
        assert await loads("ctrl+u", "down", "tab", "tab", *"float32") == in_float32
        engine.tell(LoadFailed("No room.", kept=True))
        assert await loads("tab", *"cuda", "shift+tab", "down") == msgspec.structs.replace(PEAR, device="cuda")
        with pytest.raises(DeviceError, match="int8") as refused:
            dtype_name("int7")
        engine.tell(LoadFailed(str(refused.value), kept=True))
        await sees(pilot, "Unknown dtype 'int7'", "or int8")
        assert await loads("down", "tab", "tab", *"int8") == PEAR_INT8
        engine.load(INT8)
        await sees(pilot, "cpu · int8", "ready")
        await pilot.press("ctrl+o")
        await wait_until(pilot, lambda: app.screen.query("#dtype"))
        assert app.screen.query_one("#dtype", Input).value == "int8"
        assert await loads() == PEAR_INT8
    assert ModelFlags(dtype="int8").model() == ModelOptions(quantize="int8")


async def test_a_conversation_is_reopened_quantised_as_it_was(engine: ScriptedEngine, store: Store) -> None:
    async with opened(engine, size=(120, 40), store=store) as (app, pilot):
        await say(app, pilot, "/resume 42")
        await sees(pilot, "was held with tiny-12M in int8; tiny-12M answers from here on", "/reopen")
        await say(app, pilot, "/reopen")
        assert await sent(engine, pilot, 1) == ModelOptions(None, "cpu", quantize="int8")
        engine.load(INT8)
        await sees(pilot, "cpu · int8", "ready")
        await say(app, pilot, "/reopen")
        await wait_until(pilot, lambda: "tiny-12M in int8 is loaded already" in status(app))


async def test_a_conversation_is_reopened_unquantised_as_it_was(engine: ScriptedEngine, tmp_path: Path) -> None:
    async with opened(engine, size=(120, 40), store=kept(tmp_path, Model.of(MODEL, None))) as (app, pilot):
        await pilot.press("ctrl+o", "tab", "tab", *"int8", "enter")
        assert await sent(engine, pilot, 1) == ModelOptions(quantize="int8")
        engine.load(INT8)
        await sees(pilot, "cpu · int8", "ready")
        await say(app, pilot, "/resume 42")
        await sees(pilot, "was held with tiny-12M; tiny-12M in int8 answers from here on")
        await say(app, pilot, "/reopen")
        assert await sent(engine, pilot, 2) == ModelOptions()
