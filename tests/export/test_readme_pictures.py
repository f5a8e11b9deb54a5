"""The command that makes the README's pictures, over a scripted engine."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

from assets.pictures import __main__ as pictures
from tests.export import samples

ENGINE = f"{samples.__name__}:{samples.engine.__name__}"


def test_the_end_of_a_race_is_drawn_and_pictures_that_weigh_too_much_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(pictures, "MAX_BYTES", 1000)
    assert pictures.main(["race", "--to", str(tmp_path), "--engine", ENGINE]) == 1
    assert "more than 1 kB" in capsys.readouterr().err
    with Image.open(tmp_path / "race.png") as picture:
        assert (picture.width % 110, picture.height % 14) == (0, 0)
        assert len(picture.convert("RGB").getcolors(1 << 24) or ()) > 20
