"""``lade-chat compare``: questions answered in two ways, side by side, without the chat."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO

import msgspec
import typer

from lade_chat.cli.flags.arguments import Exports, Json, Limit, PromptFlag, ScreenReader, file_path, listed
from lade_chat.cli.flags.options import SharedOptions
from lade_chat.cli.flags.shared import data_folder, with_shared_options
from lade_chat.cli.flags.usage_errors import usage
from lade_chat.cli.running.engine_run import loaded_engine
from lade_chat.cli.running.output import check_exports, print_json, write_details, write_exports
from lade_chat.cli.running.process_exit import INTERRUPTED, epilog
from lade_chat.cli.running.prompt_input import read_prompt
from lade_chat.cli.running.streams import require_output
from lade_chat.export.content import Content
from lade_chat.known_models.models_at_hand import remember
from lade_chat.presentation.methods import METHODS, parse
from lade_chat.presentation.race_outcome import Score, sameness, winner
from lade_chat.presentation.sanitize import printable
from lade_chat.protocol.commands import Compare
from lade_chat.protocol.values import Message, MethodSpec, ModelInfo
from lade_chat.suites.files import read_suites
from lade_chat.suites.prompts import BUNDLED, Suite, bundled_suites, choose

if TYPE_CHECKING:
    from lade_chat.cli.running.comparison_lines import ComparisonResult

EPILOG = epilog("""
lade-chat compare "Write a Python function that returns the sum of a list."
lade-chat compare "Count from 3 to 30." --json --dtype float32 | jq .speedup
lade-chat compare "Count from 3 to 30." --export race.svg --export race.cast
lade-chat compare "Count to 30." --left 7,5,7 --right hf-prompt-lookup-10
lade-chat compare --suites lists,math --limit 5
""")

_SIDE = f"How the left side decodes: {', '.join(METHODS)}; or W,N,G, as 7,5,7."
_SUITES = f"Race over suites of prompts: {', '.join(BUNDLED)}, or those of --prompts."
QUESTION_COLUMNS = 34


@with_shared_options(without=("lookahead",))
def compare(
    context: typer.Context,
    options: SharedOptions,
    prompt: PromptFlag = None,
    as_json: Json = False,
    export: Exports = None,
    screen_reader: ScreenReader = False,
    left: Annotated[str, typer.Option(metavar="METHOD", help=_SIDE)] = "lookahead",
    right: Annotated[str, typer.Option(metavar="METHOD", help="How the right side decodes.")] = "plain",
    suites: Annotated[str | None, typer.Option(metavar="A,B,…", help=_SUITES)] = None,
    prompts: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", parser=file_path, help="Race over the prompts of FILE, as bench reads it."),
    ] = None,
    limit: Limit = None,
) -> None:
    """Race lookahead against plain decoding, side by side.

    The race is fair: each side has its own cache, and its own clock that stands while the other runs. It is even if
    the times are within 2 % of one another, or both sides took the same steps.

    --left and --right race other methods.
    """
    sides = parse(left, options.sizes()), parse(right, options.sizes())
    chosen = _suites(prompt, suites, prompts, limit)
    if chosen is not None and export:
        raise usage("--export is for a single prompt")
    if chosen is not None:
        code = compare_suites(chosen, options, sides, as_json=as_json, screen_reader=screen_reader)
    else:
        messages = options.messages(read_prompt(prompt, raw=options.raw))
        code = run_compare(messages, options, sides, as_json=as_json, screen_reader=screen_reader, exports=export or ())
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
    options: SharedOptions,
    methods: tuple[MethodSpec, MethodSpec] | tuple[()] = (),
    *,
    as_json: bool = False,
    screen_reader: bool = False,
    exports: Sequence[Path] = (),
) -> int:
    """Run the race and return the exit code: 0, or 130 if Ctrl+C ended it. Raises LadeChatError.

    Prints two live panes on a terminal, plain text in a pipe or with ``screen_reader``, one object with ``as_json``;
    without ``methods``, lookahead races plain decoding. The other arguments are those of ``run_ask``.
    """
    from rich.console import Console
    from rich.text import Text

    from lade_chat.cli.running.comparison_lines import SLOWER, run_comparison

    check_exports(exports)
    require_output()
    decoding, view = options.decoding(), options.colours
    with loaded_engine(options.model(), screen_reader=screen_reader) as (engine, model, line, out):
        live = out.isatty() and not as_json and not screen_reader
        console = Console(file=out, force_terminal=True, highlight=False) if live else None
        result = run_comparison(engine, Compare(messages, decoding, *methods), line, console, view)
        if as_json:
            print_json(result.as_json(model, decoding), out)
        elif console is not None:
            console.print(result.panes(console), Text(SLOWER, style="dim"))
            console.print("\n".join(result.verdict(model)), markup=False)
        else:
            result.print_plainly(model, out)
        if options.debug:
            for side, collected in result.sides.items():
                sys.stderr.write(f"{result.titles[side]}\n")
                write_details(collected.statistics, indent="  ")
    sides = tuple(result.sides.values())
    outcome = tuple(result.outcome(model))
    write_exports(exports, Content(messages[-1].content, model, sides, outcome, view, raw=options.raw))
    return INTERRUPTED if result.cancelled else 0


def compare_suites(
    suites: Sequence[Suite],
    options: SharedOptions,
    methods: tuple[MethodSpec, MethodSpec],
    *,
    as_json: bool = False,
    screen_reader: bool = False,
) -> int:
    """Race over every first turn and return the exit code: 0, or 130 if Ctrl+C ended it. Raises LadeChatError.

    Every race starts from empty tables. A line a race on stdout and the score below, or one object with ``as_json``.
    """
    from lade_chat.cli.running.comparison_lines import run_comparison

    score, races = Score(), list[dict[str, Any]]()
    questions = [(suite.name, question.turns[0]) for suite in suites for question in suite.questions]
    result, decoding = None, options.decoding()
    require_output()
    with loaded_engine(options.model(), screen_reader=screen_reader) as (engine, model, line, out):
        for number, (name, question) in enumerate(questions, start=1):
            line.show(f"race {number}/{len(questions)}" + (f" · {score.line()}" if score.races else ""))
            command = Compare(options.messages(question), decoding, *methods, fresh=True)
            result = run_comparison(engine, command, None, None)
            if result.cancelled:
                break
            assert result.finished is not None
            score.add(result.finished, *(side.statistics for side in result.sides.values()))
            race = result.as_json(model, decoding)
            for side in result.sides:
                del race[side]["tokens"]
            races.append({"suite": name, "prompt": question, **race})
            if not as_json:
                line.clear()
                if number == 1:
                    out.write(f"left: {result.titles['left']} · right: {result.titles['right']}\n")
                    out.write(
                        f"{'suite':<11} {'prompt':<{QUESTION_COLUMNS}} {'left':>7} {'right':>7} tok/s  speed-up\n"
                    )
                _print(out, name, question, result, model)
        line.clear()
        if as_json:
            print_json({"races": races, "score": {**msgspec.to_builtins(score), "speedup": score.speedup}}, out)
        elif result is not None:
            out.write("".join(f"{text}\n" for text in score.lines(*result.titles.values())))
            out.flush()
    return INTERRUPTED if result is not None and result.cancelled else 0


def _print(out: TextIO, name: str, question: str, result: ComparisonResult, model: ModelInfo) -> None:
    """One race on one line; a second one where the texts differ. Sides that count as even have no speed-up."""
    assert result.finished is not None
    suite, shown = (" ".join(printable(text).split()) for text in (name, question))
    shown = shown if len(shown) <= QUESTION_COLUMNS else f"{shown[: QUESTION_COLUMNS - 1]}…"
    left, right = (side.statistics for side in result.sides.values())
    speedup = result.finished.speedup
    told = "even" if winner(speedup, (left, right)) is None else f"{speedup:.2f}x"
    out.write(
        f"{suite:<11} {shown:<{QUESTION_COLUMNS}} {left.tokens_per_second:7.1f} {right.tokens_per_second:7.1f} tok/s"
        f"  {told:>8}\n"
    )
    if not result.finished.identical:
        out.write(f"{'':11} {sameness(result.finished, model.dtype)}\n")
    out.flush()
