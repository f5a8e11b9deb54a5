"""GGUF files are listed where people keep them, by their headers alone, and without torch."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from gguf import GGMLQuantizationType
from rich.filesize import decimal

from lade_chat.cli.app import main
from lade_chat.gguf import models_of_programs
from lade_chat.known_models.models_at_hand import KnownModel, completions, in_hub_cache, merged, recent, remember
from lade_chat.protocol.values import ModelOptions
from tests.gguf_format.files import random_blocks, write
from tests.gguf_format.kept import pull, small_file


def listed(capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    """The models that the command lists, without the bundled one."""
    capsys.readouterr()
    assert main(["models", "--json"]) == 0
    return {row["path"]: row["about"] for row in json.loads(capsys.readouterr().out)["models"][1:]}


def test_files_are_listed_from_every_place(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    size = decimal(small_file(home / "work" / "here.gguf").stat().st_size)
    small_file(home / "work" / "deep" / "er" / "there-Q8_0.gguf", 7, "qwen3")
    small_file(home / "work" / "deep" / "er" / "still" / "too-deep.gguf")
    snapshot = home / "hub" / "models--org--small-GGUF" / "snapshots" / ("0" * 40)
    small_file(snapshot / "small-Q4_K_M.gguf", 15)
    small_file(snapshot / "small-Q6_K.gguf", 18)
    lm = small_file(home / ".lmstudio" / "models" / "org" / "repo" / "lm-Q4_0.gguf", 2)
    cached = small_file(home / ".cache" / "llama.cpp" / "org_small_cached-Q5_0.gguf", 8)
    pull(home / ".ollama" / "models", "registry.ollama.ai/library/llama3.2/1b", small_file(home / "file.gguf", 16))
    remember(home / "data", ModelOptions("here.gguf"))
    assert listed(capsys) == {
        "./here.gguf": f"{size} GGUF Q4_1 llama, recent",
        "./deep/er/there-Q8_0.gguf": f"{size} GGUF Q8_0 qwen3",
        "org/small-GGUF:Q4_K_M": f"{size} GGUF Q4_K_M llama, downloaded",
        "org/small-GGUF:Q6_K": f"{size} GGUF Q6_K llama, downloaded",
        "ollama:llama3.2:1b": f"{size} GGUF Q5_K_S llama, Ollama",
        str(lm): f"{size} GGUF Q4_0 llama, LM Studio",
        str(cached): f"{size} GGUF Q5_0 llama, llama.cpp",
    }
    assert [each.path for each in recent(home / "data")] == [str(home / "work" / "here.gguf")]
    assert main(["models", "--help"]) == 0
    assert "up to two folders below" in " ".join(capsys.readouterr().out.split())


def test_a_broken_file_is_listed_with_the_reason_and_what_is_no_model_left_out(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = small_file(home / "work" / "whole.gguf").read_bytes()
    (home / "work" / "cut.gguf").write_bytes(whole[: len(whole) // 2])
    (home / "work" / "empty.gguf").write_bytes(b"")
    small_file(home / "work" / "sight.gguf", architecture="clip")
    small_file(home / "work" / "lora.gguf", **{"general.type": "adapter"})
    small_file(home / "work" / "big-00001-of-00002.gguf", **{"split.count": 2, "split.no": 0})
    found = listed(capsys)
    assert set(found) == {"./whole.gguf", "./cut.gguf", "./empty.gguf", "./big-00001-of-00002.gguf"}
    assert found["./cut.gguf"].startswith("damaged: it is cut off at byte ")
    assert found["./empty.gguf"] == "damaged: it is empty"
    assert found["./big-00001-of-00002.gguf"].startswith("damaged: it is the first of 2 parts")


@pytest.mark.parametrize(
    ("name", "told"),
    [("a-Q4_K_M", "Q4_K_M"), ("a-Q4_K_S", "Q4_K_S"), ("a-Q5_K_M", "Q4_K"), ("a-Q4_K", "Q4_K"), ("a", "Q4_K")],
)
def test_a_file_that_does_not_tell_its_mixture_is_called_by_its_name(
    home: Path, capsys: pytest.CaptureFixture[str], name: str, told: str
) -> None:
    blocks = random_blocks(GGMLQuantizationType.Q4_K, 4, 512, np.random.default_rng(0))
    write(home / "work" / f"{name}.gguf", {}, {"token_embd.weight": (GGMLQuantizationType.Q4_K, blocks)})
    assert f"GGUF {told} llama" in listed(capsys)[f"./{name}.gguf"]


def test_an_unfinished_download_is_not_listed(home: Path) -> None:
    snapshot = home / "hub" / "models--org--big-GGUF" / "snapshots" / ("0" * 40)
    small_file(snapshot / "big-Q4_0-00001-of-00002.gguf", **{"split.count": 2, "split.no": 0})
    assert in_hub_cache() == ()


def test_a_typed_path_is_completed_by_files(home: Path) -> None:
    small_file(home / "work" / "small-Q4_0.gguf")
    (home / "work" / "smart").mkdir()
    assert [(each.path, each.is_model) for each in completions("./sm")] == [
        ("./smart", False),
        ("./small-Q4_0.gguf", True),
    ]


def test_folders_follow_the_programs_settings_and_the_environment(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("chosen", "elsewhere/models", "cache"):
        (home / name).mkdir(parents=True)
    assert models_of_programs.lm_studio_folders() == models_of_programs.llama_cpp_folders() == ()
    (home / ".lmstudio").mkdir()
    (home / ".lmstudio" / "settings.json").write_text(
        "\ufeff" + json.dumps({"downloadsFolder": "~/chosen"}), encoding="utf-8"
    )
    (home / ".lmstudio-home-pointer").write_text(f"{home / 'elsewhere'}\n")
    assert models_of_programs.lm_studio_folders() == (home / "elsewhere" / "models", home / "chosen")
    (home / ".lmstudio" / "settings.json").write_text("[")
    assert models_of_programs.lm_studio_folders() == (home / "elsewhere" / "models",)
    monkeypatch.setenv("LLAMA_CACHE", "~/cache")
    assert models_of_programs.llama_cpp_folders() == (home / "cache",)
    monkeypatch.delenv("LLAMA_CACHE")
    (home / ".cache" / "llama.cpp").mkdir()
    assert models_of_programs.llama_cpp_folders() == (home / ".cache" / "llama.cpp",)


def test_torch_is_not_imported_to_list_models(home: Path) -> None:
    small_file(home / "work" / "here.gguf")
    program = "import sys; from lade_chat.cli.app import main; main(['models']); sys.exit('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert "./here.gguf" in done.stdout
    assert done.returncode == 0


def test_what_several_places_tell_of_a_model_is_told_once() -> None:
    found = KnownModel("a.gguf", "1 kB GGUF Q4_1 llama")
    model = merged(merged(KnownModel("a.gguf", "-m small"), found), KnownModel("a.gguf", f"{found.about}, recent"))
    assert model.about == "-m small, 1 kB GGUF Q4_1 llama, recent"
    assert merged(model, KnownModel("a.gguf", "GGUF")) == model
