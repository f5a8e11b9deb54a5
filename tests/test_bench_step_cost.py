"""`lade-chat bench --step-cost`: steps counted at costs given beforehand, and no clock read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from checkpoints import make_qwen2

from lade_chat.bench.methods.all_methods import METHODS, Setup, default_names
from lade_chat.cli.app import main
from tests.costs import NEARLY_FREE, PROHIBITIVE
from tests.models import random_model, random_prompt


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_qwen2(tmp_path_factory.mktemp("model") / "tiny")


def bench(checkpoint: Path, *more: str) -> list[str]:
    short = ["--max-new-tokens", "16", "--dtype", "float32", "--limit", "1", "--suites", "code,story"]
    return ["bench", "--model-path", str(checkpoint), *short, *more]


def result_of(capsys: pytest.CaptureFixture[str], command: list[str]) -> Any:
    assert main(command) == 0
    return json.loads(capsys.readouterr().out)


def test_the_result_is_the_same_each_time_and_plain_decoding_takes_a_plain_step_a_token(
    checkpoint: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = bench(checkpoint, "--step-cost", "flat", "--json")
    first, second = result_of(capsys, command), result_of(capsys, command)
    assert first["rows"] == second["rows"]
    assert first["settings"]["step_cost"] == {"1": 1.0, "64": 1.05, "128": 1.15}
    assert {row["method"].split()[0] for row in first["rows"]} == set(default_names(assistant=False, timed=False))
    plain = [row for row in first["rows"] if row["method"] == "plain"]
    assert [row["tokens_per_second"]["median"] for row in plain] == [1.0, 1.0]
    assert all(row["identical"] == row["replies"] for row in first["rows"])


def test_seconds_are_the_sum_of_the_steps_costs() -> None:
    model, prompt = random_model("llama", layers=1), random_prompt(9)
    costs = {1: 1.0, 128: 128.0}  # a plain step for each token: the sum is that of the tokens in the forward passes
    for name in ("plain", "jacobi", "lookahead-fixed", "token-recycling", "suffix-decoding", "prompt-lookup"):
        [method] = METHODS[name](Setup(model, step_cost=costs))
        reply = method.open(None)(prompt, 20)
        assert reply.totals is not None
        assert reply.seconds == pytest.approx(1 + reply.totals.forward_tokens)
        assert reply.totals.seconds == reply.totals.forward_seconds == pytest.approx(reply.totals.forward_tokens)


def test_lookahead_is_budgeted_from_the_costs_given() -> None:
    model, prompt = random_model("llama", layers=1), random_prompt(9)
    tokens = []
    for step_cost in (NEARLY_FREE, PROHIBITIVE):
        [method] = METHODS["lookahead"](Setup(model, step_cost=step_cost))
        totals = method.open(None)(prompt, 40).totals
        assert totals is not None
        tokens.append(totals.forward_tokens / totals.steps)
    assert tokens[0] > 1.0 == tokens[1]


def test_the_tables_tell_the_costs_and_no_times(checkpoint: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(bench(checkpoint, "--step-cost", "1:1,8:1.3,64:2.9", "--methods", "lookahead")) == 0
    out, err = capsys.readouterr()
    assert "No clock was read. Plain steps by the tokens of a step: 1: 1, 8: 1.3, 64: 2.9" in " ".join(out.split())
    for of_a_clock in ("tok/s", "bookkeeping", "Times are", "3 repeats"):
        assert of_a_clock not in out + err


def test_replies_of_a_token_took_no_steps_to_tell_of(checkpoint: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = bench(checkpoint, "--step-cost", "flat", "--methods", "lookahead", "--max-new-tokens", "1")
    assert main(command) == 0
    out = capsys.readouterr().out
    assert "up to 1 new token\n" in out
    assert "tokens/step" not in out


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (["--step-cost", "gpu"], "'gpu' is neither one of cpu, int8, flat nor figures such as"),
        (["--step-cost", "1:1,8"], "'1:1,8' is neither one of cpu, int8, flat"),
        (["--step-cost", "2:1.5"], "'2:1.5' does not begin with 1:1"),
        (["--step-cost", "1:1,8:0.5"], "8:0.5 is no step's cost"),
        (["--step-cost", "1:1,8:inf"], "8:inf is no step's cost"),
        (["--step-cost", "1:1,99999:3"], "99999:3 is no step's cost: 1 to 16,384 tokens"),
        (["--step-cost", "flat", "--methods", "plain,hf-generate"], "hf-generate doesn't report its steps"),
        (["--step-cost", "flat", "--engines", "llama.cpp"], "llama.cpp doesn't report its steps"),
        (["--step-cost", "flat", "--lookahead-workers", "2"], "--step-cost counts the steps of a single process"),
    ],
)
def test_bad_input_gets_one_line(
    checkpoint: Path, capsys: pytest.CaptureFixture[str], more: list[str], told: str
) -> None:
    assert main(bench(checkpoint, *more)) == 2
    out, err = capsys.readouterr()
    assert told in err
    assert not out
    assert len(err.strip().splitlines()) == 1
