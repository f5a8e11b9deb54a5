"""The command that makes the README's pictures, over a scripted engine and without a browser."""

from __future__ import annotations

from pathlib import Path

import pytest

from assets.pictures import __main__ as pictures
from assets.pictures.drawing import draw
from tests.export import samples

ENGINE = f"{samples.__name__}:{samples.engine.__name__}"


def test_the_screen_stays_svg_where_nothing_draws_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures, "drawer", lambda _wanted: None)
    assert pictures.main(["race", "reply", "--to", str(tmp_path), "--engine", ENGINE]) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["race.svg", "reply.gif"]
    assert "lookahead" in (tmp_path / "race.svg").read_text(encoding="utf-8")
    assert (tmp_path / "reply.gif").read_bytes().startswith(b"GIF89a")


def test_pictures_that_weigh_too_much_are_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "old.png").write_bytes(bytes(pictures.MOST_BYTES))
    assert pictures.main(["reply", "--to", str(tmp_path), "--engine", ENGINE]) == 1
    assert f"more than {pictures.MOST_BYTES / 1000:.0f} kB" in capsys.readouterr().err


def test_what_draws_gets_the_picture_with_its_spaces_and_lengths(tmp_path: Path) -> None:
    svg, command = tmp_path / "screen.svg", tmp_path / "rsvg-convert"
    svg.write_text("<svg viewBox='0 0 1 1'><style>font-size: 20px</style></svg>", encoding="utf-8")
    command.write_text('#!/bin/sh\ncat > "$2"\n', encoding="utf-8")
    command.chmod(0o755)
    with pytest.raises(OSError, match="cannot identify image"):  # it draws nothing: its input is to be seen
        draw(svg, str(command))
    # A character of DejaVu Sans Mono, .602 of its size, is as wide then as one of the picture's cells, .61 of 20.
    style = "<style>font-size: 20.266px</style>"
    drawn = (tmp_path / "screen.png").read_text(encoding="utf-8")
    assert drawn == f"<svg xml:space=\"preserve\" viewBox='0 0 1 1'>{style}</svg>"
