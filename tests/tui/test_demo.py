"""The demo: it plays to its end on the real screen, any key ends it, and a recording holds all that was seen."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from PIL import Image
from rich.cells import cell_len

from lade_chat.cli.app import main
from lade_chat.export.picture import write_film
from lade_chat.protocol.commands import Command, Compare, Explain, Load, Reply, Resume, SetLookahead, StepOnce
from lade_chat.protocol.events import ComparisonFinished, Event, Loaded, LoadFailed, ReplyStarted, Tokens
from lade_chat.protocol.values import ModelOptions
from lade_chat.store.all_conversations import Store
from lade_chat.tui.demo import script
from lade_chat.tui.demo.demo_app import DemoApp, Recorder
from tests.tui.explained import raced_walks
from tests.tui.scripted import FUNCTION, INSPECTED_STEP, MODEL, ScriptedEngine, finished, pieces, statistics, streamed

SIZE = (80, 24)


def replies() -> Callable[[Command], Iterable[Event]]:
    """A model that does whatever is asked of it at once, and a paused reply step by step."""
    steps = 0

    def answer(command: Command) -> Iterable[Event]:
        nonlocal steps
        match command:
            case Load():
                return [Loaded(MODEL)]
            case Reply(paused=True):
                steps = 0
                return [ReplyStarted(23)]
            case Reply():
                return [*streamed(FUNCTION), finished(FUNCTION)]
            case StepOnce():
                steps += 1
                batch = pieces(FUNCTION[steps - 1 : steps], steps - 1)
                return [Tokens(batch, statistics(FUNCTION[:steps]), inspection=INSPECTED_STEP)]
            case Resume():
                return [finished(FUNCTION[:steps])]
            case Compare():
                ends = [finished(FUNCTION, side=side) for side in ("left", "right")]
                return [*streamed(FUNCTION), *streamed(FUNCTION, side="right"), *ends, ComparisonFinished(2.0, True)]
            case Explain():
                return raced_walks()
        return []

    return answer


async def test_it_plays_to_its_end_and_all_of_it_can_be_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(script, "BUNDLED", script.Prompts(("A", "B\nC", "D"), "E", "F\nF", "G"))  # typed sooner
    monkeypatch.setattr("textual.constants.COLOR_SYSTEM", "standard")  # a recording has all colours nevertheless
    engine, recorder = ScriptedEngine(replies()), Recorder(*SIZE)
    app = DemoApp(engine, ModelOptions(), Store(tmp_path), recorder=recorder, tempo=0)
    await app.run_async(headless=True, size=SIZE)
    assert not app.trouble
    replies_wanted = engine.sent_of(Reply)
    assert [command.paused for command in replies_wanted] == [False, False, False, True, True]
    assert [command.messages[-1].content for command in replies_wanted] == ["A", "B\nC", "D", "E", "G"]
    assert engine.sent_of(SetLookahead) == [SetLookahead(False), SetLookahead(True)]
    (raced,), (explained,) = engine.sent_of(Compare), engine.sent_of(Explain)
    assert explained == Explain(raced.messages, raced=True)
    frames = recorder.film.frames
    assert [frame.seconds for frame in frames] == sorted(frame.seconds for frame in frames)
    rows = ["".join(run.text for run in row) for frame in frames for row in frame.rows.values()]
    assert {cell_len(row) for row in rows} == {SIZE[0]}
    assert any("That is all." in row for row in rows)
    runs = [run for frame in frames for row in frame.rows.values() for run in row]
    legends = [run.style for run in runs if run.text == " verified "]
    assert legends
    assert all(style is not None and style.bgcolor and not style.underline for style in legends)
    write_film(tmp_path / "demo.gif", recorder.film)
    with Image.open(tmp_path / "demo.gif") as picture:
        assert picture.n_frames > 1
        assert picture.width % SIZE[0] == 0


def test_prompts_of_everyday_work_are_for_all_models_but_the_bundled_one() -> None:
    assert script.prompts_for(ModelOptions()) is script.BUNDLED
    assert script.prompts_for(ModelOptions(path="model.gguf")) is script.INSTRUCT


async def test_any_key_ends_it_and_is_typed_nowhere(tmp_path: Path) -> None:
    app = DemoApp(ScriptedEngine(replies()), ModelOptions(), Store(tmp_path))
    async with app.run_test(size=SIZE) as pilot:
        await pilot.press("x")
        assert not app.is_running
        assert app.chat_screen.prompt.text == ""
    assert (app.return_code, app.trouble) == (0, "")


async def test_a_model_that_cannot_be_loaded_ends_it_with_the_reason(tmp_path: Path) -> None:
    engine = ScriptedEngine(lambda command: [LoadFailed("no such model")] if isinstance(command, Load) else [])
    app = DemoApp(engine, ModelOptions(), Store(tmp_path), tempo=0)
    await app.run_async(headless=True, size=SIZE)
    assert app.trouble == "no such model"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((), "error: demo needs a terminal; lade-chat demo --record demo.gif writes a file"),
        (
            ("--size", "40x10", "--record", "x.gif"),
            "error: --size is columns x rows, from 60x18 to 999x999, and 40x10 is not",
        ),
        (
            ("--size", "1000x1000", "--record", "x.gif"),
            "error: --size is columns x rows, from 60x18 to 999x999, and 1000x1000 is not",
        ),
        (("--size", "80x24"), "error: --size is for --record; otherwise the demo has the size of the terminal"),
        (("--record", "x.txt"), "error: A film is written as .gif, not as x.txt."),
        (("--record", "none/x.gif"), "error: none/x.gif cannot be written: there is no folder none."),
    ],
)
def test_what_cannot_be_done_is_one_line(
    arguments: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["demo", *arguments]) > 0
    assert capsys.readouterr().err.removesuffix(" (see lade-chat demo --help)\n").strip() == said
