"""``ask`` and ``compare`` over a scripted engine, in a pipe or on a terminal."""

from __future__ import annotations

import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import redirect_stderr, redirect_stdout

import msgspec
import pytest

from lade_chat.cli import ask, compare
from lade_chat.cli.flags.options import SharedOptions
from lade_chat.cli.running import output
from lade_chat.engine.job import Job
from lade_chat.protocol.commands import Compare, Load
from lade_chat.protocol.events import (
    ComparisonFinished,
    Event,
    Failed,
    Loaded,
    LoadFailed,
    Loading,
    Prefilling,
    ReplyFinished,
    ReplyStarted,
    Tokens,
)
from lade_chat.protocol.values import Difference, Message, ModelInfo, Piece, Statistics
from tests.engines import ScriptedEngine, ending, say, sides
from tests.running import Terminal

PIECES = (
    Piece("def ", "plain", 10, 0),
    Piece("f():\n", "trajectory", 11, 1),
    Piece("", "context", 12, 1),
    Piece("    é\x1b[2J", "successor", 13, 1),
    Piece(" end", "plain", 14, 1),
    Piece("", "plain", 2, 2),
)
TEXT = "def f():\n    é\x1b[2J end"
STATISTICS = Statistics(
    generated_tokens=6,
    steps=3,
    seconds=0.5,
    time_to_first_token=0.1,
    verified_tokens=3,
    prompt_tokens=9,
    lookahead=True,
    step_milliseconds=12.5,
    forward_tokens=36,
    pool_size=70,
    accepted_runs=(2, 0, 0, 1),
    plain_step_seconds=0.16,
)
MODEL = ModelInfo("scripted", "cpu", "float32", 1, 512, True, notices=("roles are plain text",))
QUESTION = (Message("user", "Hello"),)
ESCAPE = re.compile(r"\x1b\[([0-9;]*)m")


def scripted(
    *, difference: Difference | None = None, failure: str | None = None, speedup: float = 1.5
) -> ScriptedEngine:
    """An engine that replies with ``PIECES``; a race has the same text on both sides unless a difference is given."""

    def answer(job: Job) -> Iterator[Event]:
        sys.stdout.write("a library prints\n")
        yield ReplyStarted(prompt_tokens=9)
        yield Prefilling(9, 9)
        for side in sides(job):
            yield Tokens(PIECES[:2], Statistics(), side=side)
            if failure is not None:
                yield Failed(failure)
                return
            yield Tokens(PIECES[2:], STATISTICS, side=side)
            yield ReplyFinished("eos", STATISTICS, side=side)
        if isinstance(job.command, Compare):
            yield ComparisonFinished(speedup, difference is None, difference)

    return ScriptedEngine(answer, load)


def load(job: Job) -> Iterator[Event]:
    assert isinstance(job.command, Load)
    sys.stdout.write("a library prints\n")
    yield Loading("weights", 1, 2)
    yield LoadFailed("no such model: nowhere") if job.command.options.path == "nowhere" else Loaded(MODEL)


def endless() -> ScriptedEngine:
    """An engine that goes on until it is stopped."""

    def answer(job: Job) -> Iterator[Event]:
        sys.stdout.write("a library prints\n")
        while not job.stopped:
            yield say("on ")
            time.sleep(0.002)
        yield ending(job, STATISTICS)

    return ScriptedEngine(answer, load)


def stopped(job: Job) -> Iterator[Event]:
    """Be stopped at once, the right side of a race one token ahead."""
    for side in sides(job):
        tokens = STATISTICS.generated_tokens + (side == "right")
        yield ReplyFinished("cancelled", msgspec.structs.replace(STATISTICS, generated_tokens=tokens), side=side)
    yield ComparisonFinished(1.5, True)


@pytest.fixture
def xterm(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal of 256 colours and 100 by 30 cells, as the environment tells of it."""
    for name in ("NO_COLOR", "FORCE_COLOR", "COLORTERM", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"TERM": "xterm-256color", "COLUMNS": "100", "LINES": "30"}.items():
        monkeypatch.setenv(name, value)
    for style in output._COLOURED.values():
        style._ansi = None  # Rich keeps the codes for the first terminal that a style was printed on.


def on_terminal(run: Callable[[], int]) -> tuple[str, str]:
    """What a successful run shows on stdout and on stderr, both terminals."""
    with redirect_stdout(Terminal()) as out, redirect_stderr(Terminal()) as err:
        assert run() == 0
    return out.getvalue(), err.getvalue()


def run_ask(*, as_json: bool = False, debug: bool = False, engine: ScriptedEngine | None = None) -> int:
    with engine or scripted():
        return ask.run_ask(QUESTION, SharedOptions(debug=debug), as_json=as_json)


def run_compare(
    *,
    as_json: bool = False,
    screen_reader: bool = False,
    debug: bool = False,
    engine: ScriptedEngine | None = None,
) -> int:
    with engine or scripted():
        return compare.run_compare(QUESTION, SharedOptions(debug=debug), as_json=as_json, screen_reader=screen_reader)
