"""One GGUF file of a repository on the Hub is downloaded by its quantisation, with a bar in bytes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from lade_chat.errors import ModelError
from lade_chat.known_models.models_at_hand import in_hub_cache
from lade_chat.loading.model_loader import find_model
from lade_chat.protocol.values import ModelOptions
from tests.gguf_format.kept import small_file
from tests.hub_server import Hub, running_hub


@pytest.fixture
def hub(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """A hub of our own, with a repository of several files."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_DISABLE_XET", True)
    folder = home / "repository"
    for name, kind in (("Q4_K_M", 15), ("Q8_0", 7)):
        small_file(folder / f"small-{name}.gguf", kind)
    for part in (1, 2):
        small_file(folder / f"small-F16-0000{part}-of-00002.gguf", 1, **{"split.count": 2, "split.no": part - 1})
    small_file(folder / "mmproj-small-Q8_0.gguf", architecture="clip")
    with running_hub() as server:
        template = server.url + "/{repo_id}/resolve/{revision}/{filename}"
        monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", server.url)
        monkeypatch.setattr("huggingface_hub.constants.HUGGINGFACE_CO_URL_TEMPLATE", template)
        server.repositories["org/small-GGUF"] = folder
        yield server


def fetched(path: str) -> tuple[Path, list[tuple[int, int]]]:
    """The file that a path leads to, and how its download was reported."""
    reports: list[tuple[str, int, int]] = []
    found = find_model(ModelOptions(path), lambda *report: reports.append(report))
    return found, [(done, total) for stage, done, total in reports if stage == "download"]


@pytest.mark.parametrize("wanted", ["Q4_K_M", "q4_k_m", "small-Q4_K_M.gguf"])
def test_the_file_of_a_quantisation_is_downloaded_alone_and_once(hub: Hub, wanted: str) -> None:
    file, download = fetched(f"org/small-GGUF:{wanted}")
    size = file.stat().st_size
    assert file.name == "small-Q4_K_M.gguf"
    assert [each.name for each in file.parent.iterdir()] == ["small-Q4_K_M.gguf"]
    assert (download[0], download[-1]) == ((0, size), (size, size))
    hub.requests.clear()
    assert fetched(f"org/small-GGUF:{wanted}") == (file, [])
    assert hub.requests == []
    assert [each.path for each in in_hub_cache()] == ["org/small-GGUF:Q4_K_M"]


def test_all_parts_of_a_split_file_are_downloaded(hub: Hub) -> None:
    file, download = fetched("org/small-GGUF:F16")
    assert file.name == "small-F16-00001-of-00002.gguf"
    assert sorted(each.name for each in file.parent.iterdir()) == [file.name, "small-F16-00002-of-00002.gguf"]
    assert download[-1][0] == download[-1][1] == sum(each.stat().st_size for each in file.parent.iterdir())


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("org/small-GGUF", r"holds GGUF files: choose one, as org/small-GGUF:F16 \(or Q4_K_M, Q8_0\)\.$"),
        ("org/small-GGUF:Q5_K_M", r"holds no GGUF file of Q5_K_M: choose one, as org/small-GGUF:F16 \(or Q4_K_M, Q8_0"),
        ("org/none:Q4_0", "There is no folder org/none, and no such model on the Hugging Face Hub"),
        ("org/empty:Q4_0", "org/empty on the Hugging Face Hub holds no GGUF file."),
    ],
)
def test_what_is_not_there_is_told_with_what_is(hub: Hub, home: Path, path: str, words: str) -> None:
    (home / "empty").mkdir()
    hub.repositories["org/empty"] = home / "empty"
    with pytest.raises(ModelError, match=words):
        fetched(path)


def test_two_files_of_one_quantisation_are_told_apart_by_their_names(hub: Hub, home: Path) -> None:
    small_file(home / "repository" / "other-Q8_0.gguf", 7)
    with pytest.raises(ModelError, match=r"several GGUF files of Q8_0: choose one, as org/small-GGUF:other-Q8_0\.gguf"):
        fetched("org/small-GGUF:Q8_0")
    assert fetched("org/small-GGUF:other-Q8_0.gguf")[0].name == "other-Q8_0.gguf"
