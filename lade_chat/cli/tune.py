"""``lade-chat tune``: the cost of a step on this machine, the guesses that pay, and the fastest sizes."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import msgspec
import typer

from lade_chat.cli.flags.arguments import Json
from lade_chat.cli.flags.options import OF_A_REPLY, SharedOptions
from lade_chat.cli.flags.shared import data_folder, with_shared_options
from lade_chat.cli.flags.usage_errors import usage
from lade_chat.cli.running.engine_run import load_model, on_all_ranks, start_ranks
from lade_chat.cli.running.output import print_json
from lade_chat.cli.running.process_exit import epilog
from lade_chat.cli.running.status_line import PassingLine
from lade_chat.cli.running.streams import require_output
from lade_chat.errors import LadeChatError, check_window
from lade_chat.known_models.models_at_hand import remember
from lade_chat.presentation.sanitize import printable
from lade_chat.protocol.values import ModelInfo, ModelOptions, Sizes
from lade_chat.settings.catalogue import MODEL_SETTINGS

if TYPE_CHECKING:
    from rich.table import Table

    from lade_chat.engine.tuning import QualityText, StepTime, Tuning
    from lade_chat.loading.model_loader import LoadedModel

EPILOG = epilog("""
lade-chat tune
lade-chat tune --sweep -W 20 -N 6 --model-path ./my-model
""")
BAR_COLUMNS = 24


@with_shared_options(without=OF_A_REPLY, settings=MODEL_SETTINGS)
def tune(
    context: typer.Context,
    options: SharedOptions,
    sweep: Annotated[
        bool,
        typer.Option("--sweep", help="Also try fixed sizes, those of -W, -N, -G among them, against automatic ones."),
    ] = False,
    as_json: Json = False,
) -> None:
    """Measure the cost of a step here, and tell how many guesses pay.

    The chat does this by itself; here you see the measurements from which it chooses its sizes.
    """
    if options.sizes() is not None and not sweep:
        raise usage("-W, -N and -G are tried only with --sweep")
    require_output()
    model, more = options.model(), options.sizes()
    out = sys.stdout
    with PassingLine(sys.stderr) as line, redirect_stdout(sys.stderr):  # libraries print
        line.show("starting …")
        unquantised = _unquantised(model, line) if model.quantize else None
        loaded = _loaded(model, more, line)
        from lade_chat.engine import tuning

        report = tuning.tuning(loaded)
        if sweep:
            outcomes = tuning.sweep(
                loaded, more, lambda name, done, total: line.show(f"trying {name} · {done / total:.0%}")
            )
            report = report._replace(sweep=outcomes)
        found = None
        if unquantised is not None:
            line.show("comparing replies …")
            found = tuning.quality(loaded, *unquantised)
        line.clear()
        if as_json:
            more_figures = {} if found is None else {"quality": found._asdict()}
            print_json({**_as_json(loaded.info, report), **more_figures}, out)
        else:
            _print(loaded.info, report, out)
            if found is not None:
                out.write(
                    f"\nQuality: perplexity {found.perplexity:.3f}, unquantised {found.unquantised_perplexity:.3f};"
                    f" {found.differing} of {found.texts} replies differ.\n"
                )
    remember(data_folder(context.obj), model)


def _unquantised(options: ModelOptions, line: PassingLine) -> tuple[list[QualityText], float]:
    """Return replies of the model before it is quantised, and its perplexity; its memory is free again afterwards."""
    loaded = load_model(msgspec.structs.replace(options, quantize=None), line)
    from lade_chat.engine.tuning import perplexity, replies

    line.show("replies of the unquantised model …")
    texts = list(replies(loaded))
    return texts, perplexity(loaded, texts)


def _loaded(options: ModelOptions, more: Sizes | None, line: PassingLine) -> LoadedModel:
    """Load the model on all ranks and measure the cost of its steps. Raises LadeChatError."""
    ranks = start_ranks(options)
    with ranks.loading():
        loaded = load_model(options, line)
    if more is not None:
        check_window(more.window_size, more.ngram_size, loaded.info.context_window)
    if not loaded.info.lookahead_supported:
        raise LadeChatError("There is nothing to tune: lookahead cannot serve this model, it is decoded plainly.")
    loaded = on_all_ranks(loaded, options, ranks, line)
    from lade_chat.loading.saved_step_cost import measure_and_save

    line.show("measuring the cost of a step …")
    measure_and_save(loaded)
    return loaded


def _as_json(info: ModelInfo, report: Tuning) -> dict[str, Any]:
    names = ("device", "dtype", "compiled", "bit_exact", "lookahead_workers", "tensor_parallel")
    parts = ("steps", "chains", "windows", "sweep")
    return {
        "model": info.name,
        **{name: getattr(info, name) for name in names},
        "dtype_milliseconds": report.dtype_times,
        "copied_weight_bytes": report.copied_bytes,
        "spread": report.spread,
        "rough": report.is_rough,
        **{name: [row._asdict() for row in getattr(report, name)] for name in parts},
    }


def _heading(info: ModelInfo) -> str:
    how = [words for words, so in (("compiled", info.compiled), ("steps in C", info.bit_exact)) if so]
    parts = [printable(info.name), info.device, info.dtype, *how]
    if info.lookahead_workers > 1:
        parts.append(f"{info.lookahead_workers} processes that share each step, communication not counted")
    if info.tensor_parallel > 1:
        parts.append(f"split over {info.tensor_parallel} processes")
    return " · ".join(parts)


def _print(info: ModelInfo, report: Tuning, out: TextIO) -> None:
    from rich import filesize
    from rich.console import Console

    console = Console(file=out, highlight=False, markup=False)
    console.print(_heading(info))
    if report.dtype_times and not info.tensor_types:  # a file's weights stay as they are
        times = ", ".join(f"{dtype} {time:.1f} ms" for dtype, time in report.dtype_times.items())
        console.print(f"Products of this shape: {times}. --dtype auto takes the faster.")
    console.print(_curve(report.steps))
    if report.is_rough:
        longer = f"a step took up to {report.spread:.1f} times as long"
        console.print(f"Rough, so not kept: the machine was busy, {longer}.")
        console.print("What follows from them is as rough: run this again while nothing else runs.")
    roughly, about, digits = (", roughly", "about ", 1) if report.is_rough else ("", "", 2)
    console.print(f"\nHow many candidates in a row a step should check{roughly}, if each is right so often:")
    for chain in report.chains:
        gain = f"{chain.speedup:.{digits}f} times as fast as plain" if chain.candidates else "plain"
        console.print(f"  {chain.acceptance:.0%} right: {about}{chain.candidates:2}, {gain}")
    console.print(f"\nTokens per step that a window must gain to be worth its time{roughly}:")
    for window in report.windows:
        size = f"W{window.window_size} N{window.ngram_size}"
        console.print(f"  {size:6}  {about}{window.break_even:.{digits}f}  ({window.tokens} tokens wide)")
    if report.sweep:
        table = _table("sizes", "tokens/step", "tok/s", "against plain")
        table.columns[0].justify = "left"
        for outcome in report.sweep:
            rates = (f"{outcome.tokens_per_step:.2f}", f"{outcome.tokens_per_second:.1f}", f"{outcome.speedup:.2f}x")
            table.add_row(outcome.sizes, *rates)
        console.print()
        console.print(table)
    if report.copied_bytes:
        copies = filesize.decimal(report.copied_bytes)
        console.print(f"\nCopies of the weights in bfloat16: {copies}.")


def _curve(times: list[StepTime]) -> Table:
    table = _table("tokens", "ms", "plain steps")
    table.add_column()
    widest = max(time.relative for time in times)
    for time in times:
        bar = "█" * max(1, round(BAR_COLUMNS * time.relative / widest))
        table.add_row(str(time.tokens), f"{1000 * time.seconds:.2f}", f"{time.relative:.2f}", bar)
    return table


def _table(*columns: str) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 3, 0, 0))
    for column in columns:
        table.add_column(column, justify="right")
    return table
