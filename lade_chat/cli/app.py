"""The ``lade-chat`` command. Nothing heavy is imported before a command runs, so that ``--help`` is quick."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import typer
from typer.core import TyperCommand

from lade_chat.child_processes import limit_spinning
from lade_chat.cli import ask, bench, chat, compare, demo, explain, manual, models, settings, tune, web
from lade_chat.cli.flags.arguments import with_value_of_resume
from lade_chat.cli.flags.usage_errors import USAGE_ERROR, usage_line
from lade_chat.cli.running.process_exit import FAILURE, INTERRUPTED, READER_GONE, USAGE, kept_interrupts
from lade_chat.cli.running.streams import claim_streams, discard_output, is_output_error
from lade_chat.engine.ranks import torchrun
from lade_chat.errors import TRACEBACK, LadeChatError, UsageError, unexpected


class CliCommand(TyperCommand):
    """A command whose help writes flags as the parser does, each metavar beside its name."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Raise usage errors that know their command: the parser's error for a missing value does not."""
        try:
            return super().parse_args(ctx, args)
        except USAGE_ERROR as error:
            error.ctx = getattr(error, "ctx", None) or ctx  # type: ignore[attr-defined]
            raise

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the arguments, then the flags, each with its help."""
        rows: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": []}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if record is not None and parameter.param_type_name == "argument":
                rows["Arguments"].append((parameter.metavar or record[0], record[1]))
            elif record is not None:
                rows["Options"].append(record)
        for title, written in rows.items():
            if written:
                with formatter.section(title):
                    formatter.write_dl(written)


MAX_ERROR_CHARACTERS = 600


app = typer.Typer(
    name="lade-chat",
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # plain help shows every name of every flag in 80 columns
    context_settings={
        "help_option_names": ["-h", "--help"],
        "token_normalize_func": lambda name: name.replace("_", "-"),  # underscores are accepted, but not shown
    },
)
app.callback(invoke_without_command=True, epilog=chat.EPILOG)(chat.chat)
for module in (ask, compare, explain, demo, manual, tune, models, settings, web, bench):
    name = module.__name__.rpartition(".")[2]
    app.command(cls=CliCommand, epilog=module.EPILOG)(getattr(module, name))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code; every failure is one line on stderr.

    Under torchrun rank 0 runs the command, and the other ranks serve it until it ends.
    """
    if not torchrun.is_under_torchrun():
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
    limit_spinning()
    claim_streams()
    try:
        try:
            os.getcwd()  # where it is gone, libraries of torch abort the process
        except OSError as error:
            raise LadeChatError(f"The working folder cannot be used ({error.strerror}): cd to another.") from None
        commands = {each.callback.__name__ for each in app.registered_commands if each.callback is not None}
        given = with_value_of_resume(sys.argv[1:] if arguments is None else arguments, commands)
        with kept_interrupts():
            code = app(args=given, prog_name="lade-chat", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except BrokenPipeError:
        return _reader_gone()
    except SystemExit as ended:  # the parser's answer to a broken pipe in a command
        if not isinstance(ended.__context__, BrokenPipeError):
            raise
        return _reader_gone()
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    except Exception as error:
        if os.environ.get(TRACEBACK):
            raise
        if isinstance(error, OSError) and is_output_error(error):
            discard_output()
            error = LadeChatError(f"the output cannot be written: {error.strerror}.")
        return _complain(error)


def _reader_gone() -> int:
    """End quietly: the reader of our output has left, as ``head`` does."""
    for stream in (sys.__stdout__, sys.__stderr__):  # the parser has replaced sys.stdout and sys.stderr
        if stream is not None:
            with suppress(OSError, ValueError):
                stream.flush()
    discard_output()
    return READER_GONE


def _complain(error: Exception) -> int:
    """Write a line, cut in its middle if it repeats a whole file: its end tells what to do."""
    from lade_chat.presentation.sanitize import printable

    if isinstance(error, USAGE_ERROR):
        text, code = usage_line(error), USAGE
    elif isinstance(error, LadeChatError) or type(error).__name__ == "RankLostError":  # its import takes seconds
        text, code = str(error), USAGE if isinstance(error, UsageError) else FAILURE
    else:
        text, code = unexpected(error), FAILURE
    line = " ".join(text.split())
    if len(line) > MAX_ERROR_CHARACTERS:
        line = f"{line[: MAX_ERROR_CHARACTERS // 2]} … {line[-MAX_ERROR_CHARACTERS // 2 :]}"
    with suppress(OSError):  # a full disk
        sys.stderr.write(f"error: {printable(line)}\n")
    return code
