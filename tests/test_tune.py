"""``tune``: what a cost curve means for candidates and windows, and the figures of a sweep."""

from __future__ import annotations

import json
import os
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from decoding import StepCost
from lade_chat.cli.app import main
from lade_chat.engine import tuning
from lade_chat.engine import tuning as tune
from lade_chat.engine.tuning import best_chain, step_times, window_cost
from lade_chat.known_models.models_at_hand import recent
from lade_chat.protocol.values import Sizes
from tests.checkpoints import make_mamba, make_qwen2

FREE = [1.0] * 65
EVERY_TOKEN_COSTS_ALL = [float(tokens) for tokens in range(65)]


def scripted_cost(_model: object = None, *, compiled: bool = False, **more: Any) -> StepCost:
    """A step over T tokens takes (T + 3) / 4 plain steps, and a plain step 2 ms."""
    return StepCost({tokens: 0.002 * (tokens + 3) / 4 for tokens in (1, 64)}, **{"live": False, **more})


def test_where_tokens_are_free_as_many_pay_as_there_is_room_for() -> None:
    chain = best_chain(FREE, 0.5)
    assert chain.speedup == pytest.approx(2.0)
    assert chain.candidates >= 50


def test_where_every_token_costs_a_step_none_pays() -> None:
    assert best_chain(EVERY_TOKEN_COSTS_ALL, 0.8) == (0.8, 0, 1.0)


def test_in_between_the_best_chain_is_the_best_of_all() -> None:
    relative = scripted_cost().relative(64).tolist()
    for acceptance in (0.2, 0.4, 0.6, 0.8):
        speedups = [sum(acceptance**i for i in range(n + 1)) / relative[1 + n] for n in range(64)]
        chain = best_chain(relative, acceptance)
        assert chain.speedup == pytest.approx(max(speedups))
        assert speedups[chain.candidates] == pytest.approx(chain.speedup)


def test_a_window_has_to_win_what_its_tokens_cost() -> None:
    assert window_cost(EVERY_TOKEN_COSTS_ALL, 7, 5) == (7, 5, 28, 28.0)
    assert window_cost(FREE, 15, 5).break_even == 0.0


def test_the_curve_holds_seconds_and_plain_steps() -> None:
    first, second, *_, last = step_times(scripted_cost())
    assert first == pytest.approx((1, 0.002, 1.0))
    assert second == pytest.approx((2, 0.0025, 1.25))
    assert last.tokens == 64


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """A scripted cost, and a sweep of a few tokens."""
    monkeypatch.setattr("decoding.measure_step_cost", scripted_cost)
    monkeypatch.setattr(tune, "PROMPTS", ("Count to ten.",))
    monkeypatch.setattr(tune, "ROUNDS", 1)
    monkeypatch.setattr(tune, "MAX_NEW_TOKENS", 6)
    monkeypatch.setattr(tune, "FIXED", (Sizes(2, 3, 2),))


@pytest.mark.usefixtures("quick")
def test_tune_tells_what_pays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = make_qwen2(tmp_path)
    assert main(["tune", "--model-path", str(folder), "--device", "cpu"]) == 0
    shown = capsys.readouterr().out
    assert recent(Path(os.environ["LADE_CHAT_DATA_DIR"]))[0].path == str(folder)
    assert "plain steps" in shown
    assert "80% right:  3, 1.69 times as fast as plain" in shown
    assert "W7 N5   7.00  (28 tokens wide)" in shown
    assert "against plain" not in shown
    assert "busy" not in shown


@pytest.mark.usefixtures("quick")
def test_figures_of_a_busy_machine_are_said_to_be_rough_and_not_kept(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = []
    monkeypatch.setattr(
        "lade_chat.loading.findings_cache.write", lambda name, *entry: name == "step-costs" and kept.append(entry)
    )
    arguments = ["tune", "--model-path", str(make_qwen2(tmp_path)), "--device", "cpu"]
    assert main(arguments) == 0
    assert len(kept) == 1
    capsys.readouterr()
    monkeypatch.setattr("decoding.measure_step_cost", partial(scripted_cost, live=True, spread=1.84))
    assert main(arguments) == 0
    shown = capsys.readouterr().out
    assert "Rough, so not kept: the machine was busy, a step took up to 1.8 times as long." in shown
    assert "What follows from them is as rough" in shown
    assert "a step should check, roughly, if each" in shown
    assert "80% right: about  3, 1.7 times as fast as plain" in shown
    assert "W7 N5   about 7.0  (28 tokens wide)" in shown
    assert len(kept) == 1


@pytest.mark.usefixtures("quick")
def test_tune_compares_a_quantised_model_with_itself_unquantised(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tuning, "QUALITY_TOKENS", 4)
    folder = str(make_qwen2(tmp_path))
    assert main(["tune", "--model-path", folder, "--device", "cpu", "--quantize", "int8", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["quality"]
    assert found["texts"] == 12
    assert 0 <= found["differing"] <= 12
    assert found["perplexity"] == pytest.approx(found["unquantised_perplexity"], rel=0.05)
    assert found["perplexity"] != found["unquantised_perplexity"]


@pytest.mark.usefixtures("quick")
def test_a_sweep_tries_automatic_and_fixed_sizes_and_those_given(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = str(make_qwen2(tmp_path))
    assert main(["tune", "--model-path", folder, "--device", "cpu", "--sweep", "-W", "3", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert [row["sizes"] for row in answer["sweep"]] == ["plain", "auto", "W2 N3 G2", "W3 N5 G7"]
    assert answer["sweep"][0]["speedup"] == answer["sweep"][0]["tokens_per_step"] == 1.0
    assert [row["tokens"] for row in answer["steps"]] == list(tune.STEP_TOKENS)
    assert answer["chains"][0] == {"acceptance": 0.2, "candidates": 0, "speedup": 1.0}
    assert answer["windows"][1] == {"window_size": 7, "ngram_size": 5, "tokens": 28, "break_even": 7.0}


def test_a_model_that_lookahead_cannot_serve_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tune", "--model-path", str(make_mamba(tmp_path)), "--device", "cpu"]) == 1
    assert capsys.readouterr().err.splitlines()[-1].startswith("error: There is nothing to tune")


def test_sizes_that_nothing_would_try_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tune", "-W", "3"]) == 2
    assert "only with --sweep" in capsys.readouterr().err
