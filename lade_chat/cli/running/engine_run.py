"""An engine without a screen: loads a model and runs one command that Ctrl+C can stop."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from types import FrameType
from typing import TYPE_CHECKING, TextIO

from lade_chat.child_processes import uncollected
from lade_chat.cli.running.status_line import LastingLines, PassingLine
from lade_chat.engine.job import Job
from lade_chat.errors import LadeChatError
from lade_chat.loading.checkpoint import check_files
from lade_chat.presentation.sanitize import printable
from lade_chat.protocol.commands import Compare, Load, Reply
from lade_chat.protocol.events import Event, Failed, Loaded, LoadFailed, Loading
from lade_chat.protocol.values import ModelInfo, ModelOptions

if TYPE_CHECKING:
    from lade_chat.engine.process.command_server import JobEngine
    from lade_chat.engine.ranks.group import RankGroup
    from lade_chat.loading.model_loader import LoadedModel


_groups: list[RankGroup] = []
"""Those in use: ranks end with their group."""


def make_engine(options: ModelOptions) -> JobEngine:
    """Return an engine in this process. Its import takes seconds, so bad options and paths are reported first."""
    check_files(options)
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")  # stderr is for people here; read at the import
    from lade_chat.loading.model_loader import compile_ahead
    from lade_chat.loading.quiet import quiet
    from lade_chat.loading.text.template_renderer import prepare

    prepare(options.path)
    compile_ahead()
    # transformers imports every quantisation library it finds, and they print a lot.
    with quiet(), uncollected():
        from lade_chat.engine.chat_engine import ChatEngine

    return ChatEngine()


@contextmanager
def loaded_engine(
    options: ModelOptions, *, screen_reader: bool = False
) -> Iterator[tuple[JobEngine, ModelInfo, PassingLine, TextIO]]:
    """Yield an engine of this process with its model loaded, the status line, and stdout; libraries print to stderr.

    Raises LadeChatError: the model cannot be loaded.
    """
    out = sys.stdout
    kind = LastingLines if screen_reader else PassingLine
    with kind(sys.stderr) as line, redirect_stdout(sys.stderr):
        line.show("starting …")
        engine = make_engine(options)
        yield engine, load(engine, options, line), line, out


def load(engine: JobEngine, options: ModelOptions, line: PassingLine) -> ModelInfo:
    """Load a model, with its notices on stderr; raises LadeChatError if it cannot be loaded."""
    for event in engine.handle(Job(Load(options))):
        if isinstance(event, Loading):
            line.show_event(event)
        elif isinstance(event, LoadFailed):
            raise LadeChatError(event.message)
        elif isinstance(event, Loaded):
            line.clear()
            _write_notices(event.model.notices)
            return event.model
    raise LadeChatError("the model was not loaded, and the engine does not say why")


def start_ranks(options: ModelOptions) -> RankGroup:
    """Return the model's ranks, of which the others, if any, load it from now on. Raises ModelError."""
    check_files(options)
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")  # read at the import
    with uncollected():
        from lade_chat.engine.ranks.group import RankGroup

    ranks = RankGroup()
    _groups.append(ranks)
    ranks.assign(options)
    return ranks


def load_model(options: ModelOptions, line: PassingLine) -> LoadedModel:
    """Load a model without an engine, with its notices on stderr. Raises ModelError."""
    check_files(options)
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")  # read at the import
    with uncollected():
        from lade_chat.loading import model_loader

    from decoding.native.skeleton import Skeleton
    from lade_chat.loading.quiet import quiet

    loaded = model_loader.load(options, lambda *progress: line.show_event(Loading(*progress)))
    if isinstance(loaded.model, Skeleton):
        with quiet():
            loaded.model.to_transformers()  # for methods of transformers, too
    line.clear()
    _write_notices(loaded.info.notices)
    return loaded


def on_all_ranks(loaded: LoadedModel, options: ModelOptions, ranks: RankGroup, line: PassingLine) -> LoadedModel:
    """Return the model on all ranks, with compiled steps if asked for; a notice on stderr says why they cannot be.

    Raises LadeChatError if a rank is missing.
    """
    if options.compiled:
        from lade_chat.loading.model_loader import with_compiled_steps

        line.show_event(Loading("compile"))
        known = len(loaded.info.notices)
        loaded = with_compiled_steps(loaded)
        line.clear()
        _write_notices(loaded.info.notices[known:])
    line.show("waiting for the other processes …" if options.processes > 1 else "")
    return ranks.attach_all(loaded)


def _write_notices(notices: Sequence[str]) -> None:
    sys.stderr.write("".join(f"{printable(notice)}\n" for notice in notices))


def run(engine: JobEngine, command: Reply | Compare) -> Iterator[Event]:
    """Yield the command's events, until Ctrl+C ends it within a step. Raises LadeChatError if it fails."""
    job = Job(command)

    def stop(_signal: int, _frame: FrameType | None) -> None:
        job.stop()
        signal.signal(signal.SIGINT, signal.default_int_handler)

    previous = signal.signal(signal.SIGINT, stop)
    try:
        for event in engine.handle(job):
            if isinstance(event, Failed):
                raise LadeChatError(event.message)
            yield event
    finally:
        signal.signal(signal.SIGINT, previous)
