"""Pictures as files: formats by suffix, whole or not at all, and one line for whatever is wrong."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from lade_chat.cli.ask import run_ask
from lade_chat.cli.compare import run_compare
from lade_chat.cli.flags.options import SharedOptions
from lade_chat.errors import LadeChatError, UsageError
from lade_chat.export.picture import WRITERS, check_picture, write_picture
from tests.asking import PIECES, QUESTION, scripted
from tests.export.samples import reply

BEGINNINGS = {
    ".html": b"<!DOCTYPE html>",
    ".svg": b"<svg ",
    ".cast": b'{"version": 2',
    ".gif": b"GIF89a",
    ".png": b"\x89PNG",
}


@pytest.mark.parametrize("suffix", sorted(BEGINNINGS))
def test_the_suffix_tells_the_format(tmp_path: Path, suffix: str) -> None:
    assert set(BEGINNINGS) == set(WRITERS)
    path = tmp_path / f"reply{suffix.upper()}"
    write_picture(path, reply())
    assert path.read_bytes().startswith(BEGINNINGS[suffix])
    assert [each.name for each in tmp_path.iterdir()] == [path.name], "nothing is left beside it"


@pytest.mark.parametrize("suffix", sorted(BEGINNINGS))
@pytest.mark.parametrize("text", ["", "\n", "\x1b", "\ud800", "\u200b", "x" * 120])
def test_any_text_can_be_kept(tmp_path: Path, suffix: str, text: str) -> None:
    write_picture(tmp_path / f"reply{suffix}", reply(text))
    assert (tmp_path / f"reply{suffix}").stat().st_size > 100


@pytest.mark.parametrize("name", ["reply.jpg", "reply", ".png.txt"])
def test_an_unknown_suffix_is_told_with_those_known(tmp_path: Path, name: str) -> None:
    with pytest.raises(LadeChatError, match=r"^A picture is written as \.html, \.svg, \.cast, \.gif, \.png, not as "):
        write_picture(tmp_path / name, reply())


@pytest.mark.parametrize("name", [".html", ".GIF"])
def test_a_suffix_alone_is_no_name(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match=rf"^A name is missing before \{name}\.$"):
        write_picture(tmp_path / name, reply())


def test_a_path_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "folder.svg").mkdir()
    for path in (tmp_path / "missing" / "reply.svg", tmp_path / "folder.svg"):
        with pytest.raises(LadeChatError, match=r"cannot be written: ") as raised:
            write_picture(path, reply())
        assert str(path) in str(raised.value)
        assert "\n" not in str(raised.value)


def test_without_pillow_one_line_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lade_chat.export.picture.find_spec", lambda _name: None)
    with pytest.raises(
        LadeChatError, match=r"^\.gif needs a package that is not installed\. To install: pip install pillow$"
    ):
        check_picture(tmp_path / "reply.gif")
    check_picture(tmp_path / "reply.svg")


def test_a_picture_that_fails_leaves_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "reply.svg"
    path.write_text("old", encoding="utf-8")

    def full(draft: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(LadeChatError, match="No space left on device"):
        write_picture(path, reply())
    assert path.read_text(encoding="utf-8") == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "real.svg").write_text("old", encoding="utf-8")
    link = tmp_path / "link.svg"
    link.symlink_to("real.svg")
    write_picture(link, reply())
    assert link.is_symlink()
    assert (tmp_path / "real.svg").read_bytes().startswith(b"<svg")


def test_text_pictures_do_without_pillow_torch_and_textual() -> None:
    import subprocess

    code = (
        "import sys; import lade_chat.export.picture;"
        "sys.exit(' '.join({'PIL', 'torch', 'textual', 'transformers'} & set(sys.modules)))"
    )
    finished = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert finished.stderr.strip() == ""


@pytest.mark.parametrize("as_json", [False, True])
def test_ask_keeps_its_reply(tmp_path: Path, capsys: pytest.CaptureFixture[str], as_json: bool) -> None:
    paths = [tmp_path / "reply.html", tmp_path / "reply.cast"]
    with scripted():
        assert run_ask(QUESTION, SharedOptions(), as_json=as_json, exports=paths) == 0
    out = capsys.readouterr().out
    text = json.loads(out)["text"] if as_json else out
    assert text == "".join(piece.text for piece in PIECES) + ("" if as_json else "\n")
    assert "Hello" in paths[0].read_text(encoding="utf-8")
    assert all(path.is_file() for path in paths)


def test_compare_keeps_its_race(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "race.html"
    with scripted():
        assert run_compare(QUESTION, SharedOptions(), as_json=True, exports=[path]) == 0
    assert list(json.loads(capsys.readouterr().out))[:2] == ["left", "right"]
    page = path.read_text(encoding="utf-8")
    assert page.count("<section>") == 2
    assert "speed-up: 1.50x" in page
    assert "the texts are identical" in page


def test_a_bad_export_is_told_before_a_model_is_loaded(tmp_path: Path) -> None:
    with scripted() as engine:
        for run in (run_ask, run_compare):
            with pytest.raises(UsageError, match="A picture is written as"):
                run(QUESTION, SharedOptions(), exports=[tmp_path / "reply.bmp"])
    assert engine.commands == []
