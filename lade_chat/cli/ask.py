"""``lade-chat ask``: one question, one answer, without a screen."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING, Annotated

import typer

from lade_chat.cli.flags.arguments import DataDir, Exports, Json, PromptFlag, RememberFlag, ScreenReader, file_path
from lade_chat.cli.flags.options import SharedOptions
from lade_chat.cli.flags.shared import data_folder, given_by, with_shared_options
from lade_chat.cli.flags.usage_errors import usage
from lade_chat.cli.running.engine_run import loaded_engine, run
from lade_chat.cli.running.output import (
    Collected,
    LineWriter,
    TextWriter,
    ThoughtWriter,
    check_exports,
    print_json,
    spoken,
    write_details,
    write_exports,
)
from lade_chat.cli.running.process_exit import INTERRUPTED, epilog
from lade_chat.cli.running.prompt_input import read_prompt
from lade_chat.cli.running.status_line import PassingLine
from lade_chat.cli.running.streams import require_output
from lade_chat.engine.job import Job
from lade_chat.export.content import Content
from lade_chat.known_models import models_at_hand
from lade_chat.presentation.metric_words import left_out, reply_parts
from lade_chat.presentation.status_parts import fit
from lade_chat.presentation.thought_splitter import AnswerStream, nothing_said
from lade_chat.protocol.commands import Reply
from lade_chat.protocol.events import Prefilling, ReplyFinished, ReplyStarted, Tokens
from lade_chat.protocol.values import Message

if TYPE_CHECKING:
    from lade_chat.cli.running.stored_turn import StoredTurn
    from lade_chat.engine.process.command_server import JobEngine

NO_THINKING_SWITCH = (
    "the chat template of this model has no switch for thinking; --max-thought-tokens limits a thought."
)
_ANSWERS = "Answer each line of FILE (- for stdin), a prompt or an object with prompt or messages, with a JSON line."
_KEPT = "With --batch: write the answers here. Answers already in it are kept, not asked for again."
EPILOG = epilog(r"""
lade-chat ask "Count from 3 to 30." -W 10 -N 4
git diff | lade-chat ask --system "Write a commit message." > message.txt
cat notes.txt | lade-chat ask -m qwen "Summarise this:"
lade-chat ask "Summarise @notes.txt"
lade-chat ask --continue "Shorter, please."
lade-chat ask --batch prompts.txt --output answers.jsonl
lade-chat ask "Hello" --json | jq .tokens_per_step
lade-chat ask "Tell me a story." --temperature 0.8 --top-p 0.9 --seed 7
lade-chat ask "Count from 3 to 30." --stop 12 --stop $'\n'
lade-chat ask "Tell me a story." --export fox.html --export fox.gif
""")


@with_shared_options()
def ask(
    context: typer.Context,
    options: SharedOptions,
    prompt: PromptFlag = None,
    as_json: Json = False,
    show_thinking: Annotated[
        bool, typer.Option("--show-thinking", help="Write what the model thinks before its answer to stderr.")
    ] = False,
    export: Exports = None,
    batch: Annotated[Path | None, typer.Option(metavar="FILE", parser=file_path, help=_ANSWERS)] = None,
    output: Annotated[Path | None, typer.Option("--output", "-o", metavar="FILE", parser=file_path, help=_KEPT)] = None,
    continue_latest: Annotated[
        bool, typer.Option("--continue", "-c", help="Continue the latest conversation, from the chat or from ask.")
    ] = False,
    save: Annotated[
        bool, typer.Option("--save/--no-save", help="Save the turn as a conversation (never with --raw or --batch).")
    ] = True,
    remember: RememberFlag = True,
    data_dir: DataDir = None,
    screen_reader: ScreenReader = False,
) -> None:
    """Ask once and print the answer.

    On a terminal the answer streams, its verified tokens tinted.

    In a pipe it is exactly the model's text and a line break at its end; all else goes to stderr.
    """
    if batch is not None:
        if prompt is not None or export or continue_latest:
            raise usage("--batch goes with neither a prompt, --export nor --continue")
        code = _ask_batch(options, batch, output, as_json=as_json, screen_reader=screen_reader)
        if save and not options.raw:
            models_at_hand.remember(data_dir or data_folder(context.obj), options.model())
        raise typer.Exit(code)
    if output is not None:
        raise usage("--output is for --batch; one answer is written with > FILE")
    if continue_latest and (options.raw or not save):
        raise usage("--continue goes with neither --raw nor --no-save")
    question = read_prompt(prompt, raw=options.raw)
    stored = None
    if save and not options.raw:
        from lade_chat.cli.running.stored_turn import StoredTurn

        system = options.system if not continue_latest or given_by(context, "system") else None
        stored = StoredTurn(data_dir, question, system, latest=continue_latest, remember=remember)
    with stored or nullcontext():
        code = run_ask(
            options.messages(question) if stored is None else stored.messages,
            options,
            as_json=as_json,
            show_thinking=show_thinking,
            asks_to_think=given_by(context, "think") is not None,
            screen_reader=screen_reader,
            exports=export or (),
            stored=stored,
        )
    raise typer.Exit(code)


def _ask_batch(
    options: SharedOptions, prompts: Path, output: Path | None, *, as_json: bool, screen_reader: bool
) -> int:
    """Answer a file of prompts and return the exit code. Raises LadeChatError, or a usage error."""
    from lade_chat.cli.running.batch import read_batch, run_batch

    output = None if str(output) == "-" else output
    if output is not None and os.path.isfile(output) and os.path.isfile(prompts) and output.samefile(prompts):
        raise usage(f"--output {output} is the file of the prompts: give another, for the answers")
    items = read_batch(prompts, None if options.raw else options.system)
    return run_batch(
        items, output, options.model(), options.decoding(), all_tokens=as_json, screen_reader=screen_reader
    )


def run_ask(
    messages: tuple[Message, ...],
    options: SharedOptions,
    *,
    as_json: bool = False,
    show_thinking: bool = False,
    asks_to_think: bool = False,
    screen_reader: bool = False,
    exports: Sequence[Path] = (),
    stored: StoredTurn | None = None,
) -> int:
    """Answer the last message on stdout and return the exit code: 0, or 130 if Ctrl+C ended the reply.

    The text ends with a line break. On a terminal it streams tinted; in a pipe it is exactly the model's otherwise.
    Progress goes to stderr if that is a terminal. If the user ``asks_to_think``, a warning tells if the model has no
    switch for it. Raises LadeChatError: the model cannot be loaded, the reply fails, or a picture cannot be written.
    """
    check_exports(exports)
    require_output()
    model_options, decoding, view = options.model(), options.decoding(), options.colours
    with loaded_engine(model_options, screen_reader=screen_reader) as (engine, model, line, out):
        writer = None if as_json else LineWriter(out) if screen_reader else TextWriter(out, view)
        reply, thought = Collected(), ThoughtWriter() if show_thinking and not options.raw else None
        if asks_to_think and not model.has_thinking_switch:
            sys.stderr.write(f"warning: {NO_THINKING_SWITCH}\n")
        if stored is not None:
            stored.begin(model, model_options)
            if (earlier := stored.earlier_replies(model)) is not None:
                list(engine.handle(Job(earlier)))
        try:
            _answer(engine, Reply(messages, decoding), reply, line, writer, stored, thought)
        finally:
            if writer is not None:
                writer.end_line()
        if as_json:
            print_json(reply.as_json(model, decoding), out)
    _report(reply, options, as_json=as_json, screen_reader=screen_reader)
    write_exports(exports, Content(messages[-1].content, model, (reply,), view=view, raw=options.raw))
    return INTERRUPTED if reply.finish_reason == "cancelled" else 0


def _answer(
    engine: JobEngine,
    command: Reply,
    reply: Collected,
    line: PassingLine,
    writer: TextWriter | LineWriter | None,
    stored: StoredTurn | None,
    thought: ThoughtWriter | None,
) -> None:
    answer = AnswerStream()
    for event in run(engine, command):
        if isinstance(event, Prefilling):
            line.show_event(event)
        elif isinstance(event, ReplyStarted):
            reply.take(event)
        elif isinstance(event, Tokens | ReplyFinished):
            line.clear()
            reply.take(event)
            if stored is not None:
                stored.take(event)
            if thought is not None:
                thought.write(reply.text, final=isinstance(event, ReplyFinished))
            if writer is not None and (pieces := event.pieces if isinstance(event, Tokens) else ()):
                writer.write(pieces if command.options.raw else answer.push(pieces))
    if writer is not None:
        writer.write(answer.push((), final=True))


def _report(reply: Collected, options: SharedOptions, *, as_json: bool, screen_reader: bool) -> None:
    is_terminal = sys.stderr.isatty()
    if reply.dropped_messages:
        sys.stderr.write(f"warning: {left_out(reply.dropped_messages)}\n")
    why = nothing_said(reply.text, reply.finish_reason, reply.statistics.generated_tokens)
    if why and not (options.raw and reply.text.strip()):  # a bare text has no thoughts
        sys.stderr.write(f"warning: {why}\n")
    if options.debug or (is_terminal and not as_json):
        width = get_terminal_size().columns if is_terminal and not screen_reader else sys.maxsize
        metrics = fit(reply_parts(reply.statistics, reply.finish_reason), width)
        sys.stderr.write((spoken(metrics) if screen_reader else metrics) + "\n")
    if options.debug:
        write_details(reply.statistics)
