"""What a command is run with: a terminal, text through a pipe, an interpreter of its own, and a full disk."""

from __future__ import annotations

import io
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def pipe_in(monkeypatch: pytest.MonkeyPatch, text: bytes) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text), encoding="utf-8"))


def python(
    code: str, *, stdout: int = subprocess.PIPE, more: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run ``code`` in a fresh interpreter that can import what this one can."""
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **(more or {})},
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
        timeout=60,
    )


@contextmanager
def file_size_limit(size: int) -> Iterator[None]:
    """Let no file of this process become larger, as on a full disk."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
