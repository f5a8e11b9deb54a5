"""Runs code that a model wrote in a process of its own, which is ended where the code runs on and on.

This file is that process's program as well: a line of JSON in, a line of JSON out.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import signal
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

_runner: subprocess.Popen[str] | None = None


def holds(code: str, expressions: Sequence[str], name: str | None = None, seconds: float = 5.0) -> bool:
    """Return True if each expression is true after the code, whose last function or class (or the named one) is `f`.

    What the code has printed so far is `out()`. Code that takes longer than this many seconds is wrong.
    """
    global _runner
    if _runner is None or _runner.poll() is not None:
        command = [sys.executable, "-I", __file__]
        _runner = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert _runner.stdin is not None
    assert _runner.stdout is not None
    _runner.stdin.write(json.dumps([seconds, code, list(expressions), name]) + "\n")
    _runner.stdin.flush()
    answer = _runner.stdout.readline()
    if not answer:
        _runner.communicate()  # It has ended; the next call starts another.
    return answer == "true\n"


def _holds(code: str, expressions: Sequence[str], name: str | None) -> bool:
    """Return what `holds` does, found in this process."""
    try:
        defined = [node.name for node in ast.parse(code).body if isinstance(node, (ast.FunctionDef, ast.ClassDef))]
        if not code or (name and name not in defined):
            return False
        output = io.StringIO()
        scope: dict[str, Any] = {"out": output.getvalue}
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
            exec(code, scope)
            scope["f"] = scope[name or defined[-1]] if defined else None
            return all(eval(expression, scope) for expression in expressions)
    except BaseException:
        # Whatever a wrong answer raises, or if it leaves the program, it is wrong.
        return False


def _serve() -> None:
    """Answers one line after another; the code itself has nothing to read, and the alarm ends the process."""
    requests, sys.stdin = sys.stdin, io.StringIO()
    for line in requests:
        seconds, *request = json.loads(line)
        signal.setitimer(signal.ITIMER_REAL, seconds)
        answer = _holds(*request)
        signal.setitimer(signal.ITIMER_REAL, 0)
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    _serve()
