"""``lade-chat ask``: one question, one answer, without a screen."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from shutil import get_terminal_size
from typing import TYPE_CHECKING

from lade_chat.cli.running.engine_run import INTERRUPTED, library_output_on_stderr, load, make_engine, run
from lade_chat.cli.running.output import (
    Collected,
    LineWriter,
    PassingLine,
    TextWriter,
    details,
    print_json,
    spoken,
    status,
    status_line,
)
from lade_chat.cli.running.pictures import check_exports, write_exports
from lade_chat.cli.running.streams import require_output
from lade_chat.export.content import Content
from lade_chat.presentation.colours import ColourView
from lade_chat.protocol.commands import Reply
from lade_chat.protocol.events import Prefilling, ReplyFinished, Tokens
from lade_chat.protocol.values import DecodingOptions, Message, ModelOptions

if TYPE_CHECKING:
    from lade_chat.cli.running.kept_turn import KeptTurn
    from lade_chat.engine.process.server import Engine


def ask(
    messages: tuple[Message, ...],
    model_options: ModelOptions,
    options: DecodingOptions,
    *,
    as_json: bool = False,
    plain: bool = False,
    exports: Sequence[Path] = (),
    view: ColourView = "verified",
    kept: KeptTurn | None = None,
    engine: Engine | None = None,
) -> int:
    """Answer the last message on stdout and return the exit code: 0, or 130 if Ctrl+C ended the reply.

    On a terminal the text streams tinted and ends with a line break; in a pipe it is exactly the model's, with
    nothing added. With ``as_json`` one object is printed at the end instead. Status goes to stderr if that is a
    terminal. ``plain``: on a terminal whole lines instead, without colours. ``exports``: where to keep the reply as a
    picture. ``view``: how tokens are coloured. ``kept``: the turn among the conversations. Raises LadeChatError.
    """
    check_exports(exports)
    require_output()
    with status_line(sys.stderr, plain=plain) as line, library_output_on_stderr() as out:
        line.show("starting …")
        engine = engine or make_engine(model_options)
        model = load(engine, model_options, line)
        writer = None if as_json else LineWriter(out) if plain else TextWriter(out, view)
        reply = Collected()
        if kept is not None:
            kept.begin(model, model_options)
        try:
            _answer(engine, Reply(messages, options), reply, line, writer, kept)
        finally:
            if writer is not None:
                writer.end_line()
        if as_json:
            print_json(reply.as_json(model, options), out)
    _report(reply, options, as_json=as_json, plain=plain)
    write_exports(exports, Content(messages[-1].content, model, (reply,), view=view))
    return INTERRUPTED if reply.finish_reason == "cancelled" else 0


def _answer(
    engine: Engine,
    command: Reply,
    reply: Collected,
    line: PassingLine,
    writer: TextWriter | LineWriter | None,
    kept: KeptTurn | None,
) -> None:
    """Collect the reply, and write it as it comes."""
    for event in run(engine, command):
        if isinstance(event, Prefilling):
            line.show_event(event)
        elif isinstance(event, Tokens | ReplyFinished):
            line.clear()
            reply.take(event)
            if kept is not None:
                kept.take(event)
            if writer is not None and isinstance(event, Tokens):
                writer.write(event.pieces)


def _report(reply: Collected, options: DecodingOptions, *, as_json: bool, plain: bool) -> None:
    """The figures on stderr: on a terminal, or if they were asked for."""
    terminal = sys.stderr.isatty()
    if options.debug or (terminal and not as_json):
        width = get_terminal_size().columns if terminal and not plain else None
        figures = status(reply.statistics, reply.finish_reason, width)
        sys.stderr.write((spoken(figures) if plain else figures) + "\n")
    if options.debug:
        sys.stderr.write("".join(f"{text}\n" for text in details(reply.statistics)))
