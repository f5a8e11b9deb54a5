"""``lade-chat compare``: questions answered in two ways, side by side, without the chat."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from lade_chat.cli.exit_codes import INTERRUPTED, epilog
from lade_chat.cli.flags.arguments import (
    Exports,
    Json,
    Left,
    Limit,
    PromptFiles,
    PromptFlag,
    Right,
    ScreenReader,
    SuiteNames,
    listed,
)
from lade_chat.cli.flags.settings import data_folder
from lade_chat.cli.flags.shared import SharedOptions, with_some_options
from lade_chat.cli.flags.usage_errors import usage
from lade_chat.cli.running.comparison_lines import SLOWER, ComparisonResult, run_comparison
from lade_chat.cli.running.engine_run import loaded_engine
from lade_chat.cli.running.output import check_exports, print_json, write_details, write_exports
from lade_chat.cli.running.prompt_input import read_prompt
from lade_chat.cli.running.streams import require_output
from lade_chat.cli.running.suite_comparisons import compare_suites
from lade_chat.export.content import Content
from lade_chat.presentation.methods import LOOKAHEAD, PLAIN, parse
from lade_chat.presentation.sources import ColourView
from lade_chat.protocol.commands import Compare
from lade_chat.protocol.values import DecodingOptions, Message, MethodSpec, ModelOptions
from lade_chat.settings.catalogue import SETTINGS
from lade_chat.settings.models import remember
from lade_chat.suites.files import read_suites
from lade_chat.suites.prompts import Suite, bundled_suites, choose

if TYPE_CHECKING:
    from lade_chat.engine.process.command_server import JobEngine

EPILOG = epilog("""
lade-chat compare "Write a Python function that returns the sum of a list."
lade-chat compare "Count from 3 to 30." --json --dtype float32 | jq .speedup
lade-chat compare "Count from 3 to 30." --export race.svg --export race.cast
lade-chat compare "Count to 30." --left 7,5,7 --right hf-prompt-lookup-10
lade-chat compare --suites lists,math --limit 5
""")

DEFAULT = (MethodSpec(LOOKAHEAD), MethodSpec(PLAIN))


@with_some_options(without=("lookahead",), settings=SETTINGS)
def compare(
    context: typer.Context,
    options: SharedOptions,
    prompt: PromptFlag = None,
    as_json: Json = False,
    export: Exports = None,
    screen_reader: ScreenReader = False,
    left: Left = "lookahead",
    right: Right = "plain",
    suites: SuiteNames = None,
    prompts: PromptFiles = None,
    limit: Limit = None,
) -> None:
    """Race lookahead against plain decoding, side by side.

    The race is fair: each side has its own cache, and its own clock that stands while the other runs. It is even if
    the times are within 2 % of one another, or both sides took the same steps.

    --left and --right race other methods.
    """
    sides = parse(left, options.sizes()), parse(right, options.sizes())
    chosen = _suites(prompt, suites, prompts, limit)
    if chosen is not None:
        if export:
            raise usage("--export is for a single prompt")

        system = options.messages("")[:-1]
        model_and_decoding = options.model(), options.decoding()
        code = compare_suites(chosen, system, *model_and_decoding, sides, as_json=as_json, screen_reader=screen_reader)
    else:
        code = run_compare(
            options.messages(read_prompt(prompt, raw=options.raw)),
            options.model(),
            options.decoding(),
            as_json=as_json,
            screen_reader=screen_reader,
            exports=export or (),
            view=options.colours,
            method_specs=sides,
        )
    remember(data_folder(context.obj), options.model())
    raise typer.Exit(code)


def _suites(prompt: str | None, names: str | None, files: list[Path] | None, limit: int | None) -> list[Suite] | None:
    """Return the suites to race over; None where a single prompt is meant. Raises a usage error, or LadeChatError."""
    if names is None and not files:
        if limit is not None:
            raise usage("--limit is for --suites and --prompts")
        return None
    if prompt is not None:
        raise usage("give a prompt, or --suites and --prompts, not both")
    suites = [suite for path in files or () for suite in read_suites(path)] or bundled_suites()
    return choose(suites, listed(names, "--suites"), limit)


def run_compare(
    messages: tuple[Message, ...],
    model_options: ModelOptions,
    options: DecodingOptions,
    *,
    as_json: bool = False,
    screen_reader: bool = False,
    exports: Sequence[Path] = (),
    view: ColourView = "verified",
    method_specs: tuple[MethodSpec, MethodSpec] = DEFAULT,
    engine: JobEngine | None = None,
) -> int:
    """Run the race and return the exit code: 0, or 130 if Ctrl+C ended it. Raises LadeChatError.

    Prints two live panes on a terminal, plain text in a pipe or with ``screen_reader``, one object with ``as_json``;
    the other arguments are those of ``run_ask``.
    """
    from rich.console import Console
    from rich.text import Text

    check_exports(exports)
    require_output()
    with loaded_engine(model_options, engine, screen_reader=screen_reader) as (engine, model, line, out):
        live = out.isatty() and not as_json and not screen_reader
        console = Console(file=out, force_terminal=True, highlight=False) if live else None
        result = run_comparison(engine, Compare(messages, options, *method_specs), line, console, view)
        if as_json:
            print_json(result.as_json(model, options), out)
        elif console is not None:
            console.print(result.panes(console), Text(SLOWER, style="dim"))
            console.print("\n".join(result.verdict(model)), markup=False)
        else:
            result.print_plainly(model, out)
        if options.debug:
            _print_details(result)
    sides = tuple(result.sides.values())
    write_exports(exports, Content(messages[-1].content, model, sides, tuple(result.outcome(model)), view))
    return INTERRUPTED if result.cancelled else 0


def _print_details(result: ComparisonResult) -> None:
    for side, collected in result.sides.items():
        sys.stderr.write(f"{result.titles[side]}\n")
        write_details(collected.statistics, indent="  ")
