"""Runs code that a model wrote in a process of its own, which is ended where the code runs on and on.

This file is that process's program as well: a line of JSON in, a line of JSON out.
"""

from __future__ import annotations

import ast
import atexit
import contextlib
import io
import json
import subprocess
import sys
from collections.abc import Sequence
from threading import Timer
from typing import Any

_runner: subprocess.Popen[str] | None = None


def holds(code: str, expressions: Sequence[str], name: str | None = None, seconds: float = 5.0) -> bool:
    """Return True if each expression is true after the code, whose last function or class (or the named one) is `f`.

    What the code has printed so far is `out()`. Code that takes longer than this many seconds is wrong.
    """
    runner = _running()
    assert runner.stdin is not None
    assert runner.stdout is not None
    limit = Timer(seconds, runner.kill)
    limit.start()
    try:
        runner.stdin.write(json.dumps([code, list(expressions), name]) + "\n")
        runner.stdin.flush()
        answer = runner.stdout.readline()
    except OSError:
        answer = ""
    finally:
        limit.cancel()
    if not answer:
        _end()
    return answer == "true\n"


def _running() -> subprocess.Popen[str]:
    """The process, started where there is none (any more)."""
    global _runner
    if _runner is None or _runner.poll() is not None:
        _end()
        command = [sys.executable, "-I", __file__]
        _runner = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    return _runner


@atexit.register
def _end() -> None:
    if _runner is not None:
        with contextlib.suppress(OSError), _runner:
            _runner.kill()


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
    """Answers one line after another; the code itself has nothing to read."""
    requests, sys.stdin = sys.stdin, io.StringIO()
    for line in requests:
        print(json.dumps(_holds(*json.loads(line))), flush=True)


if __name__ == "__main__":
    _serve()
