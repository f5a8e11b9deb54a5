"""The command line: which flags reach the engine, what is refused and how, and what is never imported."""

from __future__ import annotations

import re
import sys
import types

import msgspec
import pytest

from lade_chat.cli.app import app, main
from lade_chat.errors import LadeChatError
from lade_chat.protocol.commands import Reply
from lade_chat.protocol.values import (
    DecodingOptions,
    Message,
    ModelOptions,
    Sampling,
    Sizes,
)
from tests.engines import ScriptedEngine
from tests.running import pipe_in

MODEL_FLAGS = [
    "--model-path",
    "folder",
    "--device",
    "cpu",
    "--dtype",
    "float32",
    "--trust-remote-code",
    "--allow-pickle",
    "--compile",
    "--lookahead-workers",
    "2",
    "--device-map",
    "auto",
]
DECODING_FLAGS = ["-W", "4", "-N", "3", "-G", "2", "--max-new-tokens", "9", "--no-lookahead", "--raw", "--debug"]


DECODING_FLAGS += ["--sampling", "model", "--temperature", "0.8", "--top-p", "0.9", "--top-k", "40", "--min-p", "0.05"]


DECODING_FLAGS += [
    "--typical-p",
    "0.95",
    "--repetition-penalty",
    "1.1",
    "--seed",
    "7",
    "--stop",
    "END",
    "--stop",
    "\n\n",
]
MODEL = ModelOptions(
    "folder",
    "cpu",
    "float32",
    trust_remote_code=True,
    allow_pickle=True,
    step_cost=False,
    compiled=True,
    lookahead_workers=2,
    device_map="auto",
)
SAMPLING = Sampling(0.8, 0.9, 40, 0.05, 0.95, 1.1, 7, from_model=True)
DECODING = DecodingOptions(False, Sizes(4, 3, 2), 9, raw=True, debug=True, sampling=SAMPLING, stop=("END", "\n\n"))


# --- flags --------------------------------------------------------------------------------------------------------


def test_the_defaults(engine: ScriptedEngine) -> None:
    assert main(["ask", "Hello"]) == 0
    assert engine.loaded == ModelOptions()
    assert engine.asked[0] == Reply((Message("user", "Hello"),), DecodingOptions())
    assert engine.asked[0].options.sizes is None
    assert engine.loaded.step_cost


@pytest.mark.parametrize("command", ["ask", "compare"])
@pytest.mark.parametrize("where", ["behind", "before", "around"])
def test_every_flag_reaches_the_engine_from_either_side(engine: ScriptedEngine, command: str, where: str) -> None:
    # A race has both sides, so that it has no flag for one of them.
    flags = [flag for flag in DECODING_FLAGS if command == "ask" or flag != "--no-lookahead"]
    before = {"behind": [], "before": [*MODEL_FLAGS, *flags], "around": MODEL_FLAGS}[where]
    behind = {"behind": [*MODEL_FLAGS, *flags], "before": [], "around": flags}[where]
    assert main([*before, command, "Hello", *behind]) == 0
    assert engine.loaded == MODEL
    assert engine.asked[0].options == msgspec.structs.replace(DECODING, lookahead=command == "compare")


def test_the_other_spellings(engine: ScriptedEngine) -> None:
    flags = ["--model_path", "x", "--max_new_tokens", "5", "--window_size", "0", "--ngram_size", "2"]
    assert main(["ask", "Hello", *flags, "--guess-set-size", "0", "--system", "Be brief.", "--screen-reader"]) == 0
    assert engine.loaded.path == "x"
    assert engine.asked[0].options == DecodingOptions(True, Sizes(0, 2, 0), 5)
    assert engine.asked[0].messages == (Message("system", "Be brief."), Message("user", "Hello"))


@pytest.mark.parametrize("spelling", ["--tp", "--tensor-parallel", "--tensor_parallel"])
def test_tensor_parallelism_has_a_long_and_a_short_name(engine: ScriptedEngine, spelling: str) -> None:
    assert main(["ask", "Hello", spelling, "2"]) == 0
    assert engine.loaded.tensor_parallel == 2


def test_help_shows_flags_with_dashes_only(capsys: pytest.CaptureFixture[str]) -> None:
    for command in (["-h"], *([name, "-h"] for name in ("ask", "compare", "bench", "tune", "settings", "web"))):
        assert main(command) == 0
    shown = capsys.readouterr().out
    assert "--model-path" in shown
    assert "--screen-reader" in shown
    assert "--tensor-parallel" in shown
    assert not re.findall(r"--[a-z]+_[a-z_]*|--plain", shown)


COMMANDS = [each.name or each.callback.__name__ for each in app.registered_commands]


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_fits_on_80_columns_with_nothing_cut_off(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*command.split(), "--help"]) == 0
    shown = capsys.readouterr().out
    assert [line for line in shown.splitlines() if len(line) > 80] == []
    assert "[[" not in shown
    assert not re.search(r"<str>|<list\[", shown)
    if not command:
        listed = shown.partition("Commands:\n")[2].partition("\n\n")[0].splitlines()
        assert [line.split()[0] for line in listed] == COMMANDS
        assert all(line.endswith(".") and not line.endswith("...") for line in listed)


def test_a_flag_behind_the_command_wins(engine: ScriptedEngine) -> None:
    assert main(["-W", "3", "--no-lookahead", "ask", "Hello", "-W", "4", "--lookahead"]) == 0
    assert engine.asked[0].options.sizes == Sizes(4, 5, 7)
    assert engine.asked[0].options.lookahead


@pytest.mark.parametrize(
    ("value", "arguments", "lookahead"),
    [
        ("0", ["ask", "x"], False),
        ("1", ["ask", "x"], True),
        ("0", ["ask", "x", "--lookahead"], True),
        ("0", ["--lookahead", "ask", "x"], True),
        ("1", ["ask", "x", "--no-lookahead"], False),
    ],
)
def test_use_lade_sets_the_default(
    engine: ScriptedEngine, monkeypatch: pytest.MonkeyPatch, value: str, arguments: list[str], lookahead: bool
) -> None:
    monkeypatch.setenv("USE_LADE", value)
    assert main(arguments) == 0
    assert engine.asked[0].options.lookahead is lookahead


# --- the prompt ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("arguments", [["ask"], ["ask", "-"], ["compare", "-"]])
def test_the_prompt_from_a_pipe(engine: ScriptedEngine, monkeypatch: pytest.MonkeyPatch, arguments: list[str]) -> None:
    pipe_in(monkeypatch, "  zwei\nZeilen é\n".encode())
    assert main(arguments) == 0
    assert engine.asked[0].messages == (Message("user", "  zwei\nZeilen é"),)


def test_raw_text_keeps_its_last_line_break(engine: ScriptedEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    pipe_in(monkeypatch, b"def f(x):\n")
    assert main(["ask", "--raw"]) == 0
    assert engine.asked[0].messages == (Message("user", "def f(x):\n"),)


# --- the chat -----------------------------------------------------------------------------------------------------


def test_the_chat_gets_every_flag_and_its_engine_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[str, object] = {}

    class ChatApp:
        return_code = 0

        def __init__(self, engine: object, *options: object, **more: object) -> None:
            seen.update(engine=engine, options=options, more=more)

        def run(self) -> None:
            raise LadeChatError("the screen is broken")

    module = types.ModuleType("lade_chat.tui.app.application")
    module.ChatApp = ChatApp  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "lade_chat.tui.app.application", module)
    closed: list[bool] = []
    monkeypatch.setattr("lade_chat.engine.process.client.EngineClient.close", lambda _client: closed.append(True))
    monkeypatch.setattr("lade_chat.cli.chat.require_terminal", lambda *_: None)
    flags = [flag for flag in DECODING_FLAGS if flag != "--raw"]  # which goes not with --system
    assert main([*MODEL_FLAGS, *flags, "--system", "Be brief."]) == 1
    assert seen["options"] == (MODEL, msgspec.structs.replace(DECODING, raw=False))
    more = seen["more"]
    assert isinstance(more, dict)
    assert more["system"] == "Be brief."
    assert closed == [True]
