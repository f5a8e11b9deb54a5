"""Replies and races for pictures: tokens with origins, and a clock of a test's own choosing."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from lade_chat.engine.job import Job
from lade_chat.export.content import Content, Recording
from lade_chat.protocol.commands import Compare
from lade_chat.protocol.events import ComparisonFinished, Event, ReplyFinished, ReplyStarted, Tokens
from lade_chat.protocol.inspection import TokenSource
from lade_chat.protocol.values import ModelInfo, Piece, Side, Statistics
from tests.engines import ScriptedEngine, sides

MODEL = ModelInfo("tiny-12M", "cpu", "float32", 12_000_000, 2048, lookahead_supported=True)
QUESTION = "Write a function."

Step = Sequence[tuple[str, TokenSource]]
STEPS: Sequence[Step] = (
    [("def", "plain")],
    [(" total", "trajectory"), ("(", "context"), ("xs", "plain")],
    [("):\n", "successor"), ("    ", "trajectory"), ("return", "plain")],
    [(" sum(xs)", "context"), ("\n", "plain")],
)
TEXT = "def total(xs):\n    return sum(xs)\n"
STEP_SECONDS = 0.1
FIRST_STEP_SECONDS = 0.23


def recorded(steps: Sequence[Step] = STEPS, *, lookahead: bool = True, step_seconds: float = STEP_SECONDS) -> Recording:
    """A reply whose first step reads the prompt; a batch of two steps at a time, as an engine tells of them."""
    recording, side = Recording(), "left" if lookahead else "right"
    ends = [FIRST_STEP_SECONDS + step_seconds * number for number in range(len(steps))]
    batches = range(0, len(steps), 2)
    for first in batches:
        pieces = [
            Piece(text, origin, 7, number)
            for number, step in enumerate(steps[first : first + 2], start=first)
            for text, origin in step
        ]
        recording.take(_batch(pieces, ends[first : first + 2], side, lookahead, len(recording.pieces)))
    recording.take(ReplyFinished("eos", recording.statistics, side))
    return recording


def _batch(pieces: list[Piece], ends: list[float], side: Side, lookahead: bool, before: int) -> Tokens:
    statistics = Statistics(
        generated_tokens=before + len(pieces),
        steps=pieces[-1].step + 1,
        seconds=ends[-1],
        time_to_first_token=FIRST_STEP_SECONDS,
        lookahead=lookahead,
    )
    return Tokens(tuple(pieces), statistics, side, tuple(ends))


def plainly(text: str) -> Recording:
    """Any text, a character a step, without lookahead."""
    return recorded([[(character, "plain")] for character in text] or [[("", "plain")]], lookahead=False)


def reply(text: str | None = None, *, question: str = QUESTION) -> Content:
    """The reply of ``STEPS``, or any text."""
    return Content(question, MODEL, (recorded() if text is None else plainly(text),))


def race() -> Content:
    """``STEPS`` against the same text a token a step."""
    one_a_step = [[(text, "plain")] for step in STEPS for text, _ in step]
    verdict = ("speed-up: 2.00x", "the texts are identical")
    return Content(QUESTION, MODEL, (recorded(), recorded(one_a_step, lookahead=False)), verdict)


def rgb(colour: str) -> tuple[int, ...]:
    """``#rrggbb`` as numbers."""
    return tuple(bytes.fromhex(colour[1:]))


def _answer(job: Job) -> Iterator[Event]:
    yield ReplyStarted(prompt_tokens=9)
    time.sleep(0.3)  # no model answers at once
    for side in sides(job):
        told = recorded(lookahead=side == "left")
        ends = tuple(FIRST_STEP_SECONDS + STEP_SECONDS * number for number in range(len(STEPS)))
        yield Tokens(tuple(told.pieces), told.statistics, side, ends)
        yield ReplyFinished("eos", told.statistics, side)
    if isinstance(job.command, Compare):
        yield ComparisonFinished(1.0, identical=True)


def engine() -> ScriptedEngine:
    """An engine that answers everything with ``STEPS``: that of pictures that need no model."""
    return ScriptedEngine(_answer)
