"""The ``lade-chat`` command. Nothing heavy is imported before a command runs: ``--help`` has to be quick."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated

import typer

from lade_chat import __version__
from lade_chat.cli.ask_command import ask
from lade_chat.cli.bench import bench
from lade_chat.cli.flags.arguments import Json, Plain, Prompt, Theme
from lade_chat.cli.flags.comparison import Left, Limit, PromptFiles, Right, SuiteNames, contenders, suites_of
from lade_chat.cli.flags.conversations import Continue, DataDir, Resume, with_value_of_resume
from lade_chat.cli.flags.epilogs import (
    ASK_EXAMPLES,
    BENCH_EXAMPLES,
    CHAT_EXAMPLES,
    COMPARE_EXAMPLES,
    EXIT_CODES,
    EXPLAIN_EXAMPLES,
    SETTINGS_EXAMPLES,
    TUNE_EXAMPLES,
    WEB_EXAMPLES,
)
from lade_chat.cli.flags.explain import FROM_SETTINGS, NOT_HERE, Question
from lade_chat.cli.flags.numbers import whole
from lade_chat.cli.flags.settings import origins
from lade_chat.cli.flags.shared import SharedOptions, with_shared_options, with_some_options
from lade_chat.cli.flags.usage import USAGE_ERROR, usage
from lade_chat.cli.running.pictures import Exports
from lade_chat.cli.running.prompt_input import read_prompt
from lade_chat.cli.running.streams import OutputError, claim_streams, discard_output, is_of_output
from lade_chat.engine.ranks import torchrun
from lade_chat.settings.catalogue import SAMPLING_SETTINGS
from lade_chat.threads import wait_briefly

FAILURE = 1
USAGE = 2
INTERRUPTED = 130
READER_GONE = 141
"""As a shell tells of a program that SIGPIPE has ended."""

_OLD_FLAGS = {"plain": "screen-reader"}


def canonical_flag(name: str) -> str:
    """Return the documented spelling of a flag; underscores and former names are accepted but not shown."""
    dashed = name.replace("_", "-")
    return _OLD_FLAGS.get(dashed, dashed)


app = typer.Typer(
    name="lade-chat",
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help shows every name of every flag in 80 columns
    context_settings={"help_option_names": ["-h", "--help"], "token_normalize_func": canonical_flag},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"lade-chat {__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True, epilog=f"{CHAT_EXAMPLES}\n{EXIT_CODES}")
@with_shared_options
def chat(
    context: typer.Context,
    options: SharedOptions,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit."),
    ] = False,
    resume: Resume = None,
    continue_latest: Continue = False,
    data_dir: DataDir = None,
    theme: Theme = None,
) -> None:
    """Chat with a causal language model, decoded by exact lookahead decoding.

    Without a command the chat opens. A flag that a command has too may stand before that command or behind it.
    """
    if context.invoked_subcommand is None:
        if resume is not None and continue_latest:
            raise usage("--resume and --continue exclude one another")
        if not _has_terminal():
            raise usage("the chat needs a terminal; in a pipe or a script use: lade-chat ask PROMPT")
        from lade_chat.cli.chat import open_chat
        from lade_chat.tui.app.preferences import Preferences

        preferences = Preferences.of(context.obj, origins(context, context.obj), theme, options.colours.view)
        raise typer.Exit(open_chat(options, data_dir, preferences, resume=resume, latest=continue_latest))


app.command(epilog=f"{ASK_EXAMPLES}\n{EXIT_CODES}")(with_shared_options(ask))


@app.command(epilog=f"{COMPARE_EXAMPLES}\n{EXIT_CODES}")
@with_shared_options
def compare(
    context: typer.Context,
    options: SharedOptions,
    prompt: Prompt = None,
    as_json: Json = False,
    export: Exports = None,
    plain: Plain = False,
    left: Left = "lookahead",
    right: Right = "plain",
    suite: SuiteNames = None,
    prompts: PromptFiles = None,
    limit: Limit = None,
) -> None:
    """Answer twice, in two ways, side by side: lookahead against plain decoding, unless --left and --right say else.

    The race is fair: each side has a cache of its own, and a clock of its own that stands while the other runs.

    The sides are what --left and --right say, so --no-lookahead changes nothing here.
    """
    sides, suites = contenders(left, right, options.sizes()), suites_of(prompt, suite, prompts, limit)
    if suites is not None:
        if export:
            raise usage("--export is for a single prompt")
        from lade_chat.cli.compare_suite import compare_suites

        system = options.messages("")[:-1]
        settled = options.model(), options.decoding()
        raise typer.Exit(compare_suites(suites, system, *settled, sides, as_json=as_json, plain=plain))
    from lade_chat.cli.compare import compare

    messages = options.messages(read_prompt(prompt, raw=options.raw))
    settled = options.model(), options.decoding()
    pictures, view = export or (), options.colours.view
    code = compare(messages, *settled, as_json=as_json, plain=plain, exports=pictures, view=view, contenders=sides)
    raise typer.Exit(code)


@app.command(epilog=f"{EXPLAIN_EXAMPLES}\n{EXIT_CODES}")
@with_some_options(without=NOT_HERE, settings=FROM_SETTINGS)
def explain(context: typer.Context, options: SharedOptions, question: Question = None, theme: Theme = None) -> None:
    """Show how lookahead decoding works, on steps that the model takes before your eyes.

    Three short walks, from start to end with the space bar: guesses that settle, n-grams that are collected, guesses
    that are verified; beside each step its attention mask.
    """
    if not _has_terminal():
        raise usage("explain needs a terminal")
    from lade_chat.cli.explain import explain

    raise typer.Exit(explain(options.model(), question, theme))


@app.command(epilog=f"{TUNE_EXAMPLES}\n{EXIT_CODES}")
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
    """Measure what a step costs here, and tell how many guesses pay.

    The chat does this by itself; here you see the figures that its automatic sizes follow from.
    """
    from lade_chat.cli.tune import tune

    raise typer.Exit(tune(options.model(), options.sizes(), with_sweep=sweep, as_json=as_json))


@app.command(epilog=f"{SETTINGS_EXAMPLES}\n{EXIT_CODES}")
@with_shared_options
def settings(
    context: typer.Context,
    options: SharedOptions,
    assignments: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME=VALUE]...", help="What to write into the file; NAME= forgets."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Show what is settled and where each value comes from, or change the file.

    Flags go over the environment (LADE_CHAT_TEMPERATURE, …), and that over the file. A bad name or value is told, and
    the rest counts.
    """
    from lade_chat.cli.settings import change, show

    if assignments:
        raise typer.Exit(change(context.obj, assignments))
    raise typer.Exit(show(options, context.obj, origins(context, context.obj), as_json=as_json))


@app.command(epilog=f"{WEB_EXAMPLES}\n{EXIT_CODES}")
@with_shared_options
def web(
    context: typer.Context,
    options: SharedOptions,
    host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="Where to listen; another one opens this machine to others.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(metavar="INT", parser=whole(0, 65535), help="The port; 0 for any free one.")
    ] = 8000,
    open_browser: Annotated[bool, typer.Option("--open", help="Open the address in this machine's browser.")] = False,
    theme: Theme = None,
    data_dir: DataDir = None,
) -> None:
    """Serve the chat to a browser.

    Prints the address to open; without the token at its end nobody gets in. Each tab is a chat of its own, and all
    of them share one model, which answers them in turn.
    """
    from lade_chat.cli.web import serve

    if not host.strip():
        raise usage("--host is empty: give an address of this machine, as 127.0.0.1")
    where = origins(context, context.obj)
    own = theme if where["theme"] == "flag" else None  # else that of the settings, as they are when a tab is opened
    raise typer.Exit(serve(options, host, port, theme=own, data_dir=data_dir, origins=where, open_browser=open_browser))


app.command(epilog=f"{BENCH_EXAMPLES}\n{EXIT_CODES}")(bench)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code; whatever goes wrong is one line on stderr.

    Under torchrun that is rank 0's part; the other ranks serve it until it has ended.
    """
    if not torchrun.under_torchrun():
        return _main(arguments)
    if torchrun.rank() > 0:
        from lade_chat.engine.ranks.worker import run_under_torchrun

        run_under_torchrun()
    parent = torchrun.watch()
    try:
        return _main(arguments)
    finally:
        torchrun.announce_end(parent)


def _main(arguments: Sequence[str] | None) -> int:
    wait_briefly()
    claim_streams()
    try:
        given = with_value_of_resume(sys.argv[1:] if arguments is None else arguments, _command_names())
        code = app(args=given, prog_name="lade-chat", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except BrokenPipeError:
        return _reader_gone()
    except SystemExit as ended:  # what the parser makes of a broken pipe in a command
        if not isinstance(ended.__context__, BrokenPipeError):
            raise
        return _reader_gone()
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    except Exception as error:
        if os.environ.get("LADE_CHAT_TRACEBACK"):
            raise
        if isinstance(error, OSError) and is_of_output(error):
            discard_output()
            error = OutputError(f"the output cannot be written: {error.strerror}.")
        return _complain(error)


def _command_names() -> set[str]:
    return {each.name or each.callback.__name__ for each in app.registered_commands if each.callback is not None}


def _reader_gone() -> int:
    """Whoever read our output has left, as head does: nothing to complain about."""
    for stream in (sys.__stdout__, sys.__stderr__):  # the parser has put others in their places
        if stream is not None:
            with suppress(OSError, ValueError):
                stream.flush()
    discard_output()
    return READER_GONE


def _complain(error: Exception) -> int:
    """Say in one line what went wrong, and return the exit code for it."""
    from lade_chat.cli.flags.suggestions import missing_option
    from lade_chat.engine.process.server import one_line
    from lade_chat.errors import LadeChatError
    from lade_chat.presentation.sanitize import printable

    if isinstance(error, USAGE_ERROR):
        context = getattr(error, "ctx", None)
        command = context.command_path if context is not None else "lade-chat"
        missing = hasattr(error, "possibilities") and context is not None
        text = missing_option(error.option_name, context) if missing else error.format_message()  # type: ignore[attr-defined]
        text, code = f"{text} (see {command} --help)", USAGE
    elif isinstance(error, LadeChatError):
        text, code = str(error), FAILURE
    else:
        text, code = f"{one_line(error)} (LADE_CHAT_TRACEBACK=1 shows where)", FAILURE
    with suppress(OSError):  # a disk that is full
        sys.stderr.write(f"error: {printable(' '.join(text.split()))}\n")
    return code


def _has_terminal() -> bool:
    # Textual reads the first, measures the second and draws on the third.
    # A stream that was closed is None.
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr))
