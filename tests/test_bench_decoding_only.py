"""`lade-chat bench --decoding-only`: rates from each reply's first token on, the prefill and that token left out."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from checkpoints import make_qwen2

from lade_chat.bench.measure import measure
from lade_chat.bench.methods.all_methods import METHODS, Method, Setup
from lade_chat.bench.results.measurements import TimedReply
from lade_chat.bench.results.summary import Spread, overall, summarise
from lade_chat.cli.app import main
from tests.bench_runs import run_of, suite_of
from tests.models import random_model, random_prompt


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_qwen2(tmp_path_factory.mktemp("model") / "tiny")


def bench(checkpoint: Path, *more: str) -> list[str]:
    short = ["--max-new-tokens", "8", "--dtype", "float32", "--limit", "1", "--suites", "code,story"]
    return ["bench", "--model-path", str(checkpoint), "--decoding-only", *short, *more]


def method_of(name: str, *replies: TimedReply) -> Method:
    return Method(name, False, lambda seed: lambda ids, most: replies[ids[0] - 100], may_refuse=name != "plain")


@pytest.mark.parametrize("name", ["plain", "lookahead-fixed", "token-recycling"])
def test_decoding_is_the_steps_after_the_prefill(name: str) -> None:
    [method] = METHODS[name](Setup(random_model("llama", layers=1), step_cost={1: 1.0, 128: 128.0}))
    reply = method.open(None)(random_prompt(9), 20)
    assert reply.totals is not None
    assert (reply.decoding_tokens, reply.decoding_seconds) == (19, pytest.approx(reply.totals.forward_tokens))
    assert reply.seconds == pytest.approx(reply.decoding_seconds + 1)


@pytest.mark.parametrize("name", ["hf-generate", "hf-prompt-lookup-10"])
def test_generate_decodes_what_it_streams_after_the_first_tokens(name: str) -> None:
    [method] = METHODS[name](Setup(random_model("llama", layers=1)))
    reply = method.open(None)([5, 6, 7] * 3, 20)
    assert 0 < reply.decoding_tokens <= len(reply.ids) - 1
    assert 0 < reply.decoding_seconds < reply.seconds
    if name == "hf-generate":
        assert reply.decoding_tokens == 19
    ended = method.open(None)([5, 6, 7], 1)
    assert (ended.decoding_tokens, ended.decoding_seconds) == (0, 0.0)


def test_rates_and_means_count_decoding_alone() -> None:
    suites = [suite_of((1, 2, 3), name="s"), suite_of((1, 2, 3), name="t")]
    methods = [
        method_of("plain", TimedReply((1, 2, 3), 9.0, None, 2, 4.0)),
        method_of("fast", TimedReply((1, 2, 3), 9.0, None, 2, 1.0)),
    ]
    runs = list(measure(suites, methods, 1, {}, decoding_only=True))
    rows = summarise(runs, suites)
    assert [(row.tokens_per_second.median, row.seconds.median) for row in rows] == [(0.5, 4.0), (2.0, 1.0)] * 2
    fast = overall(runs, rows)[1]
    assert (fast.tokens_per_second.median, fast.speedup.median) == (pytest.approx(2.0), pytest.approx(4.0))


def test_the_mean_rate_over_suites_is_geometric() -> None:
    runs = [run_of("plain", seconds, suite=suite) for suite, seconds in (("s", 2.0), ("t", 0.5))]
    rows = summarise(runs, [suite_of((1, 2), name="s"), suite_of((1, 2), name="t")])
    assert overall(runs, rows)[0].tokens_per_second == Spread(*[pytest.approx(2.0)] * 3)


def test_replies_of_one_token_are_passed_over_and_a_method_that_stops_there_is_left_out() -> None:
    suite, left_out = suite_of((1,), (1, 2)), dict[str, str]()
    reply = TimedReply((1, 2), 2.0, None, 1, 1.0)
    methods = [method_of("plain", reply, reply), method_of("short", reply, TimedReply((1,), 1.0))]
    runs = list(measure([suite], methods, 1, left_out, decoding_only=True))
    assert [(run.method, run.prompt) for run in runs] == [("plain", 1)]
    assert left_out == {"short": "s 2: no token after its reply's first was timed"}


def result_of(capsys: pytest.CaptureFixture[str], command: list[str]) -> Any:
    assert main([*command, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_the_json_has_both_times(checkpoint: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = result_of(capsys, bench(checkpoint, "--methods", "plain", "--step-cost", "flat"))
    assert result["settings"]["decoding_only"] is True
    for run in result["runs"]:
        assert (run["decoding_tokens"], run["decoding_seconds"]) == (run["tokens"] - 1, run["seconds"] - 1)
    assert [row["seconds"]["median"] for row in result["rows"]] == [run["decoding_seconds"] for run in result["runs"]]
    assert result["overall"][0]["tokens_per_second"]["median"] == 1.0


def test_the_tables_tell_what_is_timed_and_mean_rates(checkpoint: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(bench(checkpoint, "--methods", "plain", "--repeats", "1")) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "Times are from each reply's first token on. Bookkeeping" in out
    assert "whole replies" not in out
    assert "speed-up warm speed-up cold tok/s cold identical" in out.partition("all suites (geometric mean)")[2]
    assert main(bench(checkpoint, "--methods", "plain", "--step-cost", "flat")) == 0
    assert "a prefill is not counted." in " ".join(capsys.readouterr().out.split())


def test_replies_that_are_all_too_short_are_told_in_a_line(
    checkpoint: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = Method("plain", False, lambda seed: lambda ids, most: TimedReply((5,), 1.0))
    monkeypatch.setitem(METHODS, "plain", lambda setup: [ended])
    assert main(bench(checkpoint, "--methods", "plain")) == 1
    assert "Every reply ends with its first token: measure without --decoding-only." in capsys.readouterr().err
    assert main(bench(checkpoint, "--max-new-tokens", "1")) == 2
    assert "give --max-new-tokens 2 or more" in capsys.readouterr().err
