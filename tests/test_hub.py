"""A Hub id is downloaded once, with a bar in bytes; what cannot be had is told in one line, soon."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import huggingface_hub
import pytest
from checkpoints import edit_json, make_bert, make_pickled, make_qwen2, make_sharded, shards
from hub_server import Hub, running_hub
from loads import load_with_reports, refusal

from lade_chat.engine.chat_engine import ChatEngine
from lade_chat.engine.job import CANCELLED, Job
from lade_chat.errors import LadeChatError
from lade_chat.known_models.hub_search import search
from lade_chat.known_models.models_at_hand import KnownModel, in_hub_cache
from lade_chat.loading.hub import fetch_data
from lade_chat.protocol.commands import Load
from lade_chat.protocol.events import Loaded, LoadFailed
from lade_chat.protocol.values import ModelOptions


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


def make_oddly_sharded(folder: Path) -> Path:
    """Shards by names of their own, which the index alone tells."""
    index = make_sharded(folder) / "model.safetensors.index.json"
    names = {shard.name: f"weights.{number}.safetensors" for number, shard in enumerate(shards(folder))}
    for old, new in names.items():
        (folder / old).rename(folder / new)
    found = json.loads(index.read_text())["weight_map"]
    edit_json(index, weight_map={tensor: names[shard] for tensor, shard in found.items()})
    return folder


@pytest.mark.parametrize("make", [make_qwen2, make_sharded, make_oddly_sharded])
def test_a_hub_id_is_downloaded_with_a_bar_in_bytes(hub: Hub, tmp_path: Path, make: object) -> None:
    assert callable(make)
    hub.repositories["org/small"] = folder = make(tmp_path / "small")
    read_before = ("config.json", "model.safetensors.index.json")
    size = sum(file.stat().st_size for file in folder.iterdir() if file.name not in read_before)
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


def test_files_of_a_dataset_are_downloaded_once_with_a_bar(
    hub: Hub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub.repositories["org/data"] = folder = tmp_path / "data"
    folder.mkdir()
    for name in ("a.jsonl", "b.jsonl", "other.jsonl"):
        (folder / name).write_text(f"{name}\n")
    reports: list[tuple[int, int]] = []
    names = ["a.jsonl", "b.jsonl"]
    paths = fetch_data("org/data", names, lambda *report: reports.append(report))
    assert [path.read_text() for path in paths] == ["a.jsonl\n", "b.jsonl\n"]
    assert not (paths[0].parent / "other.jsonl").exists()
    assert (reports[0], reports[-1]) == ((0, 16), (16, 16))
    hub.requests.clear()
    assert fetch_data("org/data", names, lambda *_: None) == paths
    assert hub.requests == []
    with pytest.raises(LadeChatError, match=r"org/data is .*no-longer\.jsonl is not there.*--data\.$"):
        fetch_data("org/data", ["no-longer.jsonl"], lambda *_: None)
    _point_at("http://127.0.0.1:9", monkeypatch)
    with pytest.raises(LadeChatError, match=r"cannot be reached: give a folder of its files by --data\.$"):
        fetch_data("org/else", names, lambda *_: None)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(LadeChatError, match=r"HF_HUB_OFFLINE forbids a download: give a folder"):
        fetch_data("org/else", names, lambda *_: None)


def test_a_download_that_was_cut_off_is_finished(hub: Hub, tmp_path: Path) -> None:
    hub.repositories["org/small"] = folder = make_sharded(tmp_path / "small")
    load_with_reports("org/small")
    (cached,) = (tmp_path / "cache").glob("models--org--small/snapshots/*/model-00002-*")
    cached.resolve().unlink()
    cached.unlink()
    _, reports = load_with_reports("org/small")
    size = (folder / cached.name).stat().st_size
    assert [(done, total) for stage, done, total in reports if stage == "download"][-1] == (size, size)


def test_a_cancelled_download_ends_at_once_leaves_no_model_and_is_finished_later(hub: Hub, tmp_path: Path) -> None:
    hub.repositories["org/small"] = make_sharded(tmp_path / "small")
    hub.held |= {path.name for path in (tmp_path / "small").glob("model-0000[2-9]-*")}
    cache = tmp_path / "cache" / "models--org--small"
    engine, job = ChatEngine(), Job(Load(ModelOptions(path="org/small", step_cost=False)))

    def stop_once_a_shard_has_arrived() -> None:
        while not list(cache.glob("snapshots/*/model-00001-*")):
            time.sleep(0.01)
        job.stop()

    stopping = threading.Thread(target=stop_once_a_shard_has_arrived, daemon=True)
    stopping.start()
    assert list(engine.handle(job))[-1] == LoadFailed(CANCELLED, kept=False)
    assert hub.held
    assert list(cache.glob("snapshots/*/config.json"))
    assert in_hub_cache() == ()
    hub.go_on.set()
    again = list(engine.handle(Job(Load(ModelOptions(path="org/small", step_cost=False)))))
    assert isinstance(again[-1], Loaded)
    (listed,) = in_hub_cache()
    assert (listed.path, listed.about.rpartition(", ")[2]) == ("org/small", "downloaded")
    assert "safetensors float32" in listed.about


def test_a_load_that_downloads_nothing_is_not_stopped(tmp_path: Path) -> None:
    job = Job(Load(ModelOptions(path=str(make_qwen2(tmp_path / "small")), step_cost=False)))
    job.stop()
    assert isinstance(list(ChatEngine().handle(job))[-1], Loaded)


def test_the_hub_is_searched_for_models_with_their_sizes(hub: Hub, tmp_path: Path) -> None:
    hub.repositories |= {"org/Small-Chat": tmp_path, "org/other": tmp_path}
    assert search("small") == (KnownModel("org/Small-Chat", "3.0 kB safetensors bfloat16 · 12.3k downloads"),)
    assert search("nothing") == ()


def test_the_hub_is_searched_for_gguf_files_which_are_named_by_their_quantisations(hub: Hub, tmp_path: Path) -> None:
    for name, quantisations in (("one", ["Q4_K_M"]), ("many", ["Q2_K", "Q4_0", "Q4_1", "Q5_0", "Q6_K", "Q8_0"])):
        hub.repositories[f"org/{name}-GGUF"] = folder = tmp_path / name
        folder.mkdir()
        for each in quantisations:
            (folder / f"chat-{each}.gguf").touch()
    assert search("gguf") == (
        KnownModel("org/one-GGUF:Q4_K_M", "GGUF Q4_K_M · 12.3k downloads"),
        KnownModel("org/many-GGUF", "GGUF Q2_K, Q4_0, Q4_1, Q5_0 and 2 more · 12.3k downloads"),
    )


def test_a_search_that_is_not_possible_says_why_in_one_line(
    hub: Hub, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    for url, offline, words in (
        ("http://127.0.0.1:9", False, "cannot be reached: check the connection"),
        (f"{hub.url}/nowhere", False, "cannot be searched: "),
        (hub.url, True, "HF_HUB_OFFLINE"),
    ):
        _point_at(url, monkeypatch)
        monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", offline)
        with pytest.raises(LadeChatError, match=words):
            search("small")
    assert capfd.readouterr() == ("", "")


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
    short = soon_refused("away")
    assert short.startswith("There is no folder or short name away,")
    assert short.endswith("`lade-chat models` lists the models at hand.")
    assert len(short) < 160


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
