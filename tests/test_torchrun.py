"""Ranks that torchrun has started: they end with it, and know of their terminal what a session of one's own hides."""

from __future__ import annotations

import os
import signal
import struct
import subprocess
import sys
from collections.abc import Iterator
from multiprocessing import get_context
from pathlib import Path

import psutil
import pytest
from torch.distributed.run import main as run

from tests.ranks import START
from tests.turns_engine import wait_for

pytestmark = pytest.mark.skipif(os.name != "posix", reason="there are no signals to be sent")

RANK_0 = """
import signal, sys, time
from lade_chat.engine.ranks import torchrun
signal.signal(signal.SIGWINCH, lambda *told: print("resized", flush=True))
torchrun.watch()
print("watching", flush=True)
time.sleep(60)
"""
LOADED_SECONDS, ENDED_SECONDS = 400.0, 100.0
"""Two processes import torch on a machine that has much else to do."""
STARTER = "import subprocess, sys; subprocess.run([sys.executable, '-c', sys.argv[1]], start_new_session=True)"


def having(mark: str) -> list[int]:
    """Every living process whose command line holds the mark."""
    return [
        process.pid
        for process in psutil.process_iter(["status", "cmdline"])
        if process.info["status"] != psutil.STATUS_ZOMBIE and mark in " ".join(process.info["cmdline"] or ())
    ]


@pytest.fixture
def terminal() -> Iterator[tuple[int, int]]:
    """A terminal's two ends, ours first."""
    ends = os.openpty()
    yield ends
    for end in ends:
        os.close(end)


def resize(terminal: int, rows: int, columns: int) -> None:
    from fcntl import ioctl
    from termios import TIOCSWINSZ

    ioctl(terminal, TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def test_rank_0_is_told_of_a_new_size_and_of_the_end_of_its_starter(terminal: tuple[int, int]) -> None:
    ours, theirs = terminal
    resize(ours, 24, 80)
    starter = subprocess.Popen(
        [sys.executable, "-c", STARTER, RANK_0], stdout=subprocess.PIPE, stderr=theirs, text=True
    )
    assert starter.stdout is not None
    assert starter.stdout.readline() == "watching\n"
    resize(ours, 50, 160)
    assert starter.stdout.readline() == "resized\n"
    starter.kill()
    starter.wait()
    # Whoever holds the other end of a pipe is gone when it ends.
    assert starter.stdout.read() == ""


@pytest.mark.timeout(LOADED_SECONDS + 2 * ENDED_SECONDS)
def test_no_rank_outlives_torchrun(tmp_path: Path) -> None:
    prompts, answers = tmp_path / "prompts.txt", tmp_path / "answers.jsonl"
    prompts.write_text("Count from 3 to 30.\n" * 1000)
    arguments = ["ask", "--batch", str(prompts), "--output", str(answers), "-W", "5", "--max-new-tokens", "8"]
    arguments += ["--device", "cpu"]
    torchrun = get_context(START).Process(target=run, args=(["--nproc-per-node=2", "-m", "lade_chat", *arguments],))
    torchrun.start()
    try:
        # Both ranks have loaded the model, and share steps; what ends before is not waited for.
        wait_for(lambda: (answers.exists() and answers.stat().st_size) or not torchrun.is_alive(), LOADED_SECONDS)
        assert torchrun.is_alive()
        wait_for(lambda: len(having(str(answers))) == 2)  # more for as long as one starts another program
        torchrun.kill()
        torchrun.join()
        wait_for(lambda: not having(str(answers)), ENDED_SECONDS)
    finally:
        for pid in having(str(answers)):
            os.kill(pid, signal.SIGKILL)
