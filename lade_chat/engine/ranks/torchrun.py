"""torchrun's environment and store, and the end of its ranks."""

from __future__ import annotations

import os
import signal
import threading
import time
from contextlib import suppress
from datetime import timedelta
from typing import Any, TypeAlias

RankStore: TypeAlias = Any
"""A torch.distributed store; torch does not export the types."""

OVER = "lade-chat/over"
"""Key set in torchrun's store when rank 0 has ended."""
ENGINES = "lade-chat/engines"
"""Key of the number of engines that rank 0 has started."""
WATCH_SECONDS = 0.5
STORE_SECONDS = 300.0
END_SECONDS = 5.0
"""Rank 0's patience with a store that may be shutting down too."""


def is_under_torchrun() -> bool:
    """Return True if torchrun started this process, or its parent, as one of several."""
    return "TORCHELASTIC_RUN_ID" in os.environ and world_size() > 1


def rank() -> int:
    """Rank of this process; 0 without torchrun."""
    return int(os.environ.get("RANK", "0"))


def world_size() -> int:
    """Number of ranks; 1 without torchrun."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def store(patience: float = STORE_SECONDS) -> RankStore:
    """Connect to the store of torchrun's agent. Imports torch; raises RuntimeError if it cannot be reached."""
    from torch.distributed import TCPStore  # type: ignore[attr-defined]

    address, port = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
    return TCPStore(address, port, is_master=False, timeout=timedelta(seconds=patience))


def watch() -> int:
    """On rank 0, end this process with torchrun, and signal changes of the terminal's size; returns torchrun's pid.

    torchrun starts each rank in a session of its own, to which a terminal sends no signals.
    """
    parent = os.getppid()
    threading.Thread(target=_watch, args=(parent,), name="torchrun", daemon=True).start()
    return parent


def announce_end(parent: int) -> None:
    """Let the other ranks end, for which torchrun (``parent``) waits. Imports torch."""
    if os.getppid() == parent:  # otherwise torchrun has ended, and the others end by themselves
        with suppress(RuntimeError):
            store(END_SECONDS).set(OVER, "1")


def _watch(parent: int) -> None:
    known = _terminal_size()
    while os.getppid() == parent:
        time.sleep(WATCH_SECONDS)
        if (size := _terminal_size()) != known and hasattr(signal, "SIGWINCH"):
            known = size
            os.kill(os.getpid(), signal.SIGWINCH)
    os.kill(os.getpid(), signal.SIGTERM)


def _terminal_size() -> os.terminal_size | None:
    try:
        return os.get_terminal_size(2)
    except OSError:
        return None
