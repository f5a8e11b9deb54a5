"""Killed at any moment: what was finished is there, and of a running reply all but the last moments."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from lade_chat.store.store import Store
from tests.store.replies import MODEL, STATISTICS, finished, tokens

ROOT = Path(__file__).resolve().parents[2]
LOST_SECONDS = 0.25
"""Of a running reply, at most; a save is not done at once."""


@contextmanager
def speaker(folder: Path, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A talking program, killed at the end."""
    command = [sys.executable, "-m", "tests.store.speaker", str(folder), *arguments]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def heard(process: subprocess.Popen[str], lines: int) -> list[str]:
    """What it printed until it was killed, after so many lines and in the middle of something."""
    assert process.stdout is not None
    told = [process.stdout.readline() for _ in range(lines)]
    process.kill()
    # A line that was cut off tells nothing.
    return [line for line in (*told, *process.stdout) if line.endswith("\n")]


def turns(folder: Path) -> set[int]:
    with closing(sqlite3.connect(folder / "conversations.db")) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        return {turn for (turn,) in connection.execute("SELECT id FROM turns WHERE ending = 'eos'")}


def test_every_finished_turn_is_there(folder: Path) -> None:
    told: set[int] = set()
    for lines in (1, 8, 30):
        with speaker(folder, "turns", "100000") as process:
            told |= {int(line) for line in heard(process, lines)}
    assert len(told) >= 39
    assert told <= turns(folder)


def test_a_running_reply_lacks_its_last_moments_at_most(folder: Path) -> None:
    with speaker(folder, "stream") as process:
        told = [line.split() for line in heard(process, 400)]
    moments = [float(moment) for _, moment in told]
    surely = sum(moment <= moments[-1] - LOST_SECONDS for moment in moments)
    assert surely > 0
    latest = Store(folder).latest()
    assert latest is not None
    before, running = latest.path
    assert (before.reply, before.ending) == ("finished", "eos")
    pieces = running.pieces()
    assert len(pieces) >= surely
    assert running.ending is None
    assert running.reply == "".join(f" {number}" for number in range(len(pieces) // 2))
    latest.go_on()
    latest.break_off()
    assert latest.messages[-1].content == running.reply


@pytest.mark.parametrize("begun_by_others", [False, True])
def test_programs_at_once_do_no_harm(folder: Path, begun_by_others: bool) -> None:
    if begun_by_others:
        Store(folder).page()
    with speaker(folder, "turns", "40") as one, speaker(folder, "turns", "40") as two:
        told = {int(line) for process in (one, two) for line in process.communicate()[0].splitlines()}
        assert (one.returncode, two.returncode) == (0, 0)
    assert turns(folder) == told
    assert len(told) == 80
    store = Store(folder)
    assert len(store.page()) == 28
    assert len(store.page("39")) == 2


def test_a_running_reply_is_saved_every_fifth_of_a_second(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    monkeypatch.setattr("time.monotonic", lambda: now)
    conversation = store.begin()
    conversation.ask("Count.", MODEL)
    for number in range(25):
        now = number / 50
        conversation.grow(tokens(f" {number}", first=number))
    seen = store.resume(conversation.id)
    assert seen.path[0].reply == "".join(f" {number}" for number in range(21))
    assert len(seen.path[0].packed) == 2
    conversation.save()
    (turn,) = store.resume(conversation.id).path
    assert turn.reply == "".join(f" {number}" for number in range(25))
    assert turn.pieces() == tuple(piece for number in range(25) for piece in tokens(f" {number}", first=number).pieces)
    assert (turn.ending, turn.statistics, turn.model) == (None, STATISTICS, MODEL)
    conversation.finish(finished())
    (turn,) = store.resume(conversation.id).path
    assert (len(turn.packed), turn.ending) == (1, "eos")
