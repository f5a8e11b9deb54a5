"""A chat in a pseudo-terminal, over an engine that talks on and on: ``python -m tests.tui.terminal FOLDER``."""

from __future__ import annotations

import os
import pty
import select
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from lade_chat.cli.chat import open_chat
from lade_chat.cli.flags.options import SharedOptions
from lade_chat.engine.job import Job
from lade_chat.engine.process import client
from lade_chat.protocol.events import Event, Loaded, ReplyStarted, Tokens
from lade_chat.protocol.values import Piece, Statistics
from lade_chat.settings.effective import NOTHING_KEPT
from lade_chat.store.all_conversations import Store
from lade_chat.tui.terminal import output_thread
from tests.engines import MODEL, ScriptedEngine, ending, question

PATIENCE = 90.0
PID_FILE = "TALKING_ENGINE_PID_FILE"
"""The environment variable that says where the engine leaves its number."""
_ROOT = Path(__file__).resolve().parents[2]


def load(job: Job) -> Iterator[Event]:
    Path(os.environ[PID_FILE]).write_text(str(os.getpid()))
    yield Loaded(MODEL)


def talk(job: Job) -> Iterator[Event]:
    """Answer ``short`` with a word, ``link`` with one; anything else with words until it is stopped."""
    yield ReplyStarted(3)
    words = 0
    if question(job) == "link":
        statistics = Statistics(generated_tokens=1, steps=1, seconds=0.01, context_used=4)
        yield Tokens((Piece("[link-to-click](https://example.com/)", "plain", 1, 1),), statistics)
        yield ending(job, statistics)
        return
    while not job.stopped and (words == 0 or question(job) != "short"):
        words += 1
        time.sleep(0.005)
        statistics = Statistics(generated_tokens=words, steps=words, seconds=0.01 * words, context_used=3 + words)
        end = "\n" if words % 8 == 0 else ""
        yield Tokens((Piece(f" word-{words}{end}", "plain", words, words),), statistics)
    yield ending(job, statistics)


def talking() -> ScriptedEngine:
    return ScriptedEngine(talk, load)


class Terminal:
    """The program runs in ``process``; what it draws is in ``seen`` until the terminal stands still or is closed."""

    def __init__(self, folder: Path) -> None:
        self._master, slave = pty.openpty()
        self._reading = True
        self.seen = self.all_seen = b""
        self._pid_file = folder / "engine.pid"
        size = {"TERM": "xterm-256color", "COLUMNS": "80", "LINES": "24"}
        environment = {**os.environ, **size, PID_FILE: str(self._pid_file)}
        command = [sys.executable, "-m", "tests.tui.terminal", str(folder)]
        self.process = subprocess.Popen(
            command, cwd=_ROOT, env=environment, stdin=slave, stdout=slave, stderr=slave, start_new_session=True
        )
        self._name = os.ttyname(slave)
        os.close(slave)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def engine(self) -> int:
        """Its process, as soon as it has loaded."""
        return int(self._pid_file.read_text())

    def sees(self, *texts: str) -> None:
        """Wait until these have been drawn since the last ``say``."""
        wait_for(lambda: all(text.encode() in self.seen for text in texts), lambda: self.seen[-2000:])

    def say(self, keys: str) -> None:
        self.seen = b""
        os.write(self._master, keys.encode())

    def stand_still(self) -> None:
        """Read no more, as over a connection that hangs, and whose queue is full."""
        self._reading = False
        self._reader.join()
        slave = os.open(self._name, os.O_WRONLY | os.O_NONBLOCK | os.O_NOCTTY)
        with suppress(BlockingIOError):
            while True:
                os.write(slave, b" " * 1024)
        os.close(slave)

    def close(self) -> None:
        self._reading = False
        self._reader.join()
        os.close(self._master)

    def ended(self) -> int:
        """Wait for the program's end, and its engine's; returns the exit code."""
        code = self.process.wait(PATIENCE)
        wait_for(lambda: not is_alive(self.engine), lambda: f"engine {self.engine}")
        return code

    def _read(self) -> None:
        with suppress(OSError):
            while self._reading:
                if select.select([self._master], [], [], 0.02)[0]:
                    data = os.read(self._master, 65536)
                    self.seen += data
                    self.all_seen += data


@contextmanager
def terminal(folder: Path) -> Iterator[Terminal]:
    """One with a reply that goes on and on, after one that is finished."""
    folder.mkdir()
    opened = Terminal(folder)
    try:
        opened.sees("ready")
        opened.say("short\r")
        # A question is taken only then.
        opened.sees("word-1", "tok/s", "ready")
        opened.say("go on\r")
        opened.sees("word-20")
        yield opened
    finally:
        opened.process.kill()
        opened.process.wait()


def wait_for(predicate: Callable[[], object], told: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not predicate():
        assert time.monotonic() < deadline, told()
        time.sleep(0.01)


def is_alive(pid: int) -> bool:
    """Return True while a process runs; a zombie does not."""
    return _state(pid) not in ("", "Z")


def is_stopped(pid: int) -> bool:
    """Return True while a process is suspended."""
    return _state(pid) == "T"


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


if __name__ == "__main__":
    output_thread.CLOSING_SECONDS = 0.2
    client.EngineClient = partial(client.EngineClient, "tests.tui.terminal:talking")
    sys.exit(open_chat(SharedOptions(), Store(Path(sys.argv[1])), NOTHING_KEPT, resume=None, latest=False))
