"""The flags of sampling and of stop strings: what they ask the engine for, what is refused, and what is shown."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from decoding import LookaheadConfig
from lade_chat.cli.app import main
from lade_chat.cli.flags.options import SharedOptions
from lade_chat.cli.running.output import Collected
from lade_chat.engine.decoder_factory import lookahead_config
from lade_chat.errors import LadeChatError
from lade_chat.presentation.metric_words import reply_parts, sampling_forms
from lade_chat.presentation.status_parts import fit
from lade_chat.protocol.events import ReplyFinished, Tokens
from lade_chat.protocol.values import DecodingOptions, ModelInfo, ModelOptions, Piece, Sampling, Sizes, Statistics
from lade_chat.settings.decoding_options import with_option
from tests.engines import MAKE_ENGINE

FULL = Sampling(0.8, 0.9, 40, 0.05, 0.95, 1.1, 7)
MODEL = ModelInfo("scripted", "cpu", "float32", 1, 512, True)


@pytest.mark.parametrize(
    ("given", "sampling"),
    [
        ({}, None),
        ({"temperature": 0.8, "top_p": 0.9, "seed": 7}, Sampling(temperature=0.8, top_p=0.9, seed=7)),
        ({"top_p": 0.9}, Sampling(top_p=0.9)),
        ({"top_k": 5}, Sampling(top_k=5)),
        ({"min_p": 0.1}, Sampling(min_p=0.1)),
        ({"typical_p": 0.9}, Sampling(typical_p=0.9)),
        ({"seed": 0}, Sampling(seed=0)),
        ({"temperature": 0.0, "top_p": 0.9, "seed": 7}, None),
        ({"repetition_penalty": 1.2}, Sampling(temperature=0.0, repetition_penalty=1.2)),
        ({"temperature": 0.0, "repetition_penalty": 1.2}, Sampling(temperature=0.0, repetition_penalty=1.2)),
        ({"repetition_penalty": 1.0}, None),
        ({"sampling": "model"}, Sampling(from_model=True)),
        ({"sampling": "model", "top_k": 5, "seed": 3}, Sampling(top_k=5, seed=3, from_model=True)),
    ],
)
def test_what_the_flags_ask_for(given: dict[str, Any], sampling: Sampling | None) -> None:
    assert SharedOptions(**given).decoding() == DecodingOptions(sampling=sampling)


def test_stop_strings_come_in_the_order_given() -> None:
    assert SharedOptions(stop=["\n\n", "END"]).decoding() == DecodingOptions(stop=("\n\n", "END"))


@pytest.mark.parametrize("command", ["ask", "compare"])
@pytest.mark.parametrize(
    ("flag", "value"),
    [
        ("--temperature", "-1"),
        ("--temperature", "nan"),
        ("--temperature", "inf"),
        ("--temperature", "warm"),
        ("--top-p", "0"),
        ("--top-p", "1.5"),
        ("--top-k", "-1"),
        ("--top-k", "2.5"),
        ("--min-p", "-0.1"),
        ("--min-p", "2"),
        ("--typical-p", "0"),
        ("--repetition-penalty", "0"),
        ("--repetition-penalty", "inf"),
        ("--seed", "-1"),
        ("--seed", "1e99"),
        ("--seed", str(2**64)),
        ("--sampling", "beam"),
        ("--stop", ""),
        ("--stop", "\udcff"),
    ],
)
def test_a_bad_value_is_one_line_that_names_its_flag(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, command: str, flag: str, value: str
) -> None:
    monkeypatch.setattr(MAKE_ENGINE, lambda options: pytest.fail("a model was asked for"))
    assert main([command, "Hello", flag, value]) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("error: ")
    assert captured.err.count("\n") == 1
    assert flag in captured.err


def test_a_command_that_draws_nothing_has_no_such_flags(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tune", "--temperature", "0.8"]) == 2
    assert main(["--temperature", "0.8", "tune"]) == 2
    assert capsys.readouterr().err.count("--temperature") == 2


def test_what_is_in_force_is_told_in_full_where_there_is_room_and_the_seed_last() -> None:
    assert sampling_forms(FULL) == (
        "temperature 0.8, top-p 0.9, top-k 40, min-p 0.05, typical-p 0.95, repetition penalty 1.1, seed 7",
        "temperature 0.8, seed 7",
        "seed 7",
    )
    assert sampling_forms(Sampling(0.8, 1.0, 0, 0.0, 1.0, 1.0, 7)) == ("temperature 0.8, seed 7", "seed 7")
    assert sampling_forms(Sampling(0.0, 1.0, 0, 0.0, 1.0, 1.2)) == ("repetition penalty 1.2",)
    assert sampling_forms(Sampling(seed=7)) == ("temperature 1, seed 7", "seed 7")
    assert sampling_forms(Sampling(from_model=True)) == ("the model's sampling",)


def collected(sampling: Sampling | None) -> Collected:
    statistics = Statistics(6, 3, 0.5, lookahead=True, sampling=sampling)
    reply = Collected()
    reply.take(Tokens((Piece("hi", "plain", 1, 0),), statistics))
    reply.take(ReplyFinished("stop", statistics))
    return reply


def test_json_tells_the_seed_the_values_in_force_and_why_the_reply_ended() -> None:
    answer = collected(FULL).as_json(MODEL, DecodingOptions(stop=("\n",)))
    assert answer["seed"] == 7
    assert answer["sampling"] == {
        "temperature": 0.8,
        "top_p": 0.9,
        "top_k": 40,
        "min_p": 0.05,
        "typical_p": 0.95,
        "repetition_penalty": 1.1,
    }
    assert (answer["stop"], answer["finish_reason"]) == (["\n"], "stop")
    greedy = collected(None).as_json(MODEL, DecodingOptions())
    assert (greedy["seed"], greedy["sampling"], greedy["stop"]) == (None, None, [])


@pytest.mark.parametrize("width", [46, 80, 200, sys.maxsize])
def test_the_status_line_shows_the_seed_at_every_usual_width(width: int) -> None:
    drawn = Sampling(0.8, 0.9, 0, 0.0, 1.0, 1.0, 2**32 - 1)
    line = fit(reply_parts(collected(drawn).statistics, "eos"), width)
    assert "seed 4294967295" in line
    assert "seed" not in fit(reply_parts(collected(None).statistics, "eos"), width)


def test_the_status_line_says_that_a_stop_string_ended_the_reply() -> None:
    assert "stopped at stop string" in fit(reply_parts(collected(None).statistics, "stop"), 80)


# --- Automatic sizes unless one is given, and then the paper's for those that are not


def test_without_a_size_all_are_automatic_and_a_step_is_measured() -> None:
    assert SharedOptions().decoding() == DecodingOptions()
    assert SharedOptions().model() == ModelOptions()
    assert DecodingOptions().sizes is None
    assert ModelOptions().step_cost
    assert lookahead_config(None) == LookaheadConfig.auto()


@pytest.mark.parametrize(
    ("given", "sizes"),
    [
        ({"window_size": 4}, Sizes(4, 5, 7)),
        ({"ngram_size": 3}, Sizes(7, 3, 7)),
        ({"guess_set_size": 0}, Sizes(7, 5, 0)),
        ({"window_size": 0, "guess_set_size": 9}, Sizes(0, 5, 9)),
    ],
)
def test_one_size_fixes_all_of_them_and_nothing_is_measured(given: dict[str, int], sizes: Sizes) -> None:
    options = SharedOptions(**given)  # type: ignore[arg-type]
    assert options.decoding().sizes == sizes
    assert not options.model().step_cost
    assert lookahead_config(sizes) == LookaheadConfig(sizes.window_size, sizes.ngram_size, sizes.guess_set_size)


def test_sizes_by_which_a_step_reads_thousands_of_tokens_are_warned_of(recwarn: pytest.WarningsRecorder) -> None:
    LookaheadConfig(15, 5, 15)
    assert not recwarn
    with pytest.warns(UserWarning, match="a step reads up to 3,201 tokens, 1,600 of them the window's"):
        LookaheadConfig(200, 9, 200)
    options, told = with_option(DecodingOptions(sizes=Sizes(7, 9, 200)), "window_size", "200")
    assert options.sizes == Sizes(200, 9, 200)
    assert told == "window_size is 200 now. A step reads up to 3,201 tokens."


def test_a_window_that_no_machine_can_take_is_one_line_of_the_chat() -> None:
    with pytest.raises(LadeChatError, match="make a window of 39000 tokens"):
        lookahead_config(Sizes(1000, 40, 7))


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("lookahead", "among the chat's settings"),
        ("dtype", "loaded with it, by /model"),
        ("sed", "mean seed"),
        ("xyzzy", "/set lists"),
    ],
)
def test_what_is_no_option_of_a_reply_is_told_apart(name: str, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        with_option(DecodingOptions(), name, "on")
