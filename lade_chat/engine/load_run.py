"""Loads a model on a thread, reporting progress; a download can be cancelled."""

from __future__ import annotations

from collections.abc import Callable, Generator
from queue import SimpleQueue
from threading import Lock, Thread

from lade_chat.engine.job import Job
from lade_chat.engine.ranks.group import RankGroup
from lade_chat.errors import ModelError
from lade_chat.loading.findings_cache import keep_step_cost
from lade_chat.loading.model_loader import LoadedModel, Report, load, with_compiled_steps
from lade_chat.protocol.events import Loading
from lade_chat.protocol.values import ModelOptions, Stage

CANCELLED = "The download was cancelled; what has arrived is kept, and loading the model again goes on from there."


def load_in_thread(
    job: Job, load: Callable[[Report], LoadedModel], before_weights: Callable[[], None]
) -> Generator[Loading, None, LoadedModel | BaseException]:
    """Load, and yield the progress; returns the model or the exception.

    A cancelled download is not waited for: its thread ends when the next bytes arrive. ``before_weights`` is called, in
    the thread that loads, before the weights are read.
    """
    events: SimpleQueue[Loading | LoadedModel | BaseException] = SimpleQueue()
    downloading = cancelled = False
    lock = Lock()

    def report(stage: Stage, done: int, total: int) -> None:
        nonlocal downloading, cancelled
        with lock:
            downloading = stage == "download"
            cancelled |= downloading and job.download_stopped
            if cancelled:
                raise ModelError(CANCELLED)
        if stage in ("unpacking", "weights"):
            before_weights()
        events.put(Loading(stage, done, total))

    def cancel() -> None:
        nonlocal cancelled
        with lock:
            if downloading and not cancelled:
                cancelled = True
                events.put(ModelError(CANCELLED))

    def work() -> None:
        try:
            events.put(load(report))
        except BaseException as error:  # raised or reported where the result is read
            events.put(error)

    job.on_download_stop = cancel
    Thread(target=work, name="loading", daemon=True).start()
    while isinstance(event := events.get(), Loading):
        yield event
    return event


def load_on_all(options: ModelOptions, report: Report, ranks: RankGroup) -> LoadedModel:
    """Load the model on all ranks, compile its steps if asked to, and look up their cost if lookahead needs it."""
    ranks.assign(options)
    loaded = load(options, report)
    if options.compiled:
        report("compile", 0, 1)
        loaded = with_compiled_steps(loaded)
        report("compile", 1, 1)
    loaded = ranks.attach(loaded)
    if options.step_cost and loaded.info.lookahead_supported:
        # Elsewhere it can wait until the first token was shown.
        measured = options.compiled or options.processes > 1
        report("cost", 0, 1)
        keep_step_cost(loaded, measured=measured)
        report("cost", 1, 1)
    return loaded
