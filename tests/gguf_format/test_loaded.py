"""A GGUF file is loaded as any model is: named, told about, recognised by its weights, and refused in a line."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lade_chat.cli.app import main
from lade_chat.engine.chat_engine import ChatEngine
from lade_chat.engine.job import Job
from lade_chat.errors import DeviceError, OutOfMemoryError
from lade_chat.known_models.models_at_hand import recent
from lade_chat.protocol.commands import Load, Remember
from lade_chat.protocol.events import Loaded
from lade_chat.protocol.values import EarlierReply, ModelOptions
from tests.gguf_format.files import write
from tests.gguf_format.kept import pull
from tests.gguf_format.models import small_model, vocabulary, write_model
from tests.loads import load, load_with_reports, refusal

Q4_1 = {"general.file_type": 3}


@pytest.fixture
def file(home: Path) -> Path:
    """A small Llama in Q4_1."""
    return write_model(home / "work" / "small.Q4_1.gguf", "llama", small_model("llama"), kind="Q4_1", more=Q4_1)


def test_a_loaded_file_is_named_with_its_quantisation_and_its_types(file: Path) -> None:
    loaded, reports = load_with_reports(file)
    info = loaded.info
    assert (info.name, info.device, info.dtype, info.context_window) == ("small", "cpu", "Q4_1", 128)
    assert dict(info.tensor_types) == {"Q4_1": 30, "F32": 9}
    assert info.notices == ()
    assert info.lookahead_supported
    assert info.parameters == small_model("llama").num_parameters()
    bar = [(done, total) for stage, done, total in reports if stage == "weights"]
    assert bar == sorted(bar)
    assert bar[-1][0] == bar[-1][1] == 39


def test_a_model_is_named_as_the_program_that_keeps_it_names_it(file: Path, home: Path) -> None:
    pull(home / ".ollama" / "models", "registry.ollama.ai/library/small/1b", file)
    assert load("ollama:small:1b").info.name == "small:1b"
    snapshot = home / "hub" / "models--org--small-GGUF" / "snapshots" / ("0" * 40)
    snapshot.mkdir(parents=True)
    shutil.copy(file, snapshot / "small-Q4_1.gguf")
    assert load("org/small-GGUF:Q4_1").info.name == "org/small-GGUF"


def test_the_same_weights_are_recognised_wherever_they_lie(file: Path, home: Path) -> None:
    copy = shutil.copy(file, home / "other-name.gguf")
    other = write_model(home / "other.gguf", "llama", small_model("llama"), kind="Q8_0")
    marks = [_loaded_by_engine(path).fingerprint for path in (file, copy, other)]
    assert marks[0] == marks[1] != marks[2]
    assert all(len(mark) == 32 for mark in marks)


def _loaded_by_engine(path: str | Path) -> Any:
    (event,) = [each for each in ChatEngine().handle(Job(Load(ModelOptions(str(path))))) if isinstance(each, Loaded)]
    return event.model


def test_a_file_without_a_template_is_told_of(home: Path) -> None:
    more = {**Q4_1, "tokenizer.chat_template": None}
    file = write_model(home / "bare.gguf", "qwen2", small_model("qwen2"), kind="Q4_1", more=more)
    (notice,) = load(file).info.notices
    assert notice.startswith("The model has no chat template: the roles are written as plain text")


PRECISION = "--dtype and --quantize away, or say --dtype auto if a setting has one (in the chat, leave Precision empty)"
"""int8 is asked for by either, or by the setting dtype."""


@pytest.mark.parametrize(
    ("options", "flag"),
    [
        ({"dtype": "bfloat16"}, PRECISION),
        ({"quantize": "int8"}, PRECISION),
        ({"compiled": True}, "--compile away"),
        ({"device_map": "auto"}, "--device-map away"),
        ({"tensor_parallel": 2}, "--tensor-parallel away"),
    ],
)
def test_options_that_would_change_the_weights_are_refused(file: Path, options: dict[str, Any], flag: str) -> None:
    told = refusal(file, DeviceError, **options)
    assert told == f"{file} is a GGUF file, whose weights stay as they are: leave {flag}."


def test_packed_weights_go_nowhere_but_to_the_processor(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr("torch.cuda.device_count", lambda: 1)
    assert "multiplied on a CPU, not on cuda: leave --device away" in refusal(file, DeviceError, device="cuda")
    assert load(file).info.device == "cpu"
    assert load(file, dtype="auto", device="cpu").info.dtype == "Q4_1"


def test_what_unpacking_takes_is_told_before_it_is_taken(
    home: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    tensors = {"token_embd.weight": np.zeros((300, 512), np.float32)}
    # Sizes that are not the embedding's, and small: without any, a model of nine thousand million weights is built.
    heads = {"attention.head_count": 4, "attention.head_count_kv": 4}
    sizes = {"block_count": 1, "embedding_length": 64, "feed_forward_length": 64, **heads}
    metadata = {**vocabulary(), **{f"nemotron.{key}": value for key, value in sizes.items()}}
    file = write(home / "other.gguf", metadata, tensors, "nemotron")
    reports: list[Any] = []
    with pytest.raises(Exception, match="its tensors have other sizes"):
        _load_reporting(file, reports)
    stages = [stage for stage, *_ in reports]
    assert reports[stages.index("unpacking")] == ("unpacking", 0, 300 * 512 * 2)
    assert "weights" not in stages[: stages.index("unpacking")]
    assert capfd.readouterr().err == ""
    monkeypatch.setattr("lade_chat.loading.gguf_model.memory_bytes", lambda: 100_000)
    told = refusal(file, OutOfMemoryError)
    assert "its weights take 307.2 kB of memory in bfloat16, the file 62" in told.replace("61", "62")
    assert told.endswith("there are 100.0 kB.")


def _load_reporting(file: Path, reports: list[Any]) -> None:
    from lade_chat.loading.model_loader import load

    load(ModelOptions(str(file)), lambda *report: reports.append(report))


def test_an_architecture_that_nothing_reads_is_refused_by_its_name(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(home / "work" / "other.gguf", vocabulary(), {"w": np.ones((2, 2), np.float32)}, "rwkv7")
    assert main(["ask", "-m", "other.gguf", "Hi", "--no-save"]) == 1
    assert capsys.readouterr().err.splitlines()[-1].endswith("its architecture 'rwkv7' is not supported.")


def test_ask_answers_with_lookahead_as_without_and_names_the_types(
    file: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answers = []
    for lookahead in ("--lookahead", "--no-lookahead"):
        arguments = ["ask", "-m", "small.Q4_1.gguf", "1 2 3", "--json", "--max-new-tokens", "24", lookahead]
        assert main(arguments) == 0
        answers.append(json.loads(capsys.readouterr().out))
    assert answers[0]["text"] == answers[1]["text"]
    assert (answers[0]["model"], answers[0]["dtype"]) == ("small", "Q4_1")
    assert answers[0]["tensor_types"] == {"Q4_1": 30, "F32": 9}
    assert [each.path for each in recent(home / "data")] == [str(file)]


def test_replies_of_the_same_weights_are_remembered_from_another_place(file: Path, home: Path) -> None:
    engine, fingerprint = ChatEngine(), _loaded_by_engine(shutil.copy(file, home / "copy.gguf")).fingerprint
    list(engine.handle(Job(Load(ModelOptions(str(file))))))
    list(engine.handle(Job(Remember(fingerprint, (EarlierReply("1 2 3", (5, 6, 7, 8)),)))))
    assert [reply.question for reply in engine._earlier] == ["1 2 3"]


@pytest.mark.parametrize("path", ["./pear.gguf", "ollama:pear:1b", "ollama:org/pear", "org/pear-GGUF:Q4_K_M"])
def test_the_precision_of_the_model_before_is_not_asked_of_a_file(path: str) -> None:
    for options in (ModelOptions("org/apple", dtype="bfloat16"), ModelOptions("org/apple", quantize="int8")):
        assert options.at(path) == ModelOptions(path)
        assert options.at("org/pear").precision == options.precision
