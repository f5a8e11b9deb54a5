"""An engine for tests: it echoes prompts, refuses those of one token and crashes on empty ones."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence

from lade_chat.bench.methods.engine_child import EngineAnswer, LoadedEngine, Wanted


def load(wanted: Wanted) -> LoadedEngine:
    """Write to stdout, as libraries do, and return the engine."""
    sys.stdout.write("loading\n")
    sys.stdout.flush()

    def answer(ids: Sequence[int], most: int) -> EngineAnswer:
        if len(ids) == 1:
            raise ValueError("too short")
        if not ids:
            os.kill(os.getpid(), signal.SIGSEGV)
        return EngineAnswer(tuple(ids[:most]), wanted.threads, 0.5)

    return answer
