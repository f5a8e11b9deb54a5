"""The benchmark: who is asked what and when, what is counted, what a padded model says, and what is told of it."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from checkpoints import make_bloom, make_qwen2
from models import CONFIGS, hf_greedy, random_model, random_prompt

from decoding import AutoregressiveDecoder, LookaheadConfig, LookaheadDecoder, Session, Tables
from lade_chat.bench import benchmark, decoders
from lade_chat.bench.decoders import decoder_method
from lade_chat.bench.identity import differences, first_difference, tie_of, unit_of_last_place
from lade_chat.bench.measure import count, measure
from lade_chat.bench.memory import entries_of, size_of
from lade_chat.bench.methods import METHODS, Method, Replier, Setup
from lade_chat.bench.padding import pad_cost, parse_amount
from lade_chat.bench.prompts import BUNDLED, FEWEST_QUESTIONS, bundled_suites, choose, read_suites
from lade_chat.bench.summary import Spread, overall, summarise
from lade_chat.bench.values import Question, Reply, Run, StepFigures, Suite, SuiteTasks, Task
from lade_chat.cli.app import main
from lade_chat.errors import LadeChatError

# --- prompts ------------------------------------------------------------------------------------------------------


def test_the_bundled_suites_have_prompts_enough_and_none_twice() -> None:
    suites = bundled_suites()
    assert tuple(suite.name for suite in suites) == BUNDLED
    for suite in suites:
        assert len(set(suite.questions)) == len(suite.questions) >= FEWEST_QUESTIONS


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("One\n\nTwo\\nlines, a \\\\n\n", {"mine": [("One",), ("Two\nlines, a \\n",)]}),
        (
            '{"question_id": 1, "category": "writing", "turns": ["A", "B"]}\n'
            '{"question_id": 2, "category": "qa", "turns": ["C"], "prompt": ["x"]}\n'
            '{"question_id": 3, "category": "writing", "turns": ["D"]}',
            {"writing": [("A", "B"), ("D",)], "qa": [("C",)]},
        ),
        ('{"task_id": "HumanEval/0", "prompt": "def f():\\n"}', {"humaneval": [("def f():\n",)]}),
        ('{"prompt": "Hello"}', {"prompts": [("Hello",)]}),
        ('\ufeff{"question": "How many?", "answer": "4"}\n\n', {"gsm8k": [("How many?",)]}),
    ],
)
def test_a_file_is_read_in_its_own_format(tmp_path: Path, content: str, expected: dict[str, Any]) -> None:
    path = tmp_path / "mine.txt"
    path.write_text(content, encoding="utf-8")
    assert {suite.name: [each.turns for each in suite.questions] for suite in read_suites(path)} == expected


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b'{"turns": ["A"]}\n{"turns": [', "line 2: this is not JSON"),
        (b'{"turns": ["A"]}\n\nHello', "line 3: this is not JSON"),
        (b'{"turns": "A"}', "line 1: turns must be a list of texts"),
        (b'{"turns": ["A", 3]}', "line 1: turns must be text"),
        (b'{"question": ""}', "line 1: question must be text"),
        (b'{"text": "A"}', "line 1: this has none of the fields turns, prompt, question"),
        (b"[1]", "line 1: this is no JSON object"),
        (b" \n\n", "holds no prompts"),
        (b"\xff\xfe", "is no UTF-8 text"),
    ],
)
def test_a_broken_file_is_told_with_its_line(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_bytes(content)
    with pytest.raises(LadeChatError, match=words):
        read_suites(path)


def test_suites_are_chosen_by_name_and_hold_each_question_once() -> None:
    a, b = Question(("a",)), Question(("b",))
    suites = [Suite("x", (a, b, a)), Suite("y", (b,)), Suite("x", (b, Question(("c",))))]
    assert choose(suites, ["x"], None) == [Suite("x", (a, b, Question(("c",))))]
    assert choose(suites, None, 1) == [Suite("x", (a,)), Suite("y", (b,))]
    with pytest.raises(LadeChatError, match="no suite 'z'"):
        choose(suites, ["z"], None)


# --- who is asked, and when ---------------------------------------------------------------------------------------


def suite_of(*references: Sequence[int], name: str = "s", prompts: Sequence[Sequence[int]] | None = None) -> SuiteTasks:
    prompts = prompts or [(100 + index,) for index in range(len(references))]
    tasks = (Task(tuple(ids), 8, tuple(reply)) for ids, reply in zip(prompts, references, strict=True))
    return SuiteTasks(name, tuple(tasks), 0.5)


def recording(name: str, learns: bool, log: list[tuple[str, int, int]]) -> Method:
    """Answers every prompt with itself; the log holds who was asked, which opening of it, and what."""
    openings = iter(range(10_000))

    def opened() -> Replier:
        opening = next(openings)

        def reply(ids: Sequence[int], max_new_tokens: int) -> Reply:
            log.append((name, opening, ids[0]))
            return Reply(tuple(ids), 1.0)

        return reply

    return Method(name, learns, opened)


def test_everybody_gets_every_prompt_and_goes_first_in_turn() -> None:
    log: list[tuple[str, int, int]] = []
    methods = [recording(name, False, log) for name in "abc"]
    runs = list(measure([suite_of((1,), (1,), (1,))], methods, repeats=2))
    assert len(runs) == count([suite_of((1,), (1,), (1,))], methods, 2) == 18
    asked = ["".join(name for name, _, _ in log[start : start + 3]) for start in range(0, 18, 3)]
    assert asked == ["abc", "bca", "cab", "bca", "cab", "abc"]
    assert [run.method for run in runs] == [name for name, _, _ in log]
    assert {(run.prompt, run.repeat) for run in runs} == {(p, r) for p in range(3) for r in range(2)}


def test_warm_tables_last_for_one_suite_of_one_repeat_and_cold_ones_for_a_prompt() -> None:
    log: list[tuple[str, int, int]] = []
    suites = [suite_of((1,), (1,), name="s"), suite_of((1,), (1,), name="t")]
    runs = list(measure(suites, [recording("a", True, log)], repeats=2))
    seen: dict[int, list[tuple[Any, ...]]] = {}
    for run, (_, opening, _) in zip(runs, log, strict=True):
        seen.setdefault(opening, []).append((run.tables, run.suite, run.repeat, run.prompt))
    warm = [each for each in seen.values() if each[0][0] == "warm"]
    assert sorted(warm) == [[("warm", s, r, 0), ("warm", s, r, 1)] for s in "st" for r in range(2)]
    assert all(len(each) == 1 for each in seen.values() if each[0][0] == "cold")
    assert len(seen) == 4 + 8


def test_no_tables_see_a_prompt_twice_and_every_prompt_is_read_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    adopted: dict[Session, list[tuple[int, ...]]] = {}
    read: list[bool] = []

    class Watched(Session):
        def adopt(self, input_ids: Sequence[int]) -> None:
            adopted.setdefault(self, []).append(tuple(input_ids))
            super().adopt(input_ids)
            read.append(self.cached == 0)

    monkeypatch.setattr(decoders, "Session", Watched)
    model = random_model("llama")
    start = random_prompt(6)
    prompts = [[*start, *random_prompt(4, seed)] for seed in range(1, 4)]
    method = decoder_method("x", LookaheadDecoder(model, LookaheadConfig(3, 3, 3)), Setup(model))
    runs = list(measure([suite_of((1,), (1,), (1,), prompts=prompts)], [method], repeats=2))
    assert all(len(set(texts)) == len(texts) for texts in adopted.values())
    assert sorted(map(len, adopted.values())) == [1] * 6 + [3] * 2
    assert all(read)
    entries = {(run.tables, run.prompt): run.reply.figures.table_entries for run in runs if run.reply.figures}
    assert entries["warm", 2] > entries["cold", 2]


def test_the_steps_are_added_up_without_that_of_the_prompt() -> None:
    model = random_model("llama")
    prompt = random_prompt(9)
    reply = decoder_method("plain", AutoregressiveDecoder(model), Setup(model), learns=False).open()(prompt, 6)
    assert list(reply.ids) == hf_greedy(model, prompt, 6)
    figures = reply.figures
    assert figures is not None
    assert (figures.steps, figures.tokens, figures.forward_tokens, figures.verified) == (5, 5, 5, 0)
    assert 0 < figures.forward_seconds <= figures.seconds <= reply.seconds


def test_the_memory_of_tables_grows_with_what_they_hold() -> None:
    tables = Tables()
    empty = size_of(tables), entries_of(tables)
    tables.context.extend(range(200))
    tables.trajectory.add((1, 2, 3), 7)
    assert size_of(tables) > empty[0]
    assert entries_of(tables) >= empty[1] + 201


# --- figures ------------------------------------------------------------------------------------------------------


def run_of(method: str, seconds: float, reply: Sequence[int] = (1, 2), **more: Any) -> Run:
    values: dict[str, Any] = {"tables": None, "suite": "s", "prompt": 0, "repeat": 0, "figures": None} | more
    figures = values.pop("figures")
    return Run(method=method, reply=Reply(tuple(reply), seconds, figures), **values)


def test_speed_ups_are_paired_by_repeat_and_summed_over_prompts() -> None:
    suite = suite_of((1, 2), (1, 2))
    runs = [
        run_of(method, seconds, prompt=prompt, repeat=repeat)
        for repeat, times in enumerate([(4.0, 2.0), (8.0, 2.0), (6.0, 2.0)])
        for method, total in zip(("plain", "fast"), times, strict=True)
        for prompt, seconds in enumerate((0.25 * total, 0.75 * total))
    ]
    plain, fast = summarise(runs, [suite])
    assert plain.speedup == Spread(1.0, 1.0, 1.0)
    assert fast.speedup == Spread(3.0, 2.0, 4.0)
    assert fast.seconds == Spread(2.0, 2.0, 2.0)
    assert fast.tokens_per_second == Spread(2.0, 2.0, 2.0)
    assert (fast.identical, fast.replies, fast.steps) == (6, 6, None)


def test_a_reply_that_ends_sooner_is_no_faster_and_not_identical() -> None:
    runs = [run_of("plain", 4.0, (1, 2)), run_of("short", 2.0, (1,))]
    _, short = summarise(runs, [suite_of((1, 2))])
    assert short.speedup.median == 1.0
    assert (short.identical, short.replies) == (0, 1)


def test_the_mean_over_suites_is_geometric_and_taken_in_each_repeat() -> None:
    runs = [
        run_of(method, seconds, suite=suite, repeat=repeat)
        for repeat, factors in enumerate([(1.0, 4.0), (9.0, 1.0)])
        for suite, factor in zip("st", factors, strict=True)
        for method, seconds in (("plain", 8.0), ("fast", 8.0 / factor))
    ]
    rows = summarise(runs, [suite_of((1, 2), name="s"), suite_of((1, 2), name="t")])
    fast = overall(runs, rows)[1]
    assert (fast.method, fast.identical, fast.replies) == ("fast", 4, 4)
    assert fast.speedup == Spread(*map(pytest.approx, (2.5, 2.0, 3.0)))


def test_the_steps_of_a_suite() -> None:
    plain = StepFigures(steps=4, tokens=4, forward_tokens=4, seconds=4.0, forward_seconds=4.0, median_seconds=1.0)
    ours = StepFigures(2, 5, 3, 40, 3.0, 2.5, 1.5, 70, 9000)
    runs = [
        run_of("plain", 4.0, figures=plain),
        run_of("lookahead", 3.0, tables="warm", figures=ours),
        run_of("lookahead", 3.0, tables="warm", prompt=1, figures=StepFigures(table_entries=90, table_bytes=9500)),
        run_of("plain", 4.0, prompt=1, figures=plain),
    ]
    steps = summarise(runs, [suite_of((1, 2), (1, 2))])[1].steps
    assert steps is not None
    assert (steps.tokens_per_step, steps.tokens_per_forward, steps.verified_share) == (2.5, 20.0, 0.6)
    assert steps.bookkeeping_share == 0.25  # half a second in two steps, and a plain step takes one
    assert (steps.table_entries, steps.table_bytes) == (70, 9000)


# --- identity -----------------------------------------------------------------------------------------------------


def test_the_first_difference() -> None:
    assert first_difference([1, 2], [1, 2]) is None
    assert first_difference([1, 2], [1, 3]) == 1
    assert first_difference([1, 2], [1]) == 1


def test_the_unit_of_the_last_place() -> None:
    assert unit_of_last_place(1.5, torch.float32) == 2.0**-23
    assert unit_of_last_place(9.0, torch.bfloat16) == 8 * 2.0**-7
    assert math.isfinite(unit_of_last_place(0.0, torch.float32))


def test_a_method_that_differs_is_told_with_its_tie() -> None:
    model = random_model("llama")
    prompt = random_prompt(7)
    right = hf_greedy(model, prompt, 5)
    wrong = [*right[:2], (right[2] + 1) % 97, *right[3:]]
    suite = suite_of(right, prompts=[prompt])
    runs = [run_of("odd", 1.0, wrong, repeat=0), run_of("odd", 1.0, wrong, repeat=1), run_of("plain", 1.0, right)]
    [difference] = differences(runs, [suite], tie_of(model))
    assert (difference.method, difference.position, difference.times) == ("odd", 2, 2)
    assert (difference.expected, difference.found) == (right[2], wrong[2])
    logits = model(torch.tensor([[*prompt, *right[:2]]])).logits[0, -1].detach()
    assert difference.gap == pytest.approx(float(logits[right[2]] - logits[wrong[2]]))
    assert difference.gap > 0
    assert difference.ulps is not None
    assert difference.ulps > 1e6  # no tie at all


def test_a_reply_that_ends_too_soon_has_no_tie() -> None:
    [difference] = differences([run_of("odd", 1.0, (1,))], [suite_of((1, 2))], lambda *_: pytest.fail("no tie"))
    assert (difference.position, difference.expected, difference.found, difference.gap) == (1, 2, None, None)


# --- padding ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", ["llama", "qwen2-sliding", "qwen3", "gemma2", "olmo2"])
def test_a_padded_model_is_larger_and_says_the_same(family: str) -> None:
    model = random_model(family)
    prompt, parameters = random_prompt(12), model.num_parameters()
    expected = hf_greedy(model, prompt, 20)
    padding = pad_cost(model, "0.6M")
    assert parameters < padding.parameters == model.num_parameters() == pytest.approx(6e5, rel=0.2)
    assert len(model.model.layers) == padding.layers == model.config.num_hidden_layers > 3
    assert padding.logit_difference < 1e-9
    assert padding.logit_ulps < 1000
    assert "padded to 0.6M" in padding.meaning
    assert hf_greedy(model, prompt, 20) == expected
    for decoder in (AutoregressiveDecoder(model), LookaheadDecoder(model, LookaheadConfig(4, 3, 4))):
        steps = decoder.generate(prompt, max_new_tokens=20)
        assert [token for step in steps for token in step.tokens] == expected


def test_a_padded_model_keeps_its_number_format() -> None:
    model = random_model("llama").to(torch.bfloat16)
    pad_cost(model, "0.6M")
    assert {parameter.dtype for parameter in model.parameters()} == {torch.bfloat16}
    assert all(bool(parameter.isfinite().all()) for parameter in model.parameters())


@pytest.mark.parametrize(
    ("family", "label", "words"),
    [
        ("gpt2", "1M", "GPT2LMHeadModel cannot be padded"),
        ("mixtral", "1M", "MixtralForCausalLM cannot be padded"),
        ("llama", "0.001M", "already has"),
        ("llama", "9999999B", "does not fit into memory"),
        ("llama", "much", "'much' is no number of parameters"),
    ],
)
def test_what_cannot_be_padded_is_refused_and_left_as_it_is(family: str, label: str, words: str) -> None:
    model = random_model(family)
    parameters = model.num_parameters()
    with pytest.raises(LadeChatError, match=words):
        pad_cost(model, label)
    assert model.num_parameters() == parameters
    assert set(CONFIGS) >= {family}


def test_amounts() -> None:
    assert [parse_amount(text) for text in ("1.1B", "400M", " 7 b ")] == [1.1e9, 4e8, 7e9]


# --- the command --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_qwen2(tmp_path_factory.mktemp("model") / "tiny")


SHORT = ["--max-new-tokens", "8", "--repeats", "1", "--dtype", "float64", "--limit", "2"]


def test_the_command_prints_one_json_object(checkpoint: Path, capsys: pytest.CaptureFixture[str]) -> None:
    methods = ",".join(METHODS)
    more = ["--methods", methods, "--assistant-model", str(checkpoint), "--fixed", "3,3,3", "--fixed", "0,4,2"]
    assert main(["bench", "--model_path", str(checkpoint), "--json", "--suites", "code,story", *more, *SHORT]) == 0
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
    command = ["bench", "--model_path", str(checkpoint), "--prompts", str(file), "--methods", "hf-generate"]
    assert main([*command, "--json", *SHORT]) == 0
    result = json.loads(capsys.readouterr().out)
    assert [(suite["name"], suite["prompts"]) for suite in result["suites"]] == [("talk", 2)]
    assert [(row["method"], row["identical"]) for row in result["rows"]] == [("plain", 2), ("hf-generate", 2)]


def test_the_tables_and_the_picture(
    checkpoint: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("matplotlib")
    monkeypatch.setattr(benchmark, "SWEEP", ((1, 3, 1), (4, 3, 4), (4, 5, 4)))
    picture = tmp_path / "speed.png"
    command = ["bench", "--model_path", str(checkpoint), "--suites", "math", "--methods", "lookahead"]
    assert main([*command, "--sweep", "--plot", str(picture), "--pad-cost", "2M", *SHORT]) == 0
    assert picture.read_bytes().startswith(b"\x89PNG")
    out = capsys.readouterr().out
    for words in ("padded to 2M", "math (2 prompts, ", "nats/token", "4, 5, 4", "Fewer than 10 prompts", "identical"):
        assert words in out


def test_a_method_that_the_model_cannot_be_decoded_with_is_left_out(
    checkpoint: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refusing(setup: Setup) -> list[Method]:
        def opened() -> Replier:
            raise ValueError("no such cache\nand more")

        return [Method("refusing", False, opened, may_refuse=True)]

    monkeypatch.setitem(METHODS, "refusing", refusing)
    command = ["bench", "--model_path", str(checkpoint), "--suites", "math", "--methods", "refusing", "--json"]
    assert main([*command, *SHORT]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["left_out"] == {"refusing": "no such cache"}
    assert [row["method"] for row in result["rows"]] == ["plain"]


def test_a_difference_in_an_exact_number_format_draws_attention(
    checkpoint: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def wrong(setup: Setup) -> list[Method]:
        return [Method("wrong", False, lambda: lambda ids, max_new_tokens: Reply((5,) * max_new_tokens, 1.0))]

    monkeypatch.setitem(METHODS, "wrong", wrong)
    command = ["bench", "--model_path", str(checkpoint), "--suites", "math", "--methods", "wrong", *SHORT]
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
        (["--suites", "poems"], 1, "no suite 'poems'"),
        (["--methods", "magic"], 1, "no method 'magic'"),
        (["--methods", "hf-assisted"], 1, "--assistant-model"),
        (["--pad-cost", "large"], 1, "no number of parameters"),
        (["--prompts", "no-such-file"], 1, "cannot be read"),
        (["--plot", "no-such-folder/x.png"], 1, "no-such-folder"),
        (["--plot", "x.jpg"], 1, ".png"),
        (["--fixed", "7,5"], 2, "W,N,G"),
        (["--fixed", "7,1,7"], 2, "at least 2"),
        (["--repeats", "0"], 2, "--repeats"),
        (["-W", "7"], 2, "-W"),
        (["--model_path", "./no-such-model"], 1, "no-such-model"),
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


def test_a_flag_that_does_not_apply_is_refused_before_the_command_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["-W", "7", "bench"]) == 2
    assert "--window-size" in capsys.readouterr().err


def test_a_plot_without_matplotlib_is_refused_at_once(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("lade_chat.bench.plots.find_spec", lambda name: None)
    assert main(["bench", "--plot", "x.png"]) == 1
    assert "pip install 'lade-chat[plot]'" in capsys.readouterr().err


def test_a_model_that_lookahead_cannot_serve_is_measured_all_the_same(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bloom = make_bloom(tmp_path / "bloom")
    command = ["bench", "--model_path", str(bloom), "--suites", "math", "--methods", "lookahead,hf-generate", "--json"]
    assert main([*command, *SHORT]) == 0
    result = json.loads(capsys.readouterr().out)
    assert all(row["identical"] == row["replies"] for row in result["rows"])


@pytest.mark.parametrize("arguments", [["--help"], ["--methods", "magic"], ["--fixed", "1"]])
def test_help_and_mistakes_import_nothing_heavy(arguments: list[str]) -> None:
    code = f"""
import sys
from lade_chat.cli.app import main
main({["bench", *arguments]!r})
heavy = {{"torch", "transformers", "matplotlib", "textual"}} & set(sys.modules)
sys.exit(f"imported: {{heavy}}" if heavy else 0)
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    finished = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    assert finished.returncode == 0, finished.stderr
