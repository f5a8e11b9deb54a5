"""A child process: it runs with this path, takes lines, ends with its object, and its end is told in words."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading

import psutil
import pytest

from lade_chat.child_processes import Child, claim_stdio, end_with_parent
from tests.turns_engine import wait_for

HERE = "tests.test_child_processes"


def echo() -> None:
    lines, answers = claim_stdio()
    print("not an answer")  # noqa: T201 (as a library would)
    for line in lines:
        if line == b"exit\n":
            sys.exit("last words\n\n")
        os.kill(os.getpid(), int(line)) if line[:-1].isdigit() else answers.write(line)
        answers.flush()


def sleep() -> None:
    end_with_parent()
    threading.Event().wait()


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (b"exit", "ended with exit code 1: last words"),
        (b"%d" % signal.SIGKILL, "was ended by SIGKILL (perhaps the system ran out of memory)"),
        (b"%d" % signal.SIGBUS, "was ended by SIGBUS (perhaps a file of the model was cut off while it was in use)"),
        (b"%d" % signal.SIGTERM, "was ended by SIGTERM"),
    ],
)
def test_it_answers_lines_and_its_end_is_told(line: bytes, told: str) -> None:
    child = Child(f"{HERE}:echo")
    child.send(b"one\n")
    assert child.stdout.readline() == b"one\n"
    child.send(line + b"\n")
    assert child.ended() == told
    child.send(b"to nobody\n")
    assert not child.is_running


def test_it_does_not_outlive_its_object() -> None:
    child = Child(f"{HERE}:sleep", logged=False)
    pid = child.pid
    del child
    gc.collect()
    wait_for(lambda: not psutil.pid_exists(pid))


def test_it_ends_with_its_parent_whatever_it_is_doing() -> None:
    child = Child(f"{HERE}:sleep")
    child._process.stdin.close()  # type: ignore[union-attr]  # as the system does when the parent is killed
    assert child.ended() == "ended with exit code 0"
