"""A conversation remembers with which model it was held, says so where another one answers, and opens it again."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace
from textual.pilot import Pilot
from textual.widgets import Input

from lade_chat.cli.flags.options import SharedOptions
from lade_chat.cli.running.stored_turn import StoredTurn
from lade_chat.errors import DeviceError
from lade_chat.known_models.models_at_hand import remember
from lade_chat.precision_names import dtype_name
from lade_chat.protocol.commands import Load, Reply
from lade_chat.protocol.events import LoadFailed, ReplyFinished
from lade_chat.protocol.values import ModelOptions, Statistics
from lade_chat.store.all_conversations import Store
from lade_chat.store.records import Model
from lade_chat.tui.app.application import ChatApp
from lade_chat.tui.chat.chat_state import Phase
from lade_chat.tui.chat.decisions.navigation import load_model
from lade_chat.tui.conversations.conversation_session import Start
from lade_chat.tui.screens.model_choice import ModelScreen
from tests.gguf_format.kept import small_file
from tests.store.replies import answer
from tests.tui.driving import opened, say, screen_text, sees, sees_no, status, wait_until
from tests.tui.scripted import MODEL, ScriptedEngine
from tests.tui.talking import answered

OTHER = Model("some-model-1B", "maker/some-model-1B", "cpu", "bfloat16")
SAME = Model(MODEL.name, None, "cpu", "float32")
NOTICE = "This conversation was held with some-model-1B"


def kept(folder: Path, model: Model) -> Store:
    store = Store(folder)
    conversation = store.begin()
    conversation.ask("17 + 25?", model)
    answer(conversation, "It is 42.")
    return store


def paths(engine: ScriptedEngine) -> list[str | None]:
    return [command.options.path for command in engine.sent if isinstance(command, Load)]


@pytest.mark.parametrize("loaded", [True, False])
async def test_another_model_than_its_own_is_told_and_its_own_is_one_command_away(
    engine: ScriptedEngine, folder: Path, loaded: bool
) -> None:
    start = Start() if loaded else Start(latest=True)
    async with opened(
        engine, size=(120, 30), store=kept(folder, OTHER), start=start, model=MODEL if loaded else None
    ) as (app, pilot):
        if loaded:
            await say(app, pilot, "/resume 42")
        else:
            await sees(pilot, "It is 42.")
            assert NOTICE not in screen_text(app)
            engine.load()
        await sees(pilot, NOTICE, "tiny-12M answers from here on", "/reopen")
        await say(app, pilot, "/reopen")
        await wait_until(pilot, lambda: len(paths(engine)) == 2)
        assert paths(engine)[-1] == "maker/some-model-1B"


@pytest.mark.parametrize("asked", ["/reopen", "/model maker/another"])
async def test_what_one_model_may_run_another_may_not(
    engine: ScriptedEngine, folder: Path, here: Path, asked: str
) -> None:
    (here / "mine").mkdir()
    trusted = ModelOptions("./mine", trust_remote_code=True, allow_pickle=True, device="cpu")
    async with opened(engine, size=(120, 30), store=kept(folder, OTHER), start=Start(latest=True)) as (app, pilot):
        await sees(pilot, NOTICE)
        app.chat_screen.decide(load_model, trusted)
        for typed, loads in (("/model ./mine", 3), (asked, 4)):
            engine.load()
            await wait_until(pilot, lambda: app.chat_screen.state.phase is Phase.READY)
            await say(app, pilot, typed)
            await wait_until(pilot, lambda loads=loads: len(engine.sent_of(Load)) == loads)  # type: ignore[misc]
        assert engine.sent_of(Load)[-2] == Load(trusted)
        command = engine.sent_of(Load)[-1]
        assert isinstance(command, Load)
        options = command.options
        assert options.path is not None
        assert options.path.startswith("maker/")
        assert (options.trust_remote_code, options.allow_pickle, options.device) == (False, False, "cpu")


async def test_the_notice_holds_nothing_up(engine: ScriptedEngine, folder: Path) -> None:
    async with opened(engine, store=kept(folder, OTHER), start=Start(latest=True)) as (app, pilot):
        await sees(pilot, NOTICE)
        await say(app, pilot, "Why?")
        await wait_until(pilot, lambda: engine.sent_of(Reply))
        await answered(app, pilot, engine)
        await sees_no(pilot, NOTICE)
        await say(app, pilot, "/reopen")
        await wait_until(pilot, lambda: "tiny-12M is loaded already" in status(app))


async def test_who_asks_while_a_model_loads_is_told_that_another_answers(engine: ScriptedEngine, folder: Path) -> None:
    async with opened(engine, store=kept(folder, OTHER), start=Start(latest=True), model=None) as (app, pilot):
        await sees(pilot, "17 + 25?")
        await say(app, pilot, "And 18 + 25?")
        engine.load()
        await sees(pilot, NOTICE)
        await answered(app, pilot, engine)
        await sees(pilot, NOTICE)
        await say(app, pilot, "And 19 + 25?")
        await sees_no(pilot, NOTICE)


async def test_the_notice_goes_once_another_model_is_there_and_stays_if_none_is(
    engine: ScriptedEngine, folder: Path
) -> None:
    async with opened(engine, store=kept(folder, OTHER), start=Start(latest=True)) as (app, pilot):
        await sees(pilot, NOTICE)
        await say(app, pilot, "/model nosuch")
        engine.tell(LoadFailed("There is no such model.", kept=True))
        await sees(pilot, NOTICE, "There is no such model.")
        await say(app, pilot, "/reopen")
        engine.load(replace(MODEL, name=OTHER.name))
        await sees_no(pilot, NOTICE)


async def test_the_context_is_told_as_the_loaded_model_has_counted_it(engine: ScriptedEngine, folder: Path) -> None:
    store = Store(folder)
    conversation = store.begin()
    conversation.ask("17 + 25?", OTHER)
    conversation.finish(ReplyFinished("eos", Statistics(context_used=299, context_window=32768)))
    async with opened(engine, size=(120, 30), store=store, start=Start(latest=True), model=None) as (app, pilot):
        await sees(pilot, "17 + 25?")
        assert "context" not in status(app)
        engine.load()
        await sees(pilot, "ready")
        assert "context" not in status(app)  # its tokens are others
        await say(app, pilot, "/model maker/some-model-1B")
        assert "context" not in status(app)
        engine.load(replace(MODEL, name=OTHER.name, dtype=OTHER.dtype, context_window=4096))
        await sees(pilot, "context 299/4096")


async def test_nothing_is_said_where_its_own_model_answers(engine: ScriptedEngine, folder: Path) -> None:
    async with opened(engine, store=kept(folder, SAME), start=Start(latest=True)) as (app, pilot):
        await sees(pilot, "It is 42.", "ready")
        assert "was held with" not in screen_text(app)


async def test_who_opens_another_model_is_not_told_what_they_know(engine: ScriptedEngine, folder: Path) -> None:
    async with opened(engine, store=kept(folder, SAME), start=Start(latest=True)) as (app, pilot):
        await sees(pilot, "It is 42.")
        await say(app, pilot, "/model maker/some-model-1B")
        engine.load(MODEL.__class__(OTHER.name, "cpu", "bfloat16", 1, 2048, lookahead_supported=True))
        await sees(pilot, "some-model-1B", "ready")
        assert "was held with" not in screen_text(app)


@pytest.mark.parametrize("size", [(80, 24), (60, 18)])
async def test_the_list_shows_which_model_a_conversation_was_held_with(
    engine: ScriptedEngine, folder: Path, size: tuple[int, int]
) -> None:
    kept(folder, SAME)
    async with opened(engine, size=size, store=kept(folder, OTHER)) as (app, pilot):
        await pilot.press("ctrl+t")
        await sees(pilot, "17 + 25?", "some-model-1B  ", MODEL.name)
        assert all(len(line) <= size[0] for line in screen_text(app).splitlines())


def test_two_files_of_one_model_are_told_apart_by_their_precision(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kept(folder, Model(MODEL.name, "elsewhere.gguf", dtype="Q4_1"))
    with StoredTurn(folder, "Why?", None, latest=True) as turn:
        turn.begin(replace(MODEL, dtype="Q2_K"), ModelOptions())
    assert capsys.readouterr().err == "The conversation was held with tiny-12M in Q4_1; tiny-12M in Q2_K answers.\n"


def test_ask_says_so_too(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    kept(folder, OTHER)
    with StoredTurn(folder, "Why?", None, latest=True) as turn:
        turn.begin(MODEL, ModelOptions())
    assert capsys.readouterr().err == "The conversation was held with some-model-1B; tiny-12M answers.\n"


# --- The precision of a model, quantisation included: from the dialog's field, and when a conversation is reopened

INT8 = msgspec.structs.replace(MODEL, dtype="int8")
PEAR = ModelOptions("maker/pear", "cpu", "bfloat16")
PEAR_INT8 = ModelOptions("maker/pear", "cpu", quantize="int8")
Loads = Callable[..., Coroutine[Any, Any, ModelOptions]]


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    """A conversation in int8; the model dialog knows one model, used in bfloat16."""
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setattr("lade_chat.known_models.models_at_hand.in_hub_cache", lambda: ())
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
    assert SharedOptions(dtype="int8").model() == ModelOptions(quantize="int8")


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


async def test_a_conversation_is_reopened_in_the_precision_that_a_file_left_out(
    engine: ScriptedEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    small_file(tmp_path / "pear.gguf", 7)
    async with opened(engine, size=(120, 40), store=kept(tmp_path / "data", Model.of(MODEL, None))) as (app, pilot):
        app.chat_screen.decide(load_model, ModelOptions(dtype="float32"))
        engine.load()
        await say(app, pilot, "/model ./pear.gguf")
        assert await sent(engine, pilot, 2) == ModelOptions("./pear.gguf")
        engine.load(replace(MODEL, name="pear", dtype="Q8_0"))
        await say(app, pilot, "/resume 42")
        await sees(pilot, "was held with tiny-12M; pear answers from here on")
        await say(app, pilot, "/reopen")
        assert await sent(engine, pilot, 3) == ModelOptions(dtype="float32")
