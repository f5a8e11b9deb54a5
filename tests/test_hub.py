"""A Hub id is downloaded once, with a bar in bytes; what cannot be had is told in one line, soon."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import huggingface_hub
import pytest
from checkpoints import make_bert, make_pickled, make_qwen2, make_sharded
from hub_server import Hub, running_hub
from loads import load_with_reports, refusal


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """A hub of our own, and an empty cache."""
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
    with running_hub() as server:
        _point_at(server.url, monkeypatch)
        yield server


def _point_at(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(huggingface_hub.constants, "ENDPOINT", url)
    template = url + "/{repo_id}/resolve/{revision}/{filename}"
    monkeypatch.setattr(huggingface_hub.constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_DISABLE_XET", True)


def soon_refused(path: str) -> str:
    """The line with which a Hub id is refused, within seconds."""
    start = time.perf_counter()
    message = refusal(path)
    assert time.perf_counter() - start < 15
    assert path in message
    return message


@pytest.mark.parametrize("make", [make_qwen2, make_sharded])
def test_a_hub_id_is_downloaded_with_a_bar_in_bytes(hub: Hub, tmp_path: Path, make: object) -> None:
    assert callable(make)
    hub.repositories["org/small"] = folder = make(tmp_path / "small")
    size = sum(file.stat().st_size for file in folder.iterdir())
    loaded, reports = load_with_reports("org/small")
    assert loaded.info.name == "org/small"
    download = [(done, total) for stage, done, total in reports if stage == "download"]
    assert download[0] == (0, size)
    assert download[-1] == (size, size)
    assert sorted(download) == download


def test_what_is_in_the_cache_loads_without_the_hub(hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.repositories["org/small"] = make_qwen2(tmp_path / "small")
    load_with_reports("org/small")
    hub.requests.clear()
    assert [stage for stage, *_ in load_with_reports("org/small")[1]].count("download") == 0
    assert hub.requests == []
    _point_at("http://127.0.0.1:9", monkeypatch)
    load_with_reports("org/small")


def test_a_download_that_was_cut_off_is_finished(hub: Hub, tmp_path: Path) -> None:
    hub.repositories["org/small"] = folder = make_sharded(tmp_path / "small")
    load_with_reports("org/small")
    (cached,) = (tmp_path / "cache").glob("models--org--small/snapshots/*/model-00002-*")
    cached.resolve().unlink()
    cached.unlink()
    _, reports = load_with_reports("org/small")
    size = (folder / cached.name).stat().st_size
    assert [(done, total) for stage, done, total in reports if stage == "download"][-1] == (size, size)


def test_only_the_files_that_loading_needs_are_downloaded(hub: Hub, tmp_path: Path) -> None:
    hub.repositories["org/small"] = folder = make_qwen2(tmp_path / "small")
    for name in ("model.gguf", "pytorch_model.bin", "modeling_small.py", "consolidated.safetensors", "picture.png"):
        (folder / name).write_bytes(b"not wanted")
    load_with_reports("org/small")
    names = {path.name for path in (tmp_path / "cache").glob("models--org--small/snapshots/*/*")}
    assert {"config.json", "model.safetensors", "tokenizer.json"} <= names
    assert not names & {"model.gguf", "pytorch_model.bin", "modeling_small.py", "consolidated.safetensors"}


def test_pickled_weights_are_refused_before_they_are_downloaded(hub: Hub, tmp_path: Path) -> None:
    hub.repositories["org/pickled"] = make_pickled(tmp_path / "pickled")
    assert "--allow-pickle" in soon_refused("org/pickled")
    assert not [path for path in hub.requests if path.endswith(".bin")]
    assert load_with_reports("org/pickled", allow_pickle=True)[0].info.name == "org/pickled"


def test_what_is_no_causal_lm_is_refused_before_it_is_downloaded(hub: Hub, tmp_path: Path) -> None:
    hub.repositories["org/masked"] = make_bert(tmp_path / "masked")
    assert "no causal language model" in soon_refused("org/masked")
    assert not [path for path in hub.requests if path.endswith(".safetensors")]


def test_an_unknown_id_is_reported(hub: Hub) -> None:
    assert "no such model" in soon_refused("org/nothing")


def test_a_gated_model_says_how_to_get_access(hub: Hub) -> None:
    hub.gated.add("org/gated")
    assert "hf auth login" in soon_refused("org/gated")


def test_a_repository_without_a_model_is_reported(hub: Hub, tmp_path: Path) -> None:
    hub.repositories["org/empty"] = folder = make_qwen2(tmp_path / "empty")
    (folder / "model.safetensors").unlink()
    assert "model.safetensors" in soon_refused("org/empty")
    (folder / "config.json").unlink()
    assert "config.json" in soon_refused("org/empty")


def test_offline_is_reported_soon(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    _point_at("http://127.0.0.1:9", monkeypatch)
    assert "cannot be reached" in soon_refused("org/away")
    assert "cannot be reached" in soon_refused("away")


def test_the_offline_switch_is_reported_at_once(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    assert "HF_HUB_OFFLINE" in soon_refused("org/away")
    assert hub.requests == []


def test_nothing_is_printed(hub: Hub, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    hub.repositories["org/small"] = make_qwen2(tmp_path / "small")
    capfd.readouterr()
    load_with_reports("org/small")
    soon_refused("org/nothing")
    assert capfd.readouterr() == ("", "")
