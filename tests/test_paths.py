"""Paths as users write them: whatever they are, they are used or refused in a line."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from lade_chat.cli.app import main
from lade_chat.errors import LadeChatError
from lade_chat.export.picture import check_picture
from lade_chat.paths import atomic_write, expanded, is_there, unwritable
from tests.echoing import data, engine  # noqa: F401 - fixtures
from tests.engines import ScriptedEngine


def test_the_home_of_nobody_stays_as_it_was_typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert expanded("~/notes.txt") == tmp_path / "notes.txt"
    assert str(expanded("~nobody-of-this-name/notes.txt")) == "~nobody-of-this-name/notes.txt"


def test_what_cannot_be_told_of_a_path_is_an_error_of_the_system(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "link").symlink_to("nowhere")
    assert is_there(tmp_path / "file")
    assert is_there(tmp_path / "link")
    assert not is_there(tmp_path / "no" / "such")
    for name in ("a" * 300, "file/below", "a\0b"):
        with pytest.raises(OSError, match=r"\w"):
            is_there(tmp_path / name)


def test_a_folder_that_cannot_be_searched_is_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def closed(_path: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "lstat", closed)
    with pytest.raises(LadeChatError, match=r"reply\.svg cannot be written: Permission denied\.$"):
        check_picture(Path("reply.svg"))


def test_a_write_protected_file_is_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "reply.svg"
    path.write_text("mine")
    monkeypatch.setattr(os, "access", lambda path, mode: mode != os.W_OK or os.path.isdir(path))
    with pytest.raises(LadeChatError, match=r"reply\.svg cannot be written: it is write-protected\.$"):
        check_picture(path)


def test_a_folder_that_takes_no_files_is_named(tmp_path: Path) -> None:
    error = FileNotFoundError(2, "No such file or directory")
    assert (
        unwritable(tmp_path / "a.md", error) == f"{tmp_path / 'a.md'} cannot be written: {tmp_path} takes no new files."
    )


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["ask", "@~nobody-of-this-name"], "There is no file ~nobody"),
        (["ask", "Hi", "--export", "a" * 300 + ".svg"], "… cannot be written: "),
        (["ask", "Hi", "--export", "~nobody-of-this-name/a.svg"], "there is no folder ~nobody"),
    ],
)
def test_a_path_of_nothing_is_told_before_anything_is_asked(
    engine: ScriptedEngine,  # noqa: F811
    arguments: list[str],
    line: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(arguments) == 1
    told = capsys.readouterr().err
    assert line in told
    assert told.count("\n") == 1
    assert engine.asked == []


# --- A file is replaced whole or not at all


def test_a_new_file_and_its_folder_are_private(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "file"
    atomic_write(path, b"text", sync=True)
    assert path.read_bytes() == b"text"
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("name", ["n" * 255, "é" * 127])
def test_the_longest_name_of_a_file_can_be_written(tmp_path: Path, name: str) -> None:
    atomic_write(tmp_path / name, b"text")
    assert [each.name for each in tmp_path.iterdir()] == [name]


def test_a_link_stays_a_link_and_permissions_stay(tmp_path: Path) -> None:
    target, link = tmp_path / "target", tmp_path / "link"
    target.write_bytes(b"old")
    target.chmod(0o640)
    link.symlink_to(target)
    atomic_write(link, b"new")
    assert link.is_symlink()
    assert target.read_bytes() == b"new"
    assert target.stat().st_mode & 0o777 == 0o640


def test_a_failure_leaves_the_old_content_and_no_draft(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def fail(*_: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="no space"):
        atomic_write(path, b"new")
    assert [each.name for each in tmp_path.iterdir()] == ["file"]
    assert path.read_bytes() == b"old"
