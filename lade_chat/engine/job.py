"""Job: a command on its way through the engine, with the controls that act on it; a load runs on a thread."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from queue import SimpleQueue
from threading import Condition, Lock, Thread

from lade_chat.errors import ModelError
from lade_chat.loading.model_loader import LoadedModel, Report
from lade_chat.protocol.commands import Compare, Explain, JobCommand, Load, Prefill, Remember, Reply
from lade_chat.protocol.events import ComparisonFinished, Event, Loading, ReplyFinished
from lade_chat.protocol.tutorial import ExplainFinished
from lade_chat.protocol.values import Stage, Statistics

CANCELLED = "The download was cancelled; what has arrived is kept, and loading the model again goes on from there."


class Job:
    """A command and its control state, which any thread may change and the engine reads before every step.

    A job is created when its command arrives, so controls sent before its first event take effect too.
    """

    def __init__(self, command: JobCommand, *, inspecting: bool = False) -> None:
        """Set ``inspecting`` to report each step of a reply in detail from the start."""
        self.command = command
        self.stopped = False
        self.lookahead = isinstance(command, Reply) and command.options.lookahead
        self.inspecting = inspecting or (isinstance(command, Reply) and command.options.debug)
        self._changed = Condition()
        self._pausable = isinstance(command, Reply)
        self._paused, self._woken = isinstance(command, Reply) and command.paused, False
        self._allowed_steps = 0
        self.download_stopped = False
        self.on_download_stop: Callable[[], None] = lambda: None
        """Called when stop() is requested during a load's download."""

    @property
    def is_background(self) -> bool:
        """True for a job that the user does not wait for."""
        return isinstance(self.command, Remember | Prefill)

    def stop(self) -> None:
        """End the job at its next step. A load can be stopped only while it downloads; Remember not at all."""
        if isinstance(self.command, Load):
            self.download_stopped = True
            self.on_download_stop()
        if not isinstance(self.command, Load | Remember):
            self.stopped = True
            self._wake()

    def set_lookahead(self, enabled: bool) -> None:
        """Switch lookahead from the reply's next step on; a race keeps its two methods."""
        self.lookahead = enabled and isinstance(self.command, Reply)

    def inspect(self, enabled: bool) -> None:
        """Report steps in detail from now on, or no longer."""
        self.inspecting = enabled
        self._wake()

    def pause(self) -> None:
        """Pause the reply before its next step."""
        with self._changed:
            self._paused, self._allowed_steps = self._pausable, 0

    def step_once(self) -> None:
        """Allow a paused reply one step."""
        with self._changed:
            self._allowed_steps += self._paused
            self._changed.notify_all()

    def resume(self) -> None:
        """Resume a paused reply."""
        with self._changed:
            self._paused, self._allowed_steps = False, 0
            self._changed.notify_all()

    def allow_pause(self, allowed: bool) -> None:
        """Allow a reply to be paused, or resume it and ignore pauses while others wait for it."""
        self._pausable = allowed and isinstance(self.command, Reply)
        if not self._pausable:
            self.resume()

    def may_step(self) -> bool:
        """Return True if the next step may begin, using up a single step that was allowed."""
        with self._changed:
            if self._paused and self._allowed_steps:
                self._allowed_steps -= 1
                return True
            return not self._paused

    def wait(self) -> None:
        """Wait until a step may begin or something else was asked of the job."""
        with self._changed:
            self._changed.wait_for(lambda: self._woken or self._allowed_steps or not self._paused)
            self._woken = False

    def cancelled_events(self) -> Iterator[Event]:
        """The events of a job that was stopped before it began."""
        if isinstance(self.command, Explain):
            yield ExplainFinished()
        if not isinstance(self.command, Reply | Compare):
            return
        yield ReplyFinished("cancelled", Statistics(), side="left")
        if isinstance(self.command, Compare):
            yield ReplyFinished("cancelled", Statistics(), side="right")
            yield ComparisonFinished(speedup=1.0, identical=True)

    def _wake(self) -> None:
        with self._changed:
            self._woken = True
            self._changed.notify_all()


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
