"""``lade-chat tune``: the cost of a step on this machine, the guesses that pay, and the fastest sizes."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from lade_chat.cli.exit_codes import epilog
from lade_chat.cli.flags.arguments import Json
from lade_chat.cli.flags.shared import SharedOptions, with_some_options
from lade_chat.cli.running.engine_run import compile_steps, library_output_on_stderr
from lade_chat.cli.running.output import PassingLine, print_json
from lade_chat.cli.running.streams import require_output
from lade_chat.errors import LadeChatError, beyond_context_message
from lade_chat.presentation.sanitize import printable
from lade_chat.protocol.events import Loading
from lade_chat.protocol.values import ModelInfo, ModelOptions, Sizes
from lade_chat.settings.catalogue import SAMPLING_SETTINGS

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from lade_chat.engine.tuning import Chain, Outcome, StepTime, Window

EPILOG = epilog("""
lade-chat tune
lade-chat tune --sweep -W 20 -N 6 --model-path ./my-model
""")
BAR_COLUMNS = 24


@with_some_options(without=(*SAMPLING_SETTINGS, "colours"))
def tune(
    context: typer.Context,
    options: SharedOptions,
    sweep: Annotated[
        bool,
        typer.Option("--sweep", help="Also try fixed sizes, those of -W, -N, -G among them, against automatic ones."),
    ] = False,
    as_json: Json = False,
) -> None:
    """Measure the cost of a step on this machine, and tell how many guesses pay.

    The chat does this by itself; here you see the measurements from which it chooses its sizes.
    """
    raise typer.Exit(run_tune(options.model(), options.sizes(), with_sweep=sweep, as_json=as_json))


def run_tune(model_options: ModelOptions, more: Sizes | None, *, with_sweep: bool, as_json: bool) -> int:
    """Measure, print and return the exit code; ``more`` are further sizes for the sweep. Raises LadeChatError."""
    from rich import filesize
    from rich.console import Console

    from lade_chat.loading.checkpoint import check_files
    from lade_chat.loading.model import load

    require_output()
    check_files(model_options.path, allow_pickle=model_options.allow_pickle)
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")  # read at the import
    with PassingLine(sys.stderr) as line, library_output_on_stderr() as out:
        line.show("starting …")
        from lade_chat.engine.ranks.group import Ranks

        ranks = Ranks()
        ranks.assign(model_options)
        loaded = load(model_options, lambda stage, done, total: line.show_event(Loading(stage, done, total)))
        line.clear()
        sys.stderr.write("".join(f"{printable(notice)}\n" for notice in loaded.info.notices))
        if more and (problem := beyond_context_message(more.window_size, more.ngram_size, loaded.info.context_window)):
            raise LadeChatError(problem)
        if not loaded.info.lookahead_supported:
            raise LadeChatError("There is nothing to tune: lookahead cannot serve this model, it is decoded plainly.")
        if model_options.compiled:
            loaded = compile_steps(loaded, line)
        line.show("waiting for the other processes …" if model_options.processes > 1 else "")
        loaded = ranks.attach_all(loaded)
        from lade_chat.engine.tuning import (
            ACCEPTANCES,
            WINDOWS,
            best_chain,
            copied_bytes,
            step_times,
            sweep,
            window_cost,
        )
        from lade_chat.loading.step_costs import measure

        line.show("measuring the cost of a step …")
        loaded = ranks.with_shared_cost(replace(loaded, step_cost=measure(loaded)))
        cost = loaded.shared_cost or loaded.step_cost
        assert cost is not None
        times = step_times(cost)
        relative = cost.relative(times[-1].tokens).tolist()
        chains = [best_chain(relative, acceptance) for acceptance in ACCEPTANCES]
        windows = [window_cost(relative, *sizes) for sizes in WINDOWS]
        outcomes = None
        if with_sweep:
            outcomes = sweep(loaded, more, lambda name, done, total: line.show(f"trying {name} · {done / total:.0%}"))
        line.clear()
        if as_json:
            info = loaded.info
            model = {"model": info.name, "device": info.device, "dtype": info.dtype, "compiled": info.compiled}
            model |= {"lookahead_workers": info.lookahead_workers, "tensor_parallel": info.tensor_parallel}
            model |= {"copied_weight_bytes": copied_bytes(loaded)}
            parts: dict[str, Sequence[StepTime | Chain | Window | Outcome]] = {
                "steps": times,
                "chains": chains,
                "windows": windows,
                "sweep": outcomes or [],
            }
            print_json({**model, **{name: [row._asdict() for row in rows] for name, rows in parts.items()}}, out)
        else:
            console = Console(file=out, highlight=False, markup=False)
            console.print(_heading(loaded.info))
            _print(console, times, chains, windows, outcomes)
            if copied := copied_bytes(loaded):
                copies = filesize.decimal(copied)
                console.print(f"\nCopies of the weights for steps over several tokens: {copies}.")
    return 0


def _heading(info: ModelInfo) -> str:
    parts = [printable(info.name), info.device, info.dtype, *(["compiled"] if info.compiled else [])]
    if info.lookahead_workers > 1:
        parts.append(f"{info.lookahead_workers} processes that share each step, communication not counted")
    if info.tensor_parallel > 1:
        parts.append(f"split over {info.tensor_parallel} processes")
    return " · ".join(parts)


def _print(
    console: Console, times: list[StepTime], chains: list[Chain], windows: list[Window], outcomes: list[Outcome] | None
) -> None:
    console.print(_curve(times))
    console.print("\nCandidates in a row that pay, by how often each is right:")
    for chain in chains:
        pays = f"{chain.candidates:2} pay: {chain.speedup:.2f}x" if chain.candidates else "none pays"
        console.print(f"  {chain.acceptance:.0%}  {pays}")
    console.print("\nTokens per step that a window must gain to pay for itself:")
    for window in windows:
        size = f"W{window.window_size} N{window.ngram_size}"
        console.print(f"  {size:6}  {window.break_even:.2f}  ({window.tokens} tokens wide)")
    if outcomes is not None:
        console.print()
        console.print(_sweep(outcomes))


def _curve(times: list[StepTime]) -> Table:
    table = _table("tokens", "ms", "plain steps")
    table.add_column()
    widest = max(time.relative for time in times)
    for time in times:
        bar = "█" * max(1, round(BAR_COLUMNS * time.relative / widest))
        table.add_row(str(time.tokens), f"{1000 * time.seconds:.2f}", f"{time.relative:.2f}", bar)
    return table


def _sweep(outcomes: list[Outcome]) -> Table:
    table = _table("sizes", "tokens/step", "tok/s", "against plain")
    table.columns[0].justify = "left"
    for outcome in outcomes:
        metrics = (f"{outcome.tokens_per_step:.2f}", f"{outcome.tokens_per_second:.1f}", f"{outcome.speedup:.2f}x")
        table.add_row(outcome.sizes, *metrics)
    return table


def _table(*columns: str) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0))
    for column in columns:
        table.add_column(column, justify="right")
    return table
