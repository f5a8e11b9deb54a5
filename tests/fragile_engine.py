"""An engine for tests: it echoes prompts, refuses those of one token and crashes on empty ones."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence

from lade_chat.bench.methods.all_methods import Replier
from lade_chat.bench.results.measurements import TimedReply


def load(gguf: str, context: int, threads: int, *, ngram: bool) -> Replier:
    """Write to stdout, as libraries do, and return the engine."""
    sys.stdout.write("loading\n")
    sys.stdout.flush()

    def answer(ids: Sequence[int], most: int) -> TimedReply:
        if len(ids) == 1:
            raise ValueError("too short")
        if not ids:
            os.kill(os.getpid(), signal.SIGSEGV)
        return TimedReply(tuple(ids[:most]), threads, None, 1, 0.5)

    return answer
