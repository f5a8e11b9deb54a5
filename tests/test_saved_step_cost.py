"""What a step costs is measured once, kept on disk, and never trusted where it was broken or is of something else."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest

from lade_chat.loading.findings_cache import MAX_ENTRIES, lookahead_support
from lade_chat.loading.model_loader import LoadedModel
from lade_chat.loading.saved_step_cost import check_step_cost, keep_step_cost, save_step_cost, step_cost
from lade_chat.protocol.values import ModelInfo
from tests.models import random_model


class Cost:
    """Stands for the measured curve: a number, and how often it was measured."""

    measured = 0
    is_rough = False

    def __init__(self, level: float) -> None:
        self.level = level

    @classmethod
    def measure(cls, model: object, *, compiled: bool = False) -> Cost:
        Cost.measured += 1
        return cls(1.0)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Cost:
        if not isinstance(values.get("level"), float):
            raise ValueError("no level")
        return cls(values["level"])

    def as_dict(self) -> dict[str, float]:
        return {"level": self.level}


@pytest.fixture(autouse=True)
def file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Where the figures are kept in this test; the folder is not there yet."""
    path = tmp_path / "cache" / "step-costs.json"
    monkeypatch.setattr("platformdirs.user_cache_path", lambda *_, **__: path.parent)
    monkeypatch.setattr("decoding.StepCost", Cost)
    monkeypatch.setattr("decoding.measure_step_cost", Cost.measure)
    monkeypatch.setattr("decoding.still_holds", lambda _model, _cost, *, compiled: True)
    monkeypatch.setattr(Cost, "measured", 0)
    return path


@pytest.fixture(scope="module")
def loaded() -> LoadedModel:
    info = ModelInfo("random", "cpu", "float64", 1, 512, lookahead_supported=True)
    return LoadedModel(random_model("llama"), None, info, ())


def test_it_is_measured_once(loaded: LoadedModel, file: Path) -> None:
    assert keep_step_cost(loaded) is step_cost(loaded)
    assert keep_step_cost(loaded) is step_cost(loaded) is not None
    assert Cost.measured == 1
    assert [path.name for path in file.parent.iterdir()] == [file.name]


def test_one_that_holds_no_longer_is_measured_anew_when_it_is_checked(
    loaded: LoadedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep_step_cost(loaded).level = 2.5  # type: ignore[union-attr]
    save_step_cost(loaded)
    check_step_cost(loaded)
    assert Cost.measured == 1
    monkeypatch.setattr("decoding.still_holds", lambda _model, cost, *, compiled: cost.level != 2.5)
    check_step_cost(loaded)
    assert step_cost(loaded).as_dict() == {"level": 1.0}  # type: ignore[union-attr]
    assert keep_step_cost(loaded).as_dict() == {"level": 1.0}  # type: ignore[union-attr]
    assert Cost.measured == 2


def test_what_live_steps_have_taught_is_found_at_the_next_start(loaded: LoadedModel) -> None:
    cost = keep_step_cost(loaded)
    cost.level = 2.5  # type: ignore[union-attr]
    save_step_cost(loaded)
    assert keep_step_cost(loaded).as_dict() == {"level": 2.5}  # type: ignore[union-attr]
    assert Cost.measured == 1


@pytest.mark.parametrize("changed", ["shape", "dtype", "compiled", "threads"])
def test_another_model_dtype_way_to_run_or_thread_count_is_measured_anew(
    loaded: LoadedModel, changed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep_step_cost(loaded)
    if changed == "shape":
        other = replace(loaded, model=random_model("gpt2"))
    elif changed == "dtype":
        other = replace(loaded, info=ModelInfo("random", "cpu", "float32", 1, 512, lookahead_supported=True))
    elif changed == "compiled":
        other = replace(loaded, info=msgspec.structs.replace(loaded.info, compiled=True))
    else:
        other = loaded
        monkeypatch.setattr("torch.get_num_threads", lambda: 99)
    keep_step_cost(other)
    assert Cost.measured == 2


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '"x"', "[" * 100_000, b"\xff\xfe"])
def test_a_broken_file_is_written_anew(loaded: LoadedModel, file: Path, text: str | bytes) -> None:
    file.parent.mkdir()
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    keep_step_cost(loaded)
    keep_step_cost(loaded)
    assert Cost.measured == 1


@pytest.mark.parametrize("entry", [None, 3, [], {}, {"level": "high"}])
def test_a_broken_entry_is_measured_anew(loaded: LoadedModel, file: Path, entry: object) -> None:
    keep_step_cost(loaded)
    (key,) = json.loads(file.read_text())
    file.write_text(json.dumps({key: entry, "another": {"level": 7.0}}))
    assert keep_step_cost(loaded).as_dict() == {"level": 1.0}  # type: ignore[union-attr]
    assert json.loads(file.read_text()) == {"another": {"level": 7.0}, key: {"level": 1.0}}


def test_only_the_last_entries_are_kept(loaded: LoadedModel, file: Path) -> None:
    file.parent.mkdir()
    file.write_text(json.dumps({f"old {number}": {"level": 1.0} for number in range(MAX_ENTRIES)}))
    keep_step_cost(loaded)
    entries = list(json.loads(file.read_text()))
    assert len(entries) == MAX_ENTRIES
    assert entries[0] == "old 1"


def test_where_nothing_can_be_written_it_is_measured_every_time(loaded: LoadedModel, file: Path) -> None:
    file.parent.write_text("a file where the folder should be")
    keep_step_cost(loaded)
    keep_step_cost(loaded)
    assert Cost.measured == 2


def test_a_failed_write_leaves_no_draft(loaded: LoadedModel, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_paths: object) -> None:
        raise PermissionError

    monkeypatch.setattr("os.replace", refuse)
    keep_step_cost(loaded)
    assert list(file.parent.iterdir()) == []


def test_masks_are_checked_once_for_an_architecture(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    forwards: list[object] = []
    for expected in (True, False):
        model = random_model("llama")
        model.register_forward_hook(lambda *_: forwards.append(1))
        forwards.clear()
        assert lookahead_support(model) == (True, None)
        assert bool(forwards) is expected
    forwards.clear()
    assert lookahead_support(random_model("llama").float()) == (True, None)
    assert len(json.loads(file.with_stem("mask-checks").read_text())) == 2
    assert lookahead_support(random_model("bloom"))[0] is False
    assert len(json.loads(file.with_stem("mask-checks").read_text())) == 2
