"""A path names one GGUF file, or is refused in a line that says what to choose."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lade_chat.cli.app import main
from lade_chat.errors import ModelError
from lade_chat.gguf.files import chosen, labels, models_among, title_and_quantisation
from lade_chat.gguf.models_of_programs import ollama_models
from lade_chat.loading.checkpoint import check_files, lasting_path, local_model
from lade_chat.protocol.values import ModelOptions
from tests.gguf_format.files import ARRAY, entry, raw_file, text
from tests.gguf_format.kept import pull, small_file


def test_a_file_is_opened_whatever_its_name(home: Path) -> None:
    small_file(home / "work" / "small-Q4_1.gguf")
    assert local_model("small-Q4_1.gguf") == Path("small-Q4_1.gguf")
    assert lasting_path("small-Q4_1.gguf") == str(home / "work" / "small-Q4_1.gguf")
    (home / "work" / "small-Q4_1.gguf").rename(home / "blob")
    assert local_model("~/blob") == home / "blob"
    check_files(ModelOptions("~/blob"))


def test_a_link_to_a_part_of_a_file_keeps_its_name(home: Path) -> None:
    """As in the hub's cache: the files that the links lead to are not named after one another."""
    (home / "folder").symlink_to(home / "work")
    for part in (1, 2):
        link = home / "work" / f"big-0000{part}-of-00002.gguf"
        link.symlink_to(small_file(home / f"blob{part}", **{"split.count": 2, "split.no": part - 1}))
    lasting = lasting_path("~/folder/big-00001-of-00002.gguf")
    assert lasting == str(home / "work" / "big-00001-of-00002.gguf")
    assert lasting_path("~/folder") == lasting


def test_a_folder_with_one_file_is_opened_and_with_several_refused(home: Path) -> None:
    one = small_file(home / "models" / "small-Q4_0.gguf", 2)
    (home / "models" / "mmproj-small-F16.gguf").write_bytes(b"")
    assert local_model("~/models") == one
    small_file(home / "models" / "small-Q8_0.gguf", 7)
    choice = os.path.join("~/models", "small-Q4_0.gguf")
    with pytest.raises(ModelError) as refusal:
        local_model("~/models")
    assert str(refusal.value) == (
        f"~/models holds 2 GGUF models (small-Q4_0.gguf, small-Q8_0.gguf): choose one, as {choice}."
    )
    assert main(["ask", "-m", str(home / "models"), "Hi"]) == 1
    assert main(["models", "small=~/models"]) == 2


def test_safetensors_come_before_a_gguf_file_beside_them(home: Path) -> None:
    small_file(home / "models" / "small-Q4_0.gguf")
    (home / "models" / "model.safetensors").write_bytes(b"")
    assert local_model(str(home / "models")) == home / "models"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is not a readable GGUF file: it is empty"),
        (b"GGUF", "is not a readable GGUF file: it is cut off at byte 4"),
        (b"PK\3\4" + bytes(100), "it does not begin with GGUF"),
        (
            raw_file([entry("general.architecture", ARRAY, bytes(4) + bytes(8))]),
            "cannot be used: 'general.architecture' in its metadata is not a string",
        ),
        (raw_file([entry("general.architecture", 8, text("clip"))]), "vision projector"),
    ],
)
def test_a_broken_file_is_refused_in_a_line_without_torch(
    home: Path, capsys: pytest.CaptureFixture[str], content: bytes, words: str
) -> None:
    (home / "work" / "broken.gguf").write_bytes(content)
    assert main(["ask", "-m", "broken.gguf", "Hi"]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: broken.gguf ")
    assert words in line


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("./none.gguf", "There is no file ./none.gguf"),
        ("none.gguf", "There is no file none.gguf"),
        ("./none", "There is no folder ./none"),
        ("notes.txt", "notes.txt is no GGUF file: give one, or the folder"),
        ("work:Q4:0", "There is no folder work:Q4:0"),
    ],
)
def test_what_is_no_model_is_refused_in_a_line(home: Path, path: str, words: str) -> None:
    (home / "work" / "notes.txt").write_text("Hello")
    with pytest.raises(ModelError, match=words):
        local_model(path)
    assert local_model("org/name:Q4_K_M") is None


# --- What the names of GGUF files say: which belong together, and which quantisation


@pytest.mark.parametrize(
    ("stem", "title", "quantisation"),
    [
        ("SmolLM2-135M-Instruct.Q4_1", "SmolLM2-135M-Instruct", "Q4_1"),
        ("Llama-3.2-1B-Instruct-Q4_K_M", "Llama-3.2-1B-Instruct", "Q4_K_M"),
        ("qwen2.5-0.5b-instruct-q8_0", "qwen2.5-0.5b-instruct", "Q8_0"),
        ("qwen2.5-0.5b-instruct-fp16", "qwen2.5-0.5b-instruct", "FP16"),
        ("gemma-3-4b-it-UD-Q4_K_XL", "gemma-3-4b-it", "UD-Q4_K_XL"),
        ("Phi-4-IQ4_XS-00001-of-00002", "Phi-4", "IQ4_XS"),
        ("gpt-oss-20b-mxfp4", "gpt-oss-20b", "MXFP4"),
        ("Qwen3-0.6B", "Qwen3-0.6B", ""),
        ("q4_0", "q4_0", "Q4_0"),
        ("sha256-0af1", "sha256-0af1", ""),
    ],
)
def test_a_name_ends_with_the_quantisation(stem: str, title: str, quantisation: str) -> None:
    assert title_and_quantisation(stem) == (title, quantisation)


def test_parts_belong_together_and_projectors_are_left_out() -> None:
    big, small = models_among(
        [
            "deep/big-Q8_0-00002-of-00003.gguf",
            "deep/big-Q8_0-00001-of-00003.gguf",
            "small-Q4_0.GGUF",
            "mmproj-small-f16.gguf",
            "small.mmproj.gguf",
            "README.md",
        ]
    )
    assert (big.first, len(big.files), big.missing) == ("deep/big-Q8_0-00001-of-00003.gguf", 2, 1)
    assert (small.first, small.title, small.missing) == ("small-Q4_0.GGUF", "small", 0)


def test_a_quantisation_chooses_a_file_unless_several_have_it() -> None:
    models = models_among(["a-Q4_0.gguf", "a-Q4_K_M.gguf", "b-Q4_0.gguf", "c.gguf"])
    assert [each.first for each in chosen(models, "q4_k_m")] == ["a-Q4_K_M.gguf"]
    assert [each.first for each in chosen(models, "c.gguf")] == ["c.gguf"]
    assert len(chosen(models, "Q4_0")) == 2
    assert chosen(models, "Q4") == ()
    assert list(labels(models)) == ["a-Q4_0.gguf", "Q4_K_M", "b-Q4_0.gguf", "c.gguf"]


# --- Ollama's models are opened by their names, and nothing of its store is changed

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
    listed = dict(ollama_models())
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
    listed = {name: str(found) for name, found in ollama_models() if isinstance(found, ModelError)}
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
    assert all("You may not read" in str(found) for _, found in ollama_models())


def test_a_manifest_may_begin_with_a_byte_order_mark(store: Path) -> None:
    manifest = store / "manifests" / LIBRARY / "qwen" / "latest"
    manifest.write_bytes(b"\xef\xbb\xbf" + manifest.read_bytes())
    assert isinstance(dict(ollama_models())["qwen:latest"], Path)


def test_the_store_may_lie_elsewhere_or_nowhere(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blob = pull(home / "elsewhere", f"{LIBRARY}/llama3.2/1b", small_file(home / "file.gguf"))
    monkeypatch.setenv("OLLAMA_MODELS", str(home / "elsewhere"))
    assert local_model("ollama:llama3.2:1b") == blob
    monkeypatch.setattr("lade_chat.gguf.models_of_programs.ollama_stores", lambda: ())
    with pytest.raises(ModelError, match="set OLLAMA_MODELS"):
        local_model("ollama:llama3.2:1b")
    assert list(ollama_models()) == []
