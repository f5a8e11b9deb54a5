"""Ollama's models are opened by their names, and nothing of its store is changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from lade_chat.errors import ModelError
from lade_chat.gguf import ollama
from lade_chat.loading.checkpoint import local_model
from tests.gguf_format.kept import pull, small_file

LIBRARY = "registry.ollama.ai/library"


@pytest.fixture
def store(home: Path) -> Path:
    """A store with models of several names."""
    store = home / ".ollama" / "models"
    for number, name in enumerate([f"{LIBRARY}/llama3.2/1b", f"{LIBRARY}/qwen/latest", "registry.ollama.ai/me/own/v1"]):
        pull(store, name, small_file(home / "file.gguf", number))
    pull(store, "hf.co/org/small-GGUF/Q4_K_M", small_file(home / "file.gguf", 15))
    return store


@pytest.mark.parametrize("name", ["llama3.2:1b", "Qwen", "qwen:latest", "me/own:v1", "hf.co/org/small-GGUF:q4_k_m"])
def test_a_name_in_any_case_leads_to_a_file(store: Path, name: str) -> None:
    before = sorted(store.rglob("*"))
    found = local_model(f"ollama:{name}")
    assert found is not None
    assert found.parent == store / "blobs"
    assert found.read_bytes()[:4] == b"GGUF"
    assert sorted(store.rglob("*")) == before


def test_all_names_are_listed(store: Path) -> None:
    listed = dict(ollama.models())
    assert sorted(listed) == ["hf.co/org/small-GGUF:Q4_K_M", "llama3.2:1b", "me/own:v1", "qwen:latest"]
    assert all(isinstance(file, Path) and file.is_file() for file in listed.values())


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("llama3.2", r"no model llama3.2 here \(it has .*llama3.2:1b.*\): `ollama pull llama3.2`"),
        ("", "is no name of a model"),
        ("../../secret", "is no name of a model"),
        ("a/b/c/d/e", "is no name of a model"),
        (".hidden/a/b", "is no name of a model"),
    ],
)
def test_other_names_are_refused_in_a_line(store: Path, name: str, words: str) -> None:
    with pytest.raises(ModelError, match=words):
        local_model(f"ollama:{name}")


def test_what_is_broken_is_told_by_its_name(store: Path, home: Path) -> None:
    manifest = store / "manifests" / LIBRARY / "qwen" / "latest"
    manifest.write_text('{"layers": 3}')
    pull(store, f"{LIBRARY}/half/latest", small_file(home / "file.gguf", 7)).unlink()
    pull(store, f"{LIBRARY}/tuned/latest", small_file(home / "file.gguf", 8), adapter=f"sha256:{'1' * 64}")
    pull(store, f"{LIBRARY}/strange/latest", small_file(home / "file.gguf", 9), model="sha256:../../../etc/passwd")
    (store / "manifests" / LIBRARY / "empty").mkdir()
    listed = {name: str(found) for name, found in ollama.models() if isinstance(found, ModelError)}
    assert "manifest of qwen:latest in Ollama cannot be read" in listed["qwen:latest"]
    assert "The file of half:latest is missing" in listed["half:latest"]
    assert "has an adapter" in listed["tuned:latest"]
    assert "names no GGUF file" in listed["strange:latest"]
    for name in ("qwen", "half", "tuned", "strange"):
        with pytest.raises(ModelError):
            local_model(f"ollama:{name}")


@pytest.mark.parametrize("closed", ["manifests", "blobs"])
def test_a_store_that_may_not_be_read_is_told(
    store: Path, home: Path, monkeypatch: pytest.MonkeyPatch, closed: str
) -> None:
    pull(store, f"{LIBRARY}/llama3.2/1b", small_file(home / "file.gguf"))
    is_file = Path.is_file

    def refuse(path: Path) -> bool:
        if path.is_relative_to(store / closed):
            raise PermissionError
        return is_file(path)

    monkeypatch.setattr(Path, "is_file", refuse)
    with pytest.raises(ModelError, match=r"You may not read .*, where Ollama keeps its models"):
        local_model("ollama:llama3.2:1b")
    assert all("You may not read" in str(found) for _, found in ollama.models())


def test_a_manifest_may_begin_with_a_byte_order_mark(store: Path) -> None:
    manifest = store / "manifests" / LIBRARY / "qwen" / "latest"
    manifest.write_bytes(b"\xef\xbb\xbf" + manifest.read_bytes())
    assert isinstance(dict(ollama.models())["qwen:latest"], Path)


def test_the_store_may_lie_elsewhere_or_nowhere(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blob = pull(home / "elsewhere", f"{LIBRARY}/llama3.2/1b", small_file(home / "file.gguf"))
    monkeypatch.setenv("OLLAMA_MODELS", str(home / "elsewhere"))
    assert local_model("ollama:llama3.2:1b") == blob
    monkeypatch.setattr("lade_chat.gguf.ollama.ollama_stores", lambda: ())
    with pytest.raises(ModelError, match="set OLLAMA_MODELS"):
        local_model("ollama:llama3.2:1b")
    assert list(ollama.models()) == []
