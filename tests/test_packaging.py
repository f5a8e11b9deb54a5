"""What an installed lade-chat consists of: the wheel's files, and one version everywhere."""

from __future__ import annotations

import re
import subprocess
import sys
import zipfile
from importlib.metadata import metadata
from pathlib import Path

import pytest
import tomlkit
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet

import lade_chat

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    """The wheel, built with what is installed: nothing is downloaded."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    [path] = folder.glob("*.whl")
    return zipfile.ZipFile(path)


def test_the_wheel_holds_the_packages_and_the_model_and_nothing_else(wheel: zipfile.ZipFile) -> None:
    names = wheel.namelist()
    assert {name.split("/")[0] for name in names} == {
        "decoding",
        "lade_chat",
        f"lade_chat-{lade_chat.__version__}.dist-info",
    }
    modules = {"lade_chat/cli/app.py", "lade_chat/tui/app/application.py"}
    assert modules | {"lade_chat/py.typed", "decoding/py.typed"} <= set(names)
    assert not [name for name in names if "test" in name or "__pycache__" in name or "recipe" in name]


def test_the_wheel_holds_every_source_style_and_prompt(wheel: zipfile.ZipFile) -> None:
    sources = {
        path.relative_to(ROOT).as_posix()
        for package in ("decoding", "lade_chat")
        for pattern in ("*.py", "*.tcss", "*.txt", "*.c", "*.h")
        for path in (ROOT / package).rglob(pattern)
    }
    assert sources <= set(wheel.namelist())


def test_the_wheel_holds_the_bundled_model(wheel: zipfile.ZipFile) -> None:
    sizes = {info.filename: info.file_size for info in wheel.infolist()}
    model = {path.name: path.stat().st_size for path in (ROOT / "assets" / "model").iterdir() if path.is_file()}
    assert {"config.json", "tokenizer.model"} <= set(model)
    assert any(name.endswith(".safetensors") for name in model)
    assert {name: sizes.get(f"lade_chat/model/{name}") for name in model} == model


def test_the_wheel_has_the_command_and_the_license(wheel: zipfile.ZipFile) -> None:
    info = f"lade_chat-{lade_chat.__version__}.dist-info"
    assert "lade-chat = lade_chat.__main__:main" in wheel.read(f"{info}/entry_points.txt").decode()
    assert f"{info}/licenses/LICENSE" in wheel.namelist()


def test_one_version_everywhere() -> None:
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert re.search(r'^version = "(.+)"$', project, re.MULTILINE)[1] == lade_chat.__version__  # type: ignore[index]


def test_every_dependency_takes_the_oldest_python_that_is_promised() -> None:
    settings = tomlkit.parse((ROOT / "pyproject.toml").read_text(encoding="utf-8")).unwrap()
    project = settings["project"]
    oldest = project["requires-python"].removeprefix(">=")
    needs = {name: metadata(name)["Requires-Python"] for name in map(_name_of, project["dependencies"])}
    assert [(name, need) for name, need in needs.items() if need and oldest not in SpecifierSet(need)] == []
    assert settings["tool"]["ruff"]["target-version"] == f"py{oldest.replace('.', '')}"
    assert settings["tool"]["mypy"]["python_version"] == oldest
    assert f"Programming Language :: Python :: {oldest}" in project["classifiers"]


def _name_of(dependency: str) -> str:
    return Requirement(dependency).name
