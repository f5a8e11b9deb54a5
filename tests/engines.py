"""The engine of tests that need no model: it loads at once, keeps what it is asked, and answers as the test says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from lade_chat.engine.job import Job
from lade_chat.protocol.commands import Compare, JobCommand, Load, Reply
from lade_chat.protocol.events import ComparisonFinished, Event, Loaded, ReplyFinished, Tokens
from lade_chat.protocol.inspection import TokenSource
from lade_chat.protocol.values import ModelInfo, ModelOptions, Piece, Side, Statistics

Answer = Callable[[Job], Iterator[Event]]
MAKE_ENGINE = "lade_chat.cli.running.engine_run.make_engine"
"""Where the command line takes its engine from."""
MODEL = ModelInfo("scripted", "cpu", "float32", 1, 512, lookahead_supported=True)


def say(text: str, statistics: Statistics | None = None, side: Side = "left", origin: TokenSource = "plain") -> Tokens:
    """One token of a reply."""
    return Tokens((Piece(text, origin, 1, 0),), statistics or Statistics(), side)


def question(job: Job) -> str:
    """The last message of what is asked."""
    assert isinstance(job.command, Reply | Compare)
    return job.command.messages[-1].content


def sides(job: Job) -> tuple[Side, ...]:
    """The sides that answer: one of a reply, two of a race."""
    return ("left", "right") if isinstance(job.command, Compare) else ("left",)


def ending(job: Job, statistics: Statistics | None = None, side: Side = "left") -> ReplyFinished:
    """The end of a reply, as it was stopped or not."""
    return ReplyFinished("cancelled" if job.stopped else "eos", statistics or Statistics(), side)


def greet(job: Job) -> Iterator[Event]:
    """Answer "hi" to everything."""
    for side in sides(job):
        yield say("hi", side=side)
        yield ending(job, side=side)
    if isinstance(job.command, Compare):
        yield ComparisonFinished(1.0, True)


def load(job: Job) -> Iterator[Event]:
    """Load the scripted model."""
    yield Loaded(MODEL)


class ScriptedEngine:
    """Answers with ``answer``, loads with ``load``, and keeps its jobs in ``jobs``."""

    def __init__(self, answer: Answer = greet, load: Answer = load) -> None:
        self.jobs: list[Job] = []
        self._answer, self._load = answer, load

    def handle(self, job: Job) -> Iterator[Event]:
        self.jobs.append(job)
        yield from (self._load if isinstance(job.command, Load) else self._answer)(job)

    def exchange(self, cached: Any) -> Any:
        """Give another conversation's cache, as an engine that several tabs share."""
        return cached or "cache"

    @property
    def commands(self) -> list[JobCommand]:
        return [job.command for job in self.jobs]

    @property
    def loaded(self) -> ModelOptions:
        """The options of the only model that was loaded."""
        (command,) = (command for command in self.commands if isinstance(command, Load))
        return command.options

    @property
    def asked(self) -> list[Reply | Compare]:
        """The replies and races asked for."""
        return [command for command in self.commands if isinstance(command, Reply | Compare)]
