"""The ``lade-chat`` command. Nothing heavy is imported before a command runs: ``--help`` has to be quick."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from io import TextIOWrapper
from typing import Annotated

import typer

from lade_chat import __version__
from lade_chat.cli.bench import bench
from lade_chat.cli.options import SAMPLING_FLAGS, SharedOptions, with_shared_options, with_some_options
from lade_chat.cli.pictures import Exports
from lade_chat.threads import wait_briefly

FAILURE = 1
USAGE = 2
INTERRUPTED = 130

EXIT_CODES = "Exit codes: 0 done · 1 failed · 2 wrong usage · 130 interrupted"
CHAT_EXAMPLES = """\b
Examples:
  lade-chat
  lade-chat --model_path Qwen/Qwen2.5-0.5B-Instruct --dtype float32
  lade-chat --model_path ./my-model --no-lookahead
  lade-chat --temperature 0.8 --top-p 0.9
  lade-chat ask "Count from 3 to 30."
"""
ASK_EXAMPLES = """\b
Examples:
  lade-chat ask "Count from 3 to 30." -W 10 -N 4
  git diff | lade-chat ask --system "Write a commit message." > message.txt
  lade-chat ask "Hello" --json | jq .tokens_per_step
  lade-chat ask "Tell me a story." --temperature 0.8 --top-p 0.9 --seed 7
  lade-chat ask "Count from 3 to 30." --stop 12 --stop $'\\n'
  lade-chat ask "Tell me a short story about a fox." --export fox.html --export fox.gif
"""
COMPARE_EXAMPLES = """\b
Examples:
  lade-chat compare "Write a Python function that returns the sum of a list."
  lade-chat compare "Count from 3 to 30." --json --dtype float32 | jq .speedup
  lade-chat compare "Count from 3 to 30." --export race.svg --export race.cast
"""
BENCH_EXAMPLES = """\b
Examples:
  lade-chat bench --suites code,math --methods lookahead,hf-generate
  lade-chat bench --fixed 15,5,15 --fixed 5,3,5 --sweep --plot speed.png
  lade-chat bench --pad-cost 1.1B --dtype bfloat16 --suites story --repeats 5
  lade-chat bench --model_path ./my-model --prompts question.jsonl --limit 20
  lade-chat bench --json | jq .overall
"""
TUNE_EXAMPLES = """\b
Examples:
  lade-chat tune
  lade-chat tune --sweep -W 20 -N 6 --model_path ./my-model
"""

_USAGE_ERROR: type[Exception] = typer.BadParameter.__mro__[1]
"""The root of everything that is wrong with a command line; typer names only this one kind of it in public."""

app = typer.Typer(
    name="lade-chat",
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help shows every name of every flag in 80 columns
    context_settings={"help_option_names": ["-h", "--help"]},
)

Prompt = Annotated[
    str | None,
    typer.Argument(metavar="PROMPT", help="What to ask; without it, or as -, stdin is read.", show_default=False),
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object, and nothing else, on stdout.")]


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
) -> None:
    """Chat with a causal language model, decoded by exact lookahead decoding.

    Without a command the chat opens. The flags count for the commands too, before or behind them.
    """
    if context.invoked_subcommand is None:
        raise typer.Exit(_open_chat(options))


@app.command(epilog=f"{ASK_EXAMPLES}\n{EXIT_CODES}")
@with_shared_options
def ask(
    context: typer.Context,
    options: SharedOptions,
    prompt: Prompt = None,
    as_json: Json = False,
    export: Exports = None,
) -> None:
    """Ask once and print the answer.

    On a terminal the answer streams, its verified tokens tinted.

    In a pipe it is exactly the model's text, with no line break added.
    """
    from lade_chat.cli.ask import ask

    messages = options.messages(_read_prompt(prompt, raw=options.raw))
    raise typer.Exit(ask(messages, options.model(), options.decoding(), as_json=as_json, exports=export or ()))


@app.command(epilog=f"{COMPARE_EXAMPLES}\n{EXIT_CODES}")
@with_shared_options
def compare(
    context: typer.Context,
    options: SharedOptions,
    prompt: Prompt = None,
    as_json: Json = False,
    export: Exports = None,
) -> None:
    """Answer twice, lookahead on against off, side by side.

    The race is fair: each side has a cache of its own, and a clock of its own that stands while the other runs.

    One side always decodes by lookahead and one plainly, so --no-lookahead changes nothing here.
    """
    from lade_chat.cli.compare import compare

    messages = options.messages(_read_prompt(prompt, raw=options.raw))
    raise typer.Exit(compare(messages, options.model(), options.decoding(), as_json=as_json, exports=export or ()))


@app.command(epilog=f"{TUNE_EXAMPLES}\n{EXIT_CODES}")
@with_some_options(without=SAMPLING_FLAGS)
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


app.command(epilog=f"{BENCH_EXAMPLES}\n{EXIT_CODES}")(bench)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code; whatever goes wrong is one line on stderr."""
    wait_briefly()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that lacks a character must not end a reply
    # What would be written to a closed stream goes nowhere.
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    try:
        code = app(args=arguments, prog_name="lade-chat", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except BrokenPipeError:  # whoever read our output has gone, as head does: nothing to complain about
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILURE
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    except Exception as error:
        if os.environ.get("LADE_CHAT_TRACEBACK"):
            raise
        return _complain(error)


def _complain(error: Exception) -> int:
    """Say in one line what went wrong, and return the exit code for it."""
    from lade_chat.engine.process import one_line
    from lade_chat.errors import LadeChatError
    from lade_chat.sanitize import printable

    if isinstance(error, _USAGE_ERROR):
        context = getattr(error, "ctx", None)
        command = context.command_path if context is not None else "lade-chat"
        text, code = f"{error.format_message()} (see {command} --help)", USAGE  # type: ignore[attr-defined]
    elif isinstance(error, LadeChatError):
        text, code = str(error), FAILURE
    else:
        text, code = f"{one_line(error)} (LADE_CHAT_TRACEBACK=1 shows where)", FAILURE
    sys.stderr.write(f"error: {printable(' '.join(text.split()))}\n")
    return code


def _open_chat(options: SharedOptions) -> int:
    """Open the chat, with the engine in a process of its own, and return the exit code."""
    if not _has_terminal():
        raise _usage("the chat needs a terminal; in a pipe or a script use: lade-chat ask PROMPT")
    from lade_chat.engine.client import EngineClient
    from lade_chat.tui.app import ChatApp

    engine = EngineClient()
    try:
        chat_app = ChatApp(engine, options.model(), options.decoding(), system=options.system, debug=options.debug)
        chat_app.run()
    finally:
        engine.close()
    return chat_app.return_code or 0


def _has_terminal() -> bool:
    # Textual reads the first, measures the second and draws on the third.
    # A stream that was closed is None.
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout, sys.stderr))


def _read_prompt(prompt: str | None, *, raw: bool) -> str:
    """The prompt given, or all of stdin (less the line breaks at its end, unless the bare text is gone on from)."""
    if sys.stdin is None and prompt in (None, "-"):
        raise _usage("a prompt is missing, and standard input is closed")
    if prompt is None and sys.stdin.isatty():
        raise _usage("a prompt is missing: give one as an argument or through a pipe")
    if prompt is None or prompt == "-":
        prompt = sys.stdin.buffer.read().decode("utf-8", "replace")
        prompt = prompt if raw else prompt.rstrip("\r\n")
    if not prompt.strip():
        raise _usage("the prompt is empty")
    return prompt


def _usage(message: str) -> Exception:
    return _USAGE_ERROR(message)
