"""`lade-chat bench`: what it prints, what it refuses, and what it leaves out."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from itertools import count
from pathlib import Path

import pytest
import torch
from checkpoints import make_bloom, make_qwen2

from lade_chat.bench.measure import with_random_weights
from lade_chat.bench.methods.all_methods import METHODS, Method, Replier, Setup, default_names, deferred
from lade_chat.bench.results.measurements import TimedReply
from lade_chat.cli.app import main
from lade_chat.engine.comparison.ties import logits_after
from lade_chat.known_models.models_at_hand import recent
from lade_chat.loading.model_loader import load
from lade_chat.protocol.values import ModelOptions


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_qwen2(tmp_path_factory.mktemp("model") / "tiny")


SHORT = ["--max-new-tokens", "8", "--repeats", "1", "--dtype", "float32", "--limit", "2"]


def test_the_command_prints_one_json_object(checkpoint: Path, capsys: pytest.CaptureFixture[str]) -> None:
    methods = ",".join(METHODS)
    more = ["--methods", methods, "--assistant-model", str(checkpoint), "--fixed", "3,3,3", "--fixed", "0,4,2"]
    assert main(["bench", "--model-path", str(checkpoint), "--json", "--suites", "code,story", *more, *SHORT]) == 0
    result = json.loads(capsys.readouterr().out)
    assert [(suite["name"], suite["prompts"]) for suite in result["suites"]] == [("code", 2), ("story", 2)]
    assert all(suite["nats_per_token"] > 0 for suite in result["suites"])
    entries = [(row["method"], row["tables"]) for row in result["overall"]]
    assert entries[:3] == [("plain", None), ("lookahead", "warm"), ("lookahead", "cold")]
    assert {name for name, _ in entries} == {
        *(name for name in METHODS if name != "lookahead-fixed"),
        "lookahead-fixed 3,3,3",
        "lookahead-fixed 0,4,2",
    }
    assert len(result["rows"]) == 2 * len(entries)
    assert len(result["runs"]) == 4 * len(entries)
    assert all(row["identical"] == row["replies"] for row in result["rows"])
    assert result["differences"] == []
    assert result["left_out"] == {}


def test_a_long_conversation_is_asked_turn_by_turn(
    checkpoint: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "question.jsonl"
    file.write_text('{"category": "talk", "turns": ["Ada counts apples.", "And then?"]}\n')
    command = ["bench", "--model-path", str(checkpoint), "--prompts", str(file), "--methods", "hf-generate"]
    assert main([*command, "--json", *SHORT]) == 0
    result = json.loads(capsys.readouterr().out)
    assert recent(Path(os.environ["LADE_CHAT_DATA_DIR"]))[0].path == str(checkpoint)
    assert [(suite["name"], suite["prompts"]) for suite in result["suites"]] == [("talk", 2)]
    assert [(row["method"], row["identical"]) for row in result["rows"]] == [("plain", 2), ("hf-generate", 2)]


def test_the_tables(checkpoint: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["bench", "--model-path", str(checkpoint), "--suites", "math", "--methods", "lookahead"]
    assert main([*command, *SHORT]) == 0
    out = capsys.readouterr().out
    for words in (
        "math (2 prompts, ",
        "nats/token",
        "Fewer than 10 prompts",
        "identical",
    ):
        assert words in out
    tables, _, notes = out.partition("Times are")
    for column in ("speed-up", "tok/s", "identical", "tokens/step", "/forward", "verified", "bookkeeping", "tables"):
        assert column in tables
        assert column == "tok/s" or column in notes.lower()


def test_it_says_where_no_guess_was_verified(checkpoint: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["bench", "--model-path", str(checkpoint), "--suites", "math", "--step-cost", "flat", "--methods"]
    for methods, most, is_told in (("lookahead", "2", True), ("plain", "2", False), ("lookahead", "40", False)):
        assert main([*command, methods, *SHORT, "--max-new-tokens", most]) == 0
        assert ("No step verified a guess" in capsys.readouterr().out) is is_told


def test_a_method_that_the_model_cannot_be_decoded_with_is_left_out(
    checkpoint: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refusing(setup: Setup) -> list[Method]:
        def opened(seed: int | None) -> Replier:
            raise ValueError("no such cache\nand more")

        return [Method("refusing", False, opened, may_refuse=True)]

    monkeypatch.setitem(METHODS, "refusing", refusing)
    command = ["bench", "--model-path", str(checkpoint), "--suites", "math", "--methods", "refusing", "--json"]
    assert main([*command, *SHORT]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["left_out"] == {"refusing": "no such cache"}
    assert [row["method"] for row in result["rows"]] == ["plain"]


def test_a_method_that_refuses_a_later_prompt_is_left_out_and_the_others_are_kept(
    checkpoint: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = count(1)

    def late(setup: Setup) -> list[Method]:
        def reply(ids: Sequence[int], max_new_tokens: int) -> TimedReply:
            if next(answers) > 2:  # the first is the warm-up's
                raise ValueError("too long")
            return TimedReply((5,), 1.0)

        return [Method("late", False, lambda seed: reply, may_refuse=True)]

    monkeypatch.setitem(METHODS, "late", late)
    command = ["bench", "--model-path", str(checkpoint), "--suites", "math", "--methods", "late,lookahead", "--json"]
    assert main([*command, *SHORT]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["left_out"] == {"late": "math 2: too long"}
    kept = [("plain", 2), ("lookahead", 2), ("lookahead", 2)]
    assert [(row["method"], row["replies"]) for row in result["rows"]] == kept
    assert len(result["runs"]) == 6
    assert result["differences"] == []


def test_a_new_method_is_a_function_and_a_line_in_the_registry(
    checkpoint: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "toy_method.py").write_text(
        "from decoding import AutoregressiveDecoder\n"
        "from lade_chat.bench.methods.decoders import decoder_method\n"
        "def toy(setup):\n"
        "    return [decoder_method('toy', lambda: AutoregressiveDecoder(setup.model), setup, learns=False)]\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(METHODS, "toy", deferred("toy_method:toy"))
    assert "toy" in default_names(assistant=False)
    command = ["bench", "--model-path", str(checkpoint), "--suites", "math", "--methods", "toy", "--json"]
    assert main([*command, *SHORT]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [(row["method"], row["identical"]) for row in rows] == [("plain", 2), ("toy", 2)]


def test_a_difference_in_an_exact_number_format_draws_attention(
    checkpoint: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def wrong(setup: Setup) -> list[Method]:
        return [Method("wrong", False, lambda seed: lambda ids, max_new_tokens: TimedReply((5,) * max_new_tokens, 1.0))]

    monkeypatch.setitem(METHODS, "wrong", wrong)
    command = ["bench", "--model-path", str(checkpoint), "--suites", "math", "--methods", "wrong", *SHORT]
    assert main(command) == 0
    out = capsys.readouterr().out
    assert "ATTENTION: replies differ" in out
    assert "wrong: math 1, token 1 is" in out
    assert "0/2" in out
    assert main([*command, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["unexpected_differences"] is True
    assert [each["prompt"] for each in result["differences"]] == [0, 1]


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["--suites", "poems"], 2, "no suite 'poems'"),
        (["--suites", " , "], 2, "names nothing"),
        (["--methods", "magic"], 2, "no method 'magic'"),
        (["--methods", "hf-assisted"], 2, "--assistant-model"),
        (["--prompts", "no-such-file"], 1, "cannot be read"),
        (["--fixed", "7,5"], 2, "W,N,G"),
        (["--fixed", "7,1,7"], 2, "at least 2"),
        (["--repeats", "0"], 2, "--repeats"),
        (["--seeds", "1,two"], 2, "'two' is not a whole number"),
        (["--seed", "-1"], 2, "--seed"),
        (["--temperature", "-1"], 2, "--temperature"),
        (["--stop", "x"], 2, "--stop"),
        (["-W", "7"], 2, "-W"),
        (["--model-path", "./no-such-model"], 1, "no-such-model"),
    ],
)
def test_what_is_wrong_is_one_line(
    capsys: pytest.CaptureFixture[str], arguments: list[str], code: int, words: str
) -> None:
    assert main(["bench", *arguments]) == code
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert words in captured.err


def test_texts_are_drawn_with_each_seed_and_compared_seed_by_seed(
    checkpoint: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    methods = "plain,lookahead,lookahead-fixed,jacobi,hf-generate,hf-prompt-lookup-3"
    command = ["bench", "--model-path", str(checkpoint), "--suites", "adversarial"]
    command += ["--temperature", "1.5", "--top-k", "40", "--seeds", "1,2", *SHORT]
    assert main([*command, "--methods", methods, "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["settings"]["seeds"] == [1, 2]
    assert (result["settings"]["sampling"]["temperature"], result["settings"]["sampling"]["top_k"]) == (1.5, 40)
    assert [suite["prompts"] for suite in result["suites"]] == [2]
    own = {"hf-generate", "hf-prompt-lookup-3"}
    assert set(result["not_compared"]) == own
    for row in result["rows"]:
        assert row["replies"] == 4
        assert row["identical"] == (None if row["method"] in own else 4), row["method"]
    plain = [(run["prompt"], run["seed"]) for run in result["runs"] if run["method"] == "plain"]
    assert plain == [(prompt, seed) for seed in (1, 2) for prompt in (0, 1)]
    assert main([*command, "--methods", "lookahead,hf-generate"]) == 0
    out = capsys.readouterr().out
    for words in ("temperature 1.5, top-k 40 · seeds 1, 2", "2 prompts × 2 seeds", "own draws", "All other replies"):
        assert words in out


def test_without_a_seed_one_is_drawn_and_told(checkpoint: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["bench", "--model-path", str(checkpoint), "--suites", "math", "--methods", "lookahead", "--json"]
    assert main([*command, "--temperature", "0.9", *SHORT]) == 0
    result = json.loads(capsys.readouterr().out)
    [seed] = result["settings"]["seeds"]
    assert {run["seed"] for run in result["runs"]} == {seed}


def test_a_penalty_alone_draws_nothing_and_counts_for_generate_too(
    checkpoint: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["bench", "--model-path", str(checkpoint), "--suites", "math", "--methods", "lookahead,hf-generate"]
    assert main([*command, "--json", "--repetition-penalty", "1.4", *SHORT]) == 0
    result = json.loads(capsys.readouterr().out)
    assert (result["settings"]["seeds"], result["not_compared"]) == ([], [])
    assert all(row["identical"] == row["replies"] for row in result["rows"])


def test_random_weights_are_those_of_their_seed_and_not_the_models(checkpoint: Path) -> None:
    loaded = load(ModelOptions(path=str(checkpoint), dtype="float64"), lambda *_: None)
    models = [loaded.model, *(with_random_weights(loaded, seed).model for seed in (5, 5, 6))]
    assert not any(model.training for model in models)
    own, first, again, other = (logits_after(model, [5, 6, 7]) for model in models)
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    assert not torch.equal(first, own)
    assert first.dtype == torch.float64
    assert first.std() > 0


def test_a_model_of_random_weights_is_measured(checkpoint: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["bench", "--model-path", str(checkpoint), "--suites", "math", "--methods", "lookahead", "--json"]
    assert main([*command, "--random-weights", "5", "--temperature", "1.5", *SHORT]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["model"]["name"].endswith("with random weights")
    assert result["settings"]["random_weights"] == 5
    assert all(row["identical"] == row["replies"] for row in result["rows"])


def test_a_flag_that_does_not_apply_is_refused_before_the_command_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["-W", "7", "bench"]) == 2
    assert "--window-size" in capsys.readouterr().err


def test_a_model_that_lookahead_cannot_serve_is_measured_all_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bloom = make_bloom(tmp_path / "bloom")
    command = ["bench", "--model-path", str(bloom), "--suites", "math", "--methods", "lookahead,hf-generate", "--json"]
    assert main([*command, *SHORT]) == 0
    result = json.loads(capsys.readouterr().out)
    assert all(row["identical"] == row["replies"] for row in result["rows"])
