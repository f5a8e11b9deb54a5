"""``lade-chat bench``: decoding methods measured against one another, as tables or JSON."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from lade_chat.bench.methods.all_methods import ENGINES, METHODS, PAPER_SIZES, check_installed, default_names
from lade_chat.bench.plan import STEP_COSTS, Plan, step_cost_named
from lade_chat.cli.flags.arguments import Json, Limit, file_path, listed, whole
from lade_chat.cli.flags.options import SIZES, SharedOptions
from lade_chat.cli.flags.shared import data_folder, with_shared_options
from lade_chat.cli.running.engine_run import load_model, on_all_ranks, start_ranks
from lade_chat.cli.running.output import print_json
from lade_chat.cli.running.process_exit import INTERRUPTED, TERMINATED, epilog
from lade_chat.cli.running.status_line import PassingLine
from lade_chat.cli.running.streams import require_output
from lade_chat.errors import LadeChatError, fitting
from lade_chat.known_models.models_at_hand import remember
from lade_chat.loading.checkpoint import check_files
from lade_chat.protocol.events import Loading
from lade_chat.settings.catalogue import MODEL_SETTINGS
from lade_chat.suites.files import read_suites
from lade_chat.suites.prompts import BUNDLED, bundled_suites, choose
from lade_chat.suites.public import BENCHMARKS, public_suites

if TYPE_CHECKING:
    from lade_chat.loading.model_loader import LoadedModel
    from lade_chat.suites.prompts import Suite
    from lade_chat.suites.public import Benchmark

EPILOG = epilog("""
lade-chat bench --suites code,math --methods lookahead,hf-generate
lade-chat bench --methods lookahead-fixed --fixed 15,5,15 --fixed 5,3,5
lade-chat bench --model-path model.gguf --engines llama.cpp --repeats 5
lade-chat bench --model-path ./my-model --prompts question.jsonl --limit 20
lade-chat bench --suites mt-bench,humaneval,gsm8k,spec-bench --limit 5
lade-chat bench --step-cost flat --suites code,story --limit 5
lade-chat bench --json | jq .overall
""")
MAX_NEW_TOKENS = 200
REPEATS = 3
_PIPE_WIDTH = 100
_OMITTED = (*("lookahead", *SIZES, "debug"), *("seed", "stop", "think", "max_thought_tokens", "colours"))
"""Flags of a single reply: here ``--methods`` and ``--fixed`` say how to decode, and there may be several seeds."""
_PAPER = ",".join(map(str, PAPER_SIZES))
_PUBLIC = ", ".join(BENCHMARKS)


@with_shared_options(without=_OMITTED, settings=MODEL_SETTINGS, max_new_tokens=MAX_NEW_TOKENS)
def bench(
    context: typer.Context,
    options: SharedOptions,
    suites: Annotated[
        str | None,
        typer.Option(metavar="A,B,…", help=f"Of {', '.join(BUNDLED)} (default: these), {_PUBLIC}; or the file's."),
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", parser=file_path, help=f"The files of {_PUBLIC}; by default, from the Hub."),
    ] = None,
    prompts: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", parser=file_path, help="Your own prompts in place of those suites; repeatable."),
    ] = None,
    limit: Limit = None,
    methods: Annotated[
        str | None,
        typer.Option(metavar="A,B,…", help=f"Of {', '.join(METHODS)}; default all. The first is always measured."),
    ] = None,
    engines: Annotated[
        str | None,
        typer.Option(metavar="A,B,…", help=f"Other engines too, on the same .gguf file: {', '.join(ENGINES)}."),
    ] = None,
    fixed: Annotated[
        list[str] | None,
        typer.Option(metavar="W,N,G", help=f"Sizes of lookahead-fixed, default {_PAPER}; repeatable."),
    ] = None,
    assistant_model: Annotated[
        str | None, typer.Option(metavar="PATH_OR_HUB_ID", help="The draft model of hf-assisted.")
    ] = None,
    repeats: Annotated[
        int | None,
        typer.Option(metavar="INT", parser=whole(1), help="Measure everything this often, by default 3 times."),
    ] = None,
    seeds: Annotated[
        str | None,
        typer.Option(
            *("--seeds", "--seed"),
            metavar="A,B,…",
            help="When sampling, answer every prompt once with each of these seeds; by default with one.",
        ),
    ] = None,
    random_weights: Annotated[
        int | None,
        typer.Option(
            metavar="SEED",
            parser=whole(0, 2**64 - 1),
            help="Initialise the model with random weights: text that cannot be guessed.",
        ),
    ] = None,
    step_cost: Annotated[
        str | None,
        typer.Option(
            metavar="COST",
            help=f"No clock: count each step as so many plain ones. {', '.join(STEP_COSTS)}, or figures as"
            " 1:1,8:1.3,64:2.9 (tokens of a step and its cost). The result is then the same on every machine.",
        ),
    ] = None,
    decoding_only: Annotated[
        bool,
        typer.Option("--decoding-only", help="Count from each reply's first token on, without prompt and prefill."),
    ] = False,
    as_json: Json = False,
) -> None:
    """Compare decoding methods: speed, steps, and whether texts agree.

    Every prompt is answered by each method in turn, so that a disturbance affects them all. Times are of whole
    replies, but with --decoding-only. Lookahead is measured twice: warm, its tables having seen the suite's earlier
    prompts as in a long chat, and cold. All suites with all methods take a while: choose.

    FILE holds a prompt a line (\\n breaks a line within one); JSON lines or a JSON array, as of MT-Bench, Spec-Bench,
    HumanEval, GSM8K, ShareGPT, Alpaca or chat messages; CSV with a header; each packed by gzip, too; or Parquet, with
    pyarrow installed. Of a chat the user's turns are asked.

    Of the public benchmarks, each category is a suite, of which --limit takes prompts evenly spread.
    """
    # Usage errors are reported before torch is imported, which takes seconds.
    with_each, other_engines = _seeds(seeds), listed(engines, "--engines")
    if wrong := next((name for name in other_engines if name not in ENGINES), None):
        raise typer.BadParameter(f"no engine '{wrong}'; choose from {', '.join(ENGINES)}", param_hint="--engines")
    timed = step_cost is None
    plan = Plan(
        suites=_suites(prompts or [], suites, limit, data, options.raw),
        methods=(
            *(listed(methods, "--methods") or default_names(assistant=assistant_model is not None, timed=timed)),
            *other_engines,
        ),
        options=replace(options, seed=next(iter(with_each), None)).decoding(),
        model=options.model(),
        assistant_model=assistant_model,
        fixed_sizes=tuple(map(_sizes, fixed or [_PAPER])),
        repeats=repeats or (REPEATS if timed else 1),
        system=None if options.raw else options.system,
        seeds=with_each,
        random_weights=random_weights,
        step_cost=None if step_cost is None else step_cost_named(step_cost),
        decoding_only=decoding_only,
    )
    check_installed([name for name in plan.methods if name in ENGINES])
    code = run_bench(plan, as_json=as_json)
    remember(data_folder(context.obj), plan.model)
    raise typer.Exit(code)


def _suites(files: list[Path], names: str | None, limit: int | None, data: Path | None, raw: bool) -> tuple[Suite, ...]:
    """Return the suites of the files, or the bundled ones and public benchmarks. Raises UsageError, LadeChatError."""
    wanted = listed(names, "--suites")
    public = [name for name in wanted if name in BENCHMARKS and not files]
    if data is not None and not public:
        raise typer.BadParameter(f"this is for --suites {_PUBLIC}", param_hint="--data")
    suites = [suite for path in files for suite in read_suites(path)] if files else bundled_suites()
    others = [name for name in wanted if name not in public]
    chosen = choose(suites, others, limit, beside=() if files else BENCHMARKS) if others or not public else []
    return (*chosen, *public_suites(public, limit, data, download_prompts, raw=raw))


def _seeds(text: str | None) -> tuple[int, ...]:
    found = dict.fromkeys(listed(text, "--seeds"))
    wrong = next((seed for seed in found if not seed.isdecimal() or int(seed) >= 2**64), None)
    if wrong is not None:
        raise typer.BadParameter(f"'{wrong}' is not a whole number from 0 to 2⁶⁴ - 1", param_hint="--seeds")
    return tuple(map(int, found))


def _sizes(text: str) -> tuple[int, int, int]:
    parts = [part.strip() for part in text.split(",")]
    if len(parts) != 3 or not all(part.isdecimal() for part in parts):
        raise typer.BadParameter(f"'{text}' is not of the form W,N,G, as {_PAPER} is", param_hint="--fixed")
    window, ngram, guesses = map(int, parts)
    if ngram < 2:
        raise typer.BadParameter(f"N, the length of the n-grams, is at least 2, not {ngram}", param_hint="--fixed")
    return window, ngram, guesses


def run_bench(plan: Plan, *, as_json: bool) -> int:
    """Load the models, measure, print the result and return the exit code: 130 after Ctrl+C, 143 after SIGTERM.

    Raises RankLostError, after the result so far, if the process of another rank is gone.
    """
    require_output()
    out = sys.stdout
    with redirect_stdout(sys.stderr):  # libraries print
        with PassingLine(sys.stderr) as line:
            line.show("starting …")
            loaded, assistant = _loaded(plan, line)
            from lade_chat.bench.benchmark import benchmark, shown_progress

        with _sigterm_as_ctrl_c() as terminated, shown_progress() as progress, fitting("The KV cache"):
            result = benchmark(loaded, plan, progress, assistant=assistant)
        from lade_chat.bench import report

        if as_json:
            print_json(report.as_json(result), out)
        else:
            from rich.console import Console

            Console(file=out, width=None if out.isatty() else _PIPE_WIDTH, highlight=False).print(report.tables(result))
    if result.broken_off is None:
        return 0
    if result.broken_off.lost is not None:
        raise result.broken_off.lost
    return TERMINATED if terminated else INTERRUPTED


def download_prompts(benchmark: Benchmark) -> list[Path]:
    """Return a public benchmark's files, downloaded where the Hub's cache lacks them. Raises LadeChatError."""
    from lade_chat.loading.hub import fetch_data

    with PassingLine(sys.stderr) as line:
        return fetch_data(
            benchmark.dataset, benchmark.files, lambda *progress: line.show_event(Loading("download", *progress))
        )


@contextmanager
def _sigterm_as_ctrl_c() -> Iterator[list[int]]:
    """Break off on SIGTERM as on Ctrl+C, so that what was measured is printed; the list holds what came."""
    came: list[int] = []

    def interrupt(number: int, _frame: FrameType | None) -> None:
        came.append(number)
        raise KeyboardInterrupt(number)

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield came
    except KeyboardInterrupt:
        if not came:
            raise
        raise typer.Exit(TERMINATED) from None  # nothing was measured yet
    finally:
        signal.signal(signal.SIGTERM, before)


def _loaded(plan: Plan, line: PassingLine) -> tuple[LoadedModel, LoadedModel | None]:
    """Load the model on all ranks, and the draft model, if any, with their notices on stderr."""
    if plan.model.processes > 1 and plan.random_weights is not None:
        raise LadeChatError("--random-weights needs a single process.")
    # Steps are measured under the benchmark's own conditions.
    wanted = [msgspec.structs.replace(plan.model, step_cost=False)]
    if plan.assistant_model is not None:
        wanted.append(msgspec.structs.replace(wanted[0], path=plan.assistant_model))
        check_files(wanted[1])
    ranks = start_ranks(plan.model)
    with ranks.loading():
        loaded, *others = [load_model(options, line) for options in wanted]
    if plan.random_weights is not None:
        from lade_chat.bench.measure import with_random_weights

        line.show("drawing random weights …")
        loaded = with_random_weights(loaded, plan.random_weights)
    elif plan.model.processes == 1 and not plan.model.quantize and not loaded.info.tensor_types:
        from lade_chat.loading.weights import WeightCopies

        copies = WeightCopies(loaded.model)  # in huge pages, where a chat has them after its first reply
        copies.begin()
        copies.settle(wait=True)
    return on_all_ranks(loaded, plan.model, ranks, line), next(iter(others), None)
