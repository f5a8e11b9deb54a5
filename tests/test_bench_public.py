"""Public benchmarks as suites of `lade-chat bench`: their files, their categories, and the figures over them."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from statistics import geometric_mean
from typing import Any

import pytest
from checkpoints import make_qwen2

from lade_chat.cli import bench
from lade_chat.cli.app import main
from lade_chat.suites.public import BENCHMARKS, Benchmark, public_suites


def write(path: Path, records: Sequence[dict[str, Any]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    data = "".join(f"{json.dumps(record)}\n" for record in records).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)


def asked(category: str, *turns: str) -> dict[str, Any]:
    return {"question_id": 1, "category": category, "turns": turns}


TALKS = [asked("writing", "Write.", "Shorter."), asked("coding", "Code.", "Faster."), asked("writing", "Tell.", "On.")]
TASKS = [asked("qa", "Who?"), asked("translation", "Translate: Ja."), asked("rag", "Given this, what?")]
FUNCTIONS = [{"task_id": f"HumanEval/{n}", "prompt": f"def f{n}():\n", "test": "pass"} for n in range(3)]
SUMS = [{"question": f"What is {n} and 1?", "answer": f"#### {n + 1}"} for n in range(10)]


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_qwen2(tmp_path_factory.mktemp("model") / "tiny")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder with the four benchmarks' files under the names in which they are published."""
    folder = tmp_path / "data"
    write(folder / "mt_bench" / "question.jsonl", TALKS)
    write(folder / "HumanEval.jsonl.gz", FUNCTIONS)
    write(folder / "test.jsonl", SUMS)
    write(folder / "spec_bench" / "question.jsonl", [*TALKS, *TASKS])
    return folder


def no_download(benchmark: Benchmark) -> list[Path]:
    raise AssertionError(benchmark)


def turns_of(
    names: Sequence[str], folder: Path, limit: int | None = None, *, raw: bool = False
) -> dict[str, list[tuple[str, ...]]]:
    suites = public_suites(names, limit, folder, no_download, raw=raw)
    return {suite.name: [question.turns for question in suite.questions] for suite in suites}


def test_each_category_is_a_suite_and_both_turns_are_one_conversation(data: Path) -> None:
    assert turns_of(["mt-bench", "spec-bench"], data) == {
        "mt-bench: writing": [("Write.", "Shorter."), ("Tell.", "On.")],
        "mt-bench: coding": [("Code.", "Faster.")],
        "spec-bench: translation": [("Translate: Ja.",)],
        "spec-bench: qa": [("Who?",)],
        "spec-bench: rag": [("Given this, what?",)],
    }


def test_a_chat_is_asked_to_complete_a_function_and_bare_text_is_the_function(data: Path) -> None:
    (first, *_) = turns_of(["humaneval"], data)["humaneval"]
    assert first == ("Complete this Python function:\n\ndef f0():\n",)
    assert turns_of(["humaneval"], data, raw=True)["humaneval"][0] == ("def f0():\n",)


@pytest.mark.parametrize(("limit", "numbers"), [(1, [0]), (3, [0, 3, 6]), (10, range(10)), (None, range(10))])
def test_a_limit_is_spread_evenly_over_a_category(data: Path, limit: int | None, numbers: Sequence[int]) -> None:
    write(data / "test.jsonl", [*SUMS, SUMS[0]])
    assert turns_of(["gsm8k"], data, limit)["gsm8k"] == [(f"What is {number} and 1?",) for number in numbers]


@pytest.mark.parametrize(
    ("benchmark", "name", "records"),
    [
        ("mt-bench", "mt_bench.jsonl", TALKS),
        ("mt-bench", "question.jsonl", TALKS),
        ("humaneval", "HumanEval.jsonl", FUNCTIONS),
        ("gsm8k", "gsm8k_test_200.jsonl", SUMS),
        ("gsm8k", "gsm8k/test.jsonl", SUMS),
        ("spec-bench", "spec_bench_120.jsonl", TASKS),
        ("spec-bench", "question.jsonl", [*TALKS, *TASKS]),
    ],
)
def test_files_have_the_names_under_which_people_have_them(
    tmp_path: Path, benchmark: str, name: str, records: list[dict[str, Any]]
) -> None:
    write(tmp_path / name, records)
    assert turns_of([benchmark], tmp_path)


def test_without_a_folder_the_files_come_from_the_hub_and_may_be_one_for_each_category(tmp_path: Path) -> None:
    def download(benchmark: Benchmark) -> list[Path]:
        paths = [tmp_path / name for name in benchmark.files]
        for path in paths:
            write(path, [{"prompt": f"One of {path.stem}"}])
        return paths

    suites = public_suites(["spec-bench"], None, None, download)
    assert [suite.name for suite in suites] == [f"spec-bench: {each}" for each in BENCHMARKS["spec-bench"].categories]
    assert [suite.questions[0].turns for suite in suites][-1] == ("One of rag",)


SHORT = ["--max-new-tokens", "6", "--dtype", "float32", "--methods", "plain,lookahead"]


def test_categories_and_their_benchmarks_have_figures(
    checkpoint: Path, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["bench", "--model-path", str(checkpoint), "--data", str(data), "--step-cost", "flat", *SHORT]
    assert main([*command, "--suites", "mt-bench,gsm8k", "--limit", "1", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    suites = [(suite["name"], suite["benchmark"], suite["prompts"]) for suite in result["suites"]]
    assert suites == [("mt-bench: writing", "mt-bench", 2), ("mt-bench: coding", "mt-bench", 2), ("gsm8k", "gsm8k", 1)]
    assert list(result["benchmarks"]) == ["mt-bench", "gsm8k"]
    for mean in result["benchmarks"]["mt-bench"]:
        rows = [row for row in result["rows"] if row["suite"].startswith("mt-bench")]
        own = [row for row in rows if (row["method"], row["tables"]) == (mean["method"], mean["tables"])]
        assert mean["speedup"]["median"] == pytest.approx(geometric_mean(row["speedup"]["median"] for row in own))
        compressions = [row["steps"]["tokens_per_step"] for row in own]
        assert mean["tokens_per_step"] == pytest.approx(geometric_mean(compressions))
        assert mean["identical"] == mean["replies"] == 4


def test_categories_are_rows_of_a_table(checkpoint: Path, data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["bench", "--model-path", str(checkpoint), "--data", str(data), "--repeats", "1", *SHORT]
    assert main([*command, "--suites", "mt-bench,story", "--limit", "1"]) == 0
    out = capsys.readouterr().out
    for title in ("public benchmarks: speed-up", "public benchmarks: tokens/step"):
        table = out.partition(title)[2].partition("\n\n")[0]
        for words in ("plain tok/s" * ("speed" in title), "lookahead warm", "mt-bench: coding (2)", "geometric mean"):
            assert words in table
    assert "story (1 prompt, " in out
    assert "steps: mt-bench" not in out


@pytest.mark.parametrize(
    ("suites", "broken", "words"),
    [
        ("mt-bench", {"mt_bench/question.jsonl": '{"turns": ['}, "question.jsonl, line 1: this is not JSON"),
        (
            "spec-bench",
            {"spec_bench/question.jsonl": '["Hello"]'},
            "question.jsonl holds no prompts of spec-bench, who",
        ),
        ("humaneval", {"HumanEval.jsonl.gz": "\x1f\x8b"}, "HumanEval.jsonl.gz"),
        ("gsm8k", {"test.jsonl": None}, "holds no file of gsm8k: expected is gsm8k/test.jsonl, "),
        ("mt-bench,nothing", {}, "There is no suite 'nothing'. Choose from: code, "),
        ("code", {}, "--data: this is for --suites mt-bench, humaneval, gsm8k, spec-bench"),
    ],
)
def test_a_broken_or_missing_file_is_told_in_one_line(
    data: Path, capsys: pytest.CaptureFixture[str], suites: str, broken: dict[str, str | None], words: str
) -> None:
    for name, content in broken.items():
        (data / name).unlink()
        if content is not None:
            (data / name).write_bytes(content.encode("latin-1"))
    assert main(["bench", "--suites", suites, "--data", str(data)]) != 0
    error = capsys.readouterr().err
    assert words in error
    assert len(error.splitlines()) == 1


def test_no_folder_is_told_and_a_folder_is_not_asked_for_from_the_hub(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench, "download_prompts", no_download)
    assert main(["bench", "--suites", "gsm8k", "--data", str(tmp_path / "none")]) == 1
    assert "none is no folder: --data wants" in capsys.readouterr().err
