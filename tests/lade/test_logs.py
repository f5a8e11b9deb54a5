"""What the original's interface tells and keeps: its log, its flags, and what prints."""

from __future__ import annotations

import warnings

import pytest
import torch

from decoding import lade
from tests.lade.calls import LENGTH, asked, log, started


def test_the_log_is_told_saved_and_begun_anew(llama, capsys, tmp_path):
    started(DEBUG=0)
    lade.log_history()
    assert capsys.readouterr().out == "LADE LOG - OVERALL GEN:  0  STEPS:  0  AVG COMPRESS RATIO:  0\n"
    asked(llama)
    asked(llama, max_new_tokens=5)
    assert capsys.readouterr().out == ""
    lade.save_log(tmp_path / "log.pt")
    saved = torch.load(tmp_path / "log.pt")
    assert [generated for generated, _, _ in saved] == [LENGTH, 5]
    steps = sum(count for _, count, _ in saved)
    lade.log_history(clear=True)
    said = LENGTH + 5
    line = f"LADE LOG - OVERALL GEN:  {said}  STEPS:  {steps}  AVG COMPRESS RATIO:  {said / steps}\n"
    assert capsys.readouterr().out == line
    lade.log_history()
    assert "OVERALL GEN:  0 " in capsys.readouterr().out
    asked(llama, max_new_tokens=5)
    lade.config_lade()
    assert log() == []


@pytest.mark.parametrize(
    "flag",
    [
        {"ALWAYS_FWD_ONE": 1},
        {"SPLIT_FLAG": True},
        {"DIST_WORKERS": 2},
        {"backend": "gloo"},
        {"USE_FLASH": True},
        {"POOL_FROM_PROMPT": False},
    ],
)
def test_a_flag_without_meaning_says_so_once(flag):
    (name,) = flag
    with pytest.warns(UserWarning, match=f"{name}.* has no meaning here: "):
        lade.config_lade(**flag)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lade.config_lade(**flag)
        lade.config_lade(POOL_FROM_PROMPT=True, DIST_WORKERS=1, LEVEL=5)


def test_only_the_first_rank_prints(llama, monkeypatch, capsys):
    monkeypatch.setenv("LOCAL_RANK", "1")
    with pytest.warns(UserWarning, match="DIST_WORKERS"):
        started(DIST_WORKERS=2)
    asked(llama)
    assert capsys.readouterr().out == ""
    assert len(log()) == 1
