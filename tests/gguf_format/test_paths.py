"""A path names one GGUF file, or is refused in a line that says what to choose."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lade_chat.cli.app import main
from lade_chat.errors import ModelError
from lade_chat.loading.checkpoint import check_files, lasting_path, local_model
from lade_chat.protocol.values import ModelOptions
from tests.gguf_format.files import ARRAY, entry, raw_file, text
from tests.gguf_format.kept import small_file


def test_a_file_is_opened_whatever_its_name(home: Path) -> None:
    small_file(home / "work" / "small-Q4_1.gguf")
    assert local_model("small-Q4_1.gguf") == Path("small-Q4_1.gguf")
    assert lasting_path("small-Q4_1.gguf") == str(home / "work" / "small-Q4_1.gguf")
    (home / "work" / "small-Q4_1.gguf").rename(home / "blob")
    assert local_model("~/blob") == home / "blob"
    check_files(ModelOptions("~/blob"))


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
        ("notes.txt", "notes.txt is no GGUF file: --model-path wants one, or the folder"),
        ("work:Q4:0", "There is no folder work:Q4:0"),
    ],
)
def test_what_is_no_model_is_refused_in_a_line(home: Path, path: str, words: str) -> None:
    (home / "work" / "notes.txt").write_text("Hello")
    with pytest.raises(ModelError, match=words):
        local_model(path)
    assert local_model("org/name:Q4_K_M") is None
