"""torchrun: what it has told this process by its environment, its store, and its end."""

from __future__ import annotations

import os
import signal
import threading
import time
from contextlib import suppress
from datetime import timedelta
from typing import Any, TypeAlias

Store: TypeAlias = Any
"""A store of torch.distributed, whose stores are documented and not exported."""

OVER = "lade-chat/over"
"""The key in torchrun's store that says that rank 0 has ended."""
ENGINES = "lade-chat/engines"
"""The key that counts the engines that rank 0 has started."""
WATCH_SECONDS = 0.5
STORE_SECONDS = 300.0
END_SECONDS = 5.0
"""How long rank 0 tries to reach a store that may be going, when it ends."""


def under_torchrun() -> bool:
    """Whether torchrun started this process or the one that did, as one of several."""
    return "TORCHELASTIC_RUN_ID" in os.environ and world_size() > 1


def rank() -> int:
    """This process's number among those that torchrun started; 0 without torchrun."""
    return int(os.environ.get("RANK", "0"))


def world_size() -> int:
    """How many processes torchrun started; 1 without torchrun."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def store(patience: float = STORE_SECONDS) -> Store:
    """The store that torchrun's agent keeps. Imports torch; raises RuntimeError where it is not to be reached."""
    import torch.distributed as dist

    stores: Any = dist
    address, port = os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"])
    return stores.TCPStore(address, port, is_master=False, timeout=timedelta(seconds=patience))


def watch() -> int:
    """On rank 0, from now on: ask this process to end when torchrun is gone, and tell it of a terminal's new size.

    torchrun starts each rank in a session of its own, to which a terminal sends no signals.

    Returns:
        torchrun's process.
    """
    parent = os.getppid()
    threading.Thread(target=_watch, args=(parent,), name="torchrun", daemon=True).start()
    return parent


def announce_end(parent: int) -> None:
    """Let the other ranks end: torchrun, which is ``parent``, waits for all of them. Imports torch."""
    if os.getppid() == parent:  # else torchrun has gone, and the others go by themselves
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
