"""However the chat is ended, it ends, its engine with it, and what was said is kept."""

from __future__ import annotations

import os
import select
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from lade_chat.store.all_conversations import Store
from lade_chat.store.records import Turn
from lade_chat.tui.terminal import output_thread
from lade_chat.tui.terminal.output_thread import Output, is_picture
from tests.tui.terminal import PATIENCE, Terminal, terminal, wait_for

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks processes up in /proc")
CTRL_Q = "\x11"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "data"


def kept(folder: Path) -> tuple[Turn, Turn]:
    """The finished reply and the running one."""
    latest = Store(folder).latest()
    assert latest is not None
    finished, running = latest.path
    assert (finished.reply, finished.ending) == (" word-1", "eos")
    words = running.reply.split()
    assert words == [f"word-{number}" for number in range(1, len(words) + 1)]
    return finished, running


def saved(folder: Path) -> int:
    """How often the running reply has been saved."""
    with closing(sqlite3.connect(folder / "conversations.db")) as connection:
        (count,) = connection.execute("SELECT count(*) FROM chunks").fetchone()
    return int(count)


def goes_on(folder: Path) -> None:
    """Wait until more of the reply is on disk, though nobody reads what the chat draws."""
    before = saved(folder)
    wait_for(lambda: saved(folder) > before + 1, lambda: f"{before} and {saved(folder)} chunks")


def test_closing_the_terminal_ends_the_chat(folder: Path) -> None:
    with terminal(folder) as opened:
        opened.close()
        assert opened.ended() == 128 + signal.SIGHUP
    running = kept(folder)[1]
    assert (running.ending, running.error) == ("failed", "The terminal was closed.")  # nobody stopped it


@pytest.mark.parametrize("how", ["signal", "key"])
def test_a_terminal_that_stands_still_holds_nothing_up(folder: Path, how: str) -> None:
    with terminal(folder) as opened:
        opened.stand_still()
        goes_on(folder)
        if how == "signal":
            opened.process.terminate()
        else:
            opened.say(CTRL_Q)
        assert opened.ended() == (128 + signal.SIGTERM if how == "signal" else 0)
    assert kept(folder)[1].ending == "cancelled"


def test_what_is_typed_outlives_a_kill(folder: Path) -> None:
    with terminal(folder) as opened:
        opened.say("half a thought")
        wait_for(lambda: list(folder.glob("unsent-*.txt")), lambda: list(folder.iterdir()))
    again = Terminal(folder)
    try:
        again.sees("half a thought")
    finally:
        again.process.kill()
        again.process.wait()


def test_two_interrupts_are_as_good_as_one(folder: Path) -> None:
    with terminal(folder) as opened:
        opened.process.send_signal(signal.SIGINT)
        opened.process.send_signal(signal.SIGINT)
        assert opened.ended() == 128 + signal.SIGINT
        assert b"Traceback" not in opened.seen
        opened.sees("\x1b[?1049l", "\x1b[?25h")  # the terminal is put back as it was
    assert kept(folder)[1].ending == "cancelled"


def test_killed_it_has_what_was_saved(folder: Path) -> None:
    with terminal(folder) as opened:
        wait_for(lambda: saved(folder) > 1, lambda: saved(folder))
        opened.process.kill()
        assert opened.ended() == -signal.SIGKILL
    running = kept(folder)[1]
    assert running.ending is None
    assert running.reply


def test_what_holds_an_end_up_is_cut_off() -> None:
    code = """
import threading, time
from lade_chat.cli.running import process_exit
process_exit.PATIENCE_SECONDS, asked = 0.01, threading.Event()
process_exit.end_in_time(asked, lambda: 7)
asked.set()
time.sleep(600)
"""
    assert subprocess.run([sys.executable, "-c", code], timeout=90, check=False).returncode == 7


# --- the output's thread -------------------------------------------------------------------------------------------


class Pipe:
    """An output into a pipe that is read when the test wishes."""

    def __init__(self) -> None:
        self.reader, self.writer = os.pipe()
        self.caught_up, self.lost = threading.Event(), threading.Event()
        self.output = Output(self.writer, self.caught_up.set, self.lost.set)

    def read(self, *, until: Callable[[bytes], bool] = lambda data: False) -> bytes:
        """All that is written until the condition holds or the output's end is closed."""
        data = b""
        while not until(data):
            assert select.select([self.reader], [], [], PATIENCE)[0], f"nothing came after {len(data)} bytes"
            if not (chunk := os.read(self.reader, 1 << 20)):
                break
            data += chunk
        return data

    def close(self) -> None:
        """Close the output in a thread, so that a close that never returns fails instead of hanging."""
        closing = threading.Thread(target=self.output.close, daemon=True)
        closing.start()
        closing.join(PATIENCE)
        assert not closing.is_alive()


def test_all_is_written_in_order() -> None:
    pipe = Pipe()
    for number in range(100):
        pipe.output.write(b"%d," % number, picture=True)
    pipe.close()
    os.close(pipe.writer)
    assert pipe.read() == b"".join(b"%d," % number for number in range(100))


def test_pictures_are_left_out_while_nobody_reads_and_asked_for_again() -> None:
    pipe = Pipe()
    picture = b"p" * 10_000
    for _ in range(1000):
        pipe.output.write(picture, picture=True)
    pipe.output.write(b"mode")
    read = pipe.read(until=lambda data: data.endswith(b"mode"))
    assert pipe.caught_up.wait(PATIENCE)
    assert read.removesuffix(b"mode").strip(b"p") == b""
    assert len(read) % len(picture) == len(b"mode")  # each as a whole
    assert len(read) < 40 * len(picture)
    pipe.output.write(picture, picture=True)
    assert pipe.read(until=lambda data: len(data) >= len(picture)) == picture


def test_what_nobody_will_read_is_forgotten() -> None:
    pipe = Pipe()
    os.close(pipe.reader)
    pipe.output.write(b"x")
    assert pipe.lost.wait(PATIENCE)
    for _ in range(1000):
        pipe.output.write(b"p" * 10_000)
    pipe.close()


def test_a_close_waits_for_no_reader_and_cuts_nothing_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output_thread, "CLOSING_SECONDS", 0.05)
    pipe = Pipe()
    pipe.output.write(b"p" * 1_000_000)
    pipe.close()
    assert not pipe.lost.is_set()
    pipe.output.write(b"more")  # comes too late
    assert pipe.read(until=lambda data: len(data) >= 1_000_000) == b"p" * 1_000_000


@pytest.mark.parametrize(
    ("text", "verdict"),
    [("\x1b[?1049h", False), ("\x1b]52;c;" + "A" * 1000 + "\a", False), ("\x1b[1;1H" + "text" * 100, True)],
)
def test_only_what_draws_is_a_picture(text: str, verdict: bool) -> None:
    assert is_picture(text) is verdict
