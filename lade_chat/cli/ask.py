"""``lade-chat ask``: one question, one answer, without a screen."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING

from lade_chat.cli.output import Collected, PassingLine, TextWriter, details, print_json, status
from lade_chat.cli.pictures import check_exports, write_exports
from lade_chat.cli.turn import INTERRUPTED, library_output_on_stderr, load, make_engine, run
from lade_chat.export.content import Content
from lade_chat.protocol import DecodingOptions, Message, ModelOptions, Prefilling, Reply, ReplyFinished, Tokens

if TYPE_CHECKING:
    from lade_chat.engine.process import Engine


def ask(
    messages: tuple[Message, ...],
    model_options: ModelOptions,
    options: DecodingOptions,
    *,
    as_json: bool = False,
    exports: Sequence[Path] = (),
    engine: Engine | None = None,
) -> int:
    """Answer the last message on stdout and return the exit code: 0, or 130 if Ctrl+C ended the reply.

    On a terminal the text streams tinted and ends with a line break; in a pipe it is exactly the model's, with
    nothing added. With ``as_json`` one object is printed at the end instead. Status goes to stderr if that is a
    terminal. ``exports``: where to keep the reply as a picture. Raises LadeChatError.
    """
    check_exports(exports)
    with PassingLine(sys.stderr) as line, library_output_on_stderr() as out:
        line.show("starting …")
        engine = engine or make_engine(model_options)
        model = load(engine, model_options, line)
        writer = None if as_json else TextWriter(out)
        reply = Collected()
        try:
            for event in run(engine, Reply(messages, options)):
                if isinstance(event, Prefilling):
                    line.show_event(event)
                elif isinstance(event, Tokens | ReplyFinished):
                    line.clear()
                    reply.take(event)
                    if writer is not None and isinstance(event, Tokens):
                        writer.write(event.pieces)
        finally:
            if writer is not None:
                writer.end_line()
        if as_json:
            print_json(reply.as_json(model, options), out)
    _report(reply, options, as_json=as_json)
    write_exports(exports, Content(messages[-1].content, model, (reply,)))
    return INTERRUPTED if reply.finish_reason == "cancelled" else 0


def _report(reply: Collected, options: DecodingOptions, *, as_json: bool) -> None:
    """The figures on stderr: on a terminal, or if they were asked for."""
    terminal = sys.stderr.isatty()
    if options.debug or (terminal and not as_json):
        width = get_terminal_size().columns if terminal else None
        sys.stderr.write(status(reply.statistics, reply.finish_reason, width) + "\n")
    if options.debug:
        sys.stderr.write("".join(f"{text}\n" for text in details(reply.statistics)))
