"""Processes: what this one sets before torch is imported, and children that run one function of this package."""

from __future__ import annotations

import gc
import io
import os
import signal
import subprocess
import sys
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import IO, BinaryIO

_TAIL_BYTES = 4096
_CAUSES = {"SIGKILL": "the system ran out of memory", "SIGBUS": "a file of the model was cut off while it was in use"}


def limit_spinning() -> None:
    """Make waiting OpenMP threads sleep soon instead of spinning, unless the environment sets a policy.

    A step of a small model has dozens of waits; if another program uses one of the cores, each of them lasts until the
    scheduler switches. Measured on two cores beside one busy program: 25 ms for a plain step by default and 4.3 ms with
    this; 4.1 ms either way on an idle machine.
    """
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", "1000")


@contextmanager
def uncollected() -> Iterator[None]:
    """Import or load without garbage collection, which finds nothing there: a sixth of the time to import torch."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if enabled:
            gc.enable()


def command(main: str, *arguments: str) -> list[str]:
    """Return the command that calls ``module:function`` with this sys.path: ``-m`` would add the present folder."""
    module, _, function = main.partition(":")
    boot = f"import sys; sys.path[:] = {sys.path!r}; from {module} import {function}; {function}()"
    return [sys.executable, "-c", boot, *arguments]


class Child:
    """A process with pipes to its stdin and from its ``stdout``, killed with its object."""

    def __init__(
        self, main: str, *arguments: str, environment: Mapping[str, str] | None = None, logged: bool = True
    ) -> None:
        """Call ``module:function`` in a process, with these as its ``sys.argv[1:]``. Raises OSError.

        What it writes on stderr is kept for its last words if ``logged``, else dropped.
        """
        self._log = _log() if logged else None
        self._process = subprocess.Popen(
            command(main, *arguments),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log or subprocess.DEVNULL,
            cwd=_working_folder(),
            env={**os.environ, **(environment or {})},
            start_new_session=True,  # Ctrl+C in the terminal must not reach it
        )
        assert self._process.stdout is not None
        self.pid, self.stdout = self._process.pid, self._process.stdout
        weakref.finalize(self, _end, self._process)

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    def send(self, line: bytes) -> None:
        """Write a line. If the process is gone, its answer will not come."""
        assert self._process.stdin is not None
        with suppress(OSError, ValueError):
            self._process.stdin.write(line)
            self._process.stdin.flush()

    def kill(self) -> None:
        """Send SIGKILL, and do not wait. Idempotent."""
        self._process.kill()

    def ended(self) -> str:
        """Wait until it ends, and say how: ``ended with exit code 3: last words``, or ``was ended by SIGKILL …``."""
        code = self._process.wait()
        if code < 0:
            name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
            return f"was ended by {name}" + (f" (perhaps {cause})" if (cause := _CAUSES.get(name)) else "")
        words = "" if self._log is None else _last_line(self._log)
        return f"ended with exit code {code}" + (f": {words}" if words else "")


def claim_stdio() -> tuple[BinaryIO, BinaryIO]:
    """Keep a child's stdin and stdout for its own lines: what a library prints goes to stderr, and it reads nothing."""
    lines, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)  # in its turn among the lines on stderr, not at the end
    return lines, answers


def end_with_parent(before: Callable[[], None] = lambda: None) -> None:
    """Have a child that is sent no lines end with its parent, whatever it is doing; ``before`` is called first."""
    lines, _ = claim_stdio()

    def watch() -> None:
        try:
            lines.read()
        finally:
            before()
            os._exit(0)

    threading.Thread(target=watch, daemon=True).start()


def _working_folder() -> str | None:
    """The folder to start the process in: None for this one's, unless that was removed: torch would not start."""
    try:
        os.getcwd()
    except OSError:
        return os.path.abspath(os.sep)
    return None


def _log() -> IO[bytes]:
    """A file for what the process writes on stderr. Raises OSError where no disk has room."""
    try:
        return tempfile.TemporaryFile()
    except OSError as error:
        raise OSError(f"{error.strerror or error}: make room there, or set TMPDIR") from None


def _last_line(log: IO[bytes]) -> str:
    log.seek(max(0, log.seek(0, os.SEEK_END) - _TAIL_BYTES))
    lines = log.read().decode("utf-8", "replace").splitlines()
    return next((line.strip() for line in reversed(lines) if line.strip()), "")


def _end(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    process.wait()
