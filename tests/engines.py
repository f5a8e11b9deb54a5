"""The engine of tests that need no model: it loads at once, keeps what it is asked, and answers as the test says."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from unittest.mock import patch

from lade_chat.engine.job import Job
from lade_chat.engine.process.command_server import CommandServer, JobEngine
from lade_chat.protocol.commands import Command, Compare, JobCommand, Load, Reply
from lade_chat.protocol.events import ComparisonFinished, Event, Failed, Loaded, ReplyFinished, ReplyStarted, Tokens
from lade_chat.protocol.inspection import TokenSource
from lade_chat.protocol.values import FinishReason, ModelInfo, ModelOptions, Piece, Side, Statistics

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

    def __enter__(self) -> ScriptedEngine:
        """Be the engine of the command line within."""
        self._patch = patch(MAKE_ENGINE, lambda options: self)
        self._patch.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        self._patch.stop()

    @property
    def loaded(self) -> ModelOptions:
        """The options of the only model that was loaded."""
        (command,) = (command for command in self.commands if isinstance(command, Load))
        return command.options

    @property
    def asked(self) -> list[Reply | Compare]:
        """The replies and races asked for."""
        return [command for command in self.commands if isinstance(command, Reply | Compare)]


class LoneServer(CommandServer):
    """A server with a single client."""

    def __init__(self, make_engine: Callable[[], JobEngine], emit: Callable[[Event], None]) -> None:
        super().__init__(make_engine)
        self._client = self.open(emit)

    def take(self, command: Command) -> None:  # type: ignore[override]
        super().take(self._client, command)


STATISTICS = Statistics(generated_tokens=2, steps=1, seconds=0.5)
ENDINGS: dict[str, FinishReason] = {"stopped": "cancelled", "cut": "stop"}
"""How a reply ends, by what was asked, if not at its end."""


def echo(job: Job) -> Iterator[Event]:
    """Answer with the question in capitals; fail, be stopped, be cut short, or say nothing, where it says so.

    A question with "long" in it is answered without the three messages before it.
    """
    asked = question(job)
    yield ReplyStarted(9, dropped_messages=3 if "long" in asked else 0)
    if asked == "killed":
        raise KeyboardInterrupt
    said = "" if asked in ("silent", "cut") else asked.upper()
    pieces = (Piece(said[:2], "plain", 1, 0), Piece(said[2:], "context", 2, 0))
    yield Tokens(pieces, STATISTICS)
    if asked == "fails":
        yield Failed("the prompt is too long")
    else:
        yield ReplyFinished(ENDINGS.get(asked, "eos"), STATISTICS)


def echoing() -> ScriptedEngine:
    return ScriptedEngine(echo)
