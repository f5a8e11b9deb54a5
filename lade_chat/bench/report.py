"""A benchmark's result: as tables and notes for a terminal, or as one JSON object."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from itertools import groupby
from typing import Any

import msgspec
from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from lade_chat.bench.benchmark import Result
from lade_chat.bench.results.summary import Overall, Row, Spread
from lade_chat.presentation.methods import PLAIN
from lade_chat.presentation.metric_words import EXACT_DTYPES, counted, sampling_forms
from lade_chat.presentation.race_outcome import nearness
from lade_chat.presentation.sanitize import printable
from lade_chat.suites.prompts import MIN_QUESTIONS

MAX_DIFFERENCES = 20
"""Listed one by one; the JSON has them all."""
_MODEL = ("name", "device", "dtype", "tensor_types", "compiled", "parameters")
_SUITE = ("name", "benchmark", "prompts", "nats_per_token")
"""What the JSON tells of a model and of a suite."""


def tables(result: Result) -> RenderableType:
    """Return all tables, each under its title, and their notes."""
    parts: list[RenderableType] = [Text(f"{_title(result)}\n", style="bold")]
    parts += [*_speeds(result), *_steps(result), *_benchmarks(result)]
    return Group(*parts, *(Text(line) for line in _notes(result)))


def _title(result: Result) -> str:
    info, plan = result.model.info, result.plan
    return (
        f"{printable(info.name)} · {info.device} · {info.dtype}{' · compiled' if info.compiled else ''}"
        f" · {counted(plan.repeats, 'repeat')}"
        f" · up to {counted(plan.options.max_new_tokens, 'new token')}"
        f"{_sampling(result)}"
    )


def _sampling(result: Result) -> str:
    """Describe the sampling with all seeds; empty for greedy decoding."""
    if result.sampling is None:
        return ""
    values = sampling_forms(msgspec.structs.replace(result.sampling, seed=None))[:1]
    seeds = [str(seed) for seed in result.seeds if seed is not None]
    parts = [*values, *([f"{'seeds' if len(seeds) > 1 else 'seed'} {', '.join(seeds)}"] if seeds else [])]
    return "".join(f" · {part}" for part in parts)


def _speeds(result: Result) -> Iterator[Table]:
    """The speed tables: one for each suite outside the public benchmarks, and one over all suites."""
    for name, rows in groupby(_own(result), key=lambda row: row.suite):
        suite = next(suite for suite in result.suites if suite.name == name)
        seeds = f" × {len(result.seeds)} seeds" if len(result.seeds) > 1 else ""
        prompts = counted(suite.prompts, "prompt") + seeds
        yield _speed_table(result, f"{printable(name)} ({prompts}, {suite.nats_per_token:.2f} nats/token)", rows)
    if len(result.suites) > 1:
        yield _speed_table(result, "all suites (geometric mean)", result.overall)


def _speed_table(result: Result, title: str, rows: Iterable[Row | Overall]) -> Table:
    """A line for each method: its speed-ups, its rates if steps are timed, and its identical replies."""
    timed = result.plan.step_cost is None
    table = _table(title, "speed-up warm", "speed-up cold", *(("tok/s", "cold") if timed else ()), "identical")
    for method, of_method in groupby(rows, key=lambda row: row.method):
        entries = list(of_method)
        by_tables = {entry.tables: entry for entry in entries}
        # A method without tables has one entry for both.
        both = [by_tables.get("warm", entries[0]), by_tables.get("cold", entries[0])]
        speedups = (_factor(result, each.speedup) for each in both)
        same = [each.identical for each in entries if each.identical is not None]
        identical = f"{sum(same)}/{sum(each.replies for each in entries)}" if same else "own draws"
        table.add_row(method, *speedups, *(map(_rate, both) if timed else ()), identical)
    return table


def _own(result: Result) -> Iterator[Row]:
    """The rows of suites that are not categories of a public benchmark."""
    public = {suite.name for suite in result.suites if suite.benchmark is not None}
    return (row for row in result.rows if row.suite not in public)


def _benchmarks(result: Result) -> Iterator[Table]:
    """Speed-ups and tokens per step on public benchmarks, a row for each category and one for its benchmark."""
    if not result.benchmarks:
        return
    shown = [(each.method, each.tables) for each in result.overall if each.method != PLAIN]
    names = [" ".join(filter(None, entry)) for entry in shown]
    timed = result.plan.step_cost is None
    speeds = _table("public benchmarks: speed-up (medians)", *(["plain tok/s"] if timed else []), *names)
    steps = _table("public benchmarks: tokens/step", *names)
    for benchmark, means in result.benchmarks.items():
        suites = [suite for suite in result.suites if suite.benchmark == benchmark]
        lines: list[tuple[str, Sequence[Row | Overall]]] = [
            (f"{suite.name} ({suite.prompts})", [row for row in result.rows if row.suite == suite.name])
            for suite in suites
        ]
        if len(suites) > 1:
            lines.append((f"{benchmark}, geometric mean", means))
        for title, rows in lines:
            by_entry = {(row.method, row.tables): row for row in rows}
            plain = [_rate(by_entry[PLAIN, None])] if timed else []
            speeds.add_row(title, *plain, *(f"{by_entry[entry].speedup.median:.2f}" for entry in shown))
            steps.add_row(title, *(_compression(by_entry[entry]) for entry in shown))
        speeds.add_section()
        steps.add_section()
    yield from (speeds, steps)


def _rate(row: Row | Overall) -> str:
    return f"{row.tokens_per_second.median:.1f}"


def _compression(row: Row | Overall) -> str:
    steps = row.steps if isinstance(row, Row) else row
    return f"{steps.tokens_per_step:.2f}" if steps is not None and steps.tokens_per_step is not None else ""


def _table(title: str, *columns: str) -> Table:
    table = Table(title=Text(title), title_justify="left", title_style="bold", box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("")
    for name in columns:
        table.add_column(name, justify="right")
    return table


def _factor(result: Result, spread: Spread) -> str:
    """The median, with the range over the repeats if there are several."""
    return f"{spread.median:.2f}" + (f" ({spread.low:.2f}–{spread.high:.2f})" if result.plan.repeats > 1 else "")


def _steps(result: Result) -> Iterator[Table]:
    """The step tables, one for each such suite whose replies took steps after the prefill."""
    for suite, rows in groupby((row for row in _own(result) if row.steps is not None), key=lambda row: row.suite):
        timed = result.plan.step_cost is None
        columns = ("tokens/step", "/forward", "verified", *(["bookkeeping"] if timed else []), "tables")
        table = _table(f"steps: {printable(suite)}", *columns)
        for row in rows:
            assert row.steps is not None
            table.add_row(
                row.method + (f", {row.tables}" if row.tables else ""),
                f"{row.steps.tokens_per_step:.2f}",
                f"{row.steps.tokens_per_forward:.1f}",
                f"{row.steps.verified_share:.0%}",
                *([f"{row.steps.bookkeeping_share:.1%}"] if timed else []),
                f"{row.steps.table_entries:,}" if row.tables else "",
            )
        yield table


def _notes(result: Result) -> Iterator[str]:
    if result.broken_off is not None:
        done, total = result.broken_off.replies, result.broken_off.total
        yield f"INTERRUPTED after {done} of {total} replies: only these are counted."
    if result.plan.step_cost is not None:
        costs = ", ".join(f"{tokens}: {cost:g}" for tokens, cost in sorted(result.plan.step_cost.items()))
        prefill = "is not counted" if result.plan.decoding_only else "counts as one"
        yield f"No clock was read. Plain steps by the tokens of a step: {costs}; a prefill {prefill}."
    else:
        of_what = "of whole replies, prefill included"
        if result.plan.decoding_only:
            of_what = "from each reply's first token on"
        over = ": medians over the repeats with their minimum and maximum" if result.plan.repeats > 1 else ""
        yield f"Times are {of_what}{over}. Bookkeeping is a step's time outside the model, in plain steps."
    yield (
        "Warm tables have seen the suite's earlier prompts, cold ones none; a method without tables has one value for"
        " both."
    )
    yield (
        "Speed-up is over plain decoding; identical counts replies that are plain decoding's, token for token;"
        " nats/token tell how hard a text is to predict (0: certain)."
    )
    if any(row.steps is not None for row in _own(result)):
        yield (
            "Of a step: tokens/step are those that it settled, /forward those that its forward pass computed. Verified"
            " is the share of settled tokens that were guessed before; tables are the entries learnt."
        )
    totals = [run.reply.totals for run in result.runs if run.method != PLAIN and run.reply.totals is not None]
    if totals and not any(each.verified for each in totals):
        yield "No step verified a guess: replies as short, or as hard to predict, as these prove nothing of lookahead."
    small = [suite.name for suite in result.suites if suite.prompts < MIN_QUESTIONS]
    if small:
        yield printable(f"Fewer than {MIN_QUESTIONS} prompts, so the result proves little: {', '.join(small)}.")
    for method, reason in result.left_out.items():
        yield printable(f"Left out, since it refused: {method} ({reason}).")
    if result.not_compared:
        yield printable(
            f"Sampled in their own way with the same seeds, so not compared: {', '.join(result.not_compared)}."
        )
    yield from _differences(result)


def _differences(result: Result) -> Iterator[str]:
    if not result.differences:
        others = "All other replies" if result.not_compared else "All replies"
        yield f"{others} are identical to plain decoding's."
        return
    dtype = result.model.info.dtype
    if dtype in EXACT_DTYPES:
        yield f"ATTENTION: replies differ from plain decoding's, which in {dtype} only a tie explains:"
    else:
        yield f"Replies that differ from plain decoding's (in {dtype} near ties may pick another token):"
    for each in result.differences[:MAX_DIFFERENCES]:
        found, expected = (
            "the end" if token is None else repr(_token_text(result, token)) for token in (each.found, each.expected)
        )
        entry = each.method + (f", {each.tables}" if each.tables else "")
        gap = "" if each.gap is None else f"; {nearness(abs(each.gap))}"
        asked = _prompt(result, each.suite, each.prompt)
        where = f"{each.suite} {asked['prompt'] + 1}" + ("" if asked["seed"] is None else f", seed {asked['seed']}")
        yield printable(f"  {entry}: {where}, token {each.position + 1} is {found}, not {expected}{gap}")
    if len(result.differences) > MAX_DIFFERENCES:
        yield f"  and {len(result.differences) - MAX_DIFFERENCES} more (--json has them all)"


def as_json(result: Result) -> dict[str, Any]:
    """Everything that the tables show, and each single run's totals."""
    import torch
    import transformers

    info, plan, broken_off = result.model.info, result.plan, result.broken_off
    return {
        "model": {name: getattr(info, name) for name in _MODEL} | {"tensor_types": dict(info.tensor_types)},
        "settings": {
            "repeats": plan.repeats,
            "max_new_tokens": plan.options.max_new_tokens,
            "sampling": None if result.sampling is None else result.sampling.values(),
            "seeds": [seed for seed in result.seeds if seed is not None],
            "random_weights": plan.random_weights,
            "step_cost": plan.step_cost,
            "decoding_only": plan.decoding_only,
            "threads": torch.get_num_threads(),
            "torch": torch.__version__,
            "transformers": transformers.__version__,
        },
        "suites": [{name: getattr(suite, name) for name in _SUITE} for suite in result.suites],
        "rows": [asdict(row) for row in result.rows],
        "overall": [asdict(row) for row in result.overall],
        "benchmarks": {name: [asdict(row) for row in rows] for name, rows in result.benchmarks.items()},
        "differences": [_difference(result, each) for each in map(asdict, result.differences)],
        "unexpected_differences": bool(result.differences) and info.dtype in EXACT_DTYPES,
        "left_out": result.left_out,
        "broken_off": None if broken_off is None else {"replies": broken_off.replies, "total": broken_off.total},
        "not_compared": result.not_compared,
        "runs": [
            {
                "method": run.method,
                "tables": run.tables,
                "suite": run.suite,
                **_prompt(result, run.suite, run.prompt),
                "repeat": run.repeat,
                "tokens": len(run.reply.ids),
                "seconds": run.reply.seconds,
                "decoding_tokens": run.reply.decoding_tokens,
                "decoding_seconds": run.reply.decoding_seconds,
                "steps": None if run.reply.totals is None else asdict(run.reply.totals),
            }
            for run in result.runs
        ],
    }


def _difference(result: Result, difference: dict[str, Any]) -> dict[str, Any]:
    texts = {f"{side}_text": _token_text(result, difference[side]) for side in ("expected", "found")}
    return {**difference, **_prompt(result, difference["suite"], difference["prompt"]), **texts}


def _prompt(result: Result, name: str, task: int) -> dict[str, Any]:
    """A task by its prompt, counted from 0 within its suite, and its seed."""
    suite = next(suite for suite in result.suites if suite.name == name)
    return {"prompt": task % suite.prompts, "seed": suite.tasks[task].seed}


def _token_text(result: Result, token: int | None) -> str | None:
    """A token as text; None for the end of a reply."""
    return None if token is None else str(result.model.tokenizer.decode([token]))
