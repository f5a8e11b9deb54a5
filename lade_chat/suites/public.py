"""Public benchmarks as suites, read from the files in which they are published: a suite for each category."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from lade_chat.errors import LadeChatError
from lade_chat.suites.files import read_suites
from lade_chat.suites.prompts import Question, Suite

_MT_BENCH = ("writing", "roleplay", "reasoning", "math", "coding", "extraction", "stem", "humanities")
_SPEC_BENCH = ("translation", "summarization", "qa", "math_reasoning", "rag")
_COMPLETE = "Complete this Python function:\n\n"


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A public benchmark: the files that its prompts are found in.

    Attributes:
        categories: the categories to read, of the records or, where these have none, of the file's name.
        patterns: names of its file in a folder, the likeliest first.
        dataset: a dataset of the Hub that holds it as text.
        files: the files there.
        instruction: what the chat is asked to do with each prompt, in front of it.
    """

    categories: tuple[str, ...]
    patterns: tuple[str, ...]
    dataset: str
    files: tuple[str, ...]
    instruction: str = ""


BENCHMARKS: Mapping[str, Benchmark] = {
    "mt-bench": Benchmark(
        _MT_BENCH,
        ("mt_bench/question.jsonl", "mt_bench*.jsonl", "question.jsonl"),
        "HuggingFaceH4/mt_bench_prompts",
        ("raw/question.jsonl",),
    ),
    "humaneval": Benchmark(
        ("humaneval",),
        ("HumanEval.jsonl.gz", "HumanEval.jsonl", "humaneval.jsonl"),
        "RedHatAI/speculator_benchmarks",
        ("HumanEval.jsonl",),
        _COMPLETE,
    ),
    "gsm8k": Benchmark(
        ("gsm8k",),
        ("gsm8k/test.jsonl", "gsm8k*test*.jsonl", "gsm8k.jsonl", "test.jsonl"),
        "DaertML/gsm8k-jsonl",
        ("test.jsonl",),
    ),
    "spec-bench": Benchmark(
        _SPEC_BENCH,
        ("spec_bench/question.jsonl", "spec_bench*.jsonl", "question.jsonl"),
        "RedHatAI/speculator_benchmarks",
        tuple(f"{category}.jsonl" for category in _SPEC_BENCH),
    ),
}
"""Spec-Bench's sixth task, multi-turn conversation, is MT-Bench."""


def public_suites(
    names: Iterable[str],
    limit: int | None,
    folder: Path | None,
    download: Callable[[Benchmark], Sequence[Path]],
    *,
    raw: bool = False,
) -> list[Suite]:
    """Return the suites of these benchmarks, at most ``limit`` questions of each category, evenly spread.

    The files are those in ``folder``; without one, those that ``download`` returns. ``raw`` leaves out instructions,
    for a model that continues bare text. Raises LadeChatError.
    """
    suites = []
    for name in dict.fromkeys(names):
        benchmark = BENCHMARKS[name]
        paths = download(benchmark) if folder is None else _files_in(folder, name)
        for category, questions in _by_category(benchmark, name, paths).items():
            title = name if len(benchmark.categories) == 1 else f"{name}: {category}"
            instruction = "" if raw else benchmark.instruction
            asked = [Question((instruction + first, *later)) for first, *later in dict.fromkeys(questions)]
            kept = len(asked) if limit is None else min(limit, len(asked))
            spread = tuple(asked[place * len(asked) // kept] for place in range(kept))
            suites.append(Suite(title, spread, benchmark=name))
    return suites


def _files_in(folder: Path, name: str) -> list[Path]:
    if not folder.is_dir():
        raise LadeChatError(f"{folder} is no folder: --data wants the one that holds the benchmarks' files.")
    patterns = BENCHMARKS[name].patterns
    found = [path for pattern in patterns for path in sorted(folder.glob(pattern)) if path.is_file()]
    if not found:
        raise LadeChatError(f"{folder} holds no file of {name}: expected is {', '.join(patterns)}.")
    return found[:1]


def _by_category(benchmark: Benchmark, name: str, paths: Sequence[Path]) -> dict[str, list[tuple[str, ...]]]:
    """Return the turns of each question by category, in the benchmark's order."""
    found: dict[str, list[tuple[str, ...]]] = {category: [] for category in benchmark.categories}
    for path in paths:
        for suite in read_suites(path):
            category = path.stem if path.stem in found else suite.name
            if category in found:
                found[category] += [question.turns for question in suite.questions]
    kept = {category: questions for category, questions in found.items() if questions}
    if not kept:
        files = ", ".join(map(str, paths))
        raise LadeChatError(f"{files} holds no prompts of {name}, whose categories are {', '.join(found)}.")
    return kept
