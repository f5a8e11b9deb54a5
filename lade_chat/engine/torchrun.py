"""What torchrun has told this process by its environment; nothing heavy is imported to ask."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import Any, TypeAlias

Store: TypeAlias = Any
"""A store of torch.distributed, whose stores are documented and not exported."""

OVER = "lade-chat/over"
"""The key in torchrun's store that says that rank 0 has ended."""
ENGINES = "lade-chat/engines"
"""The key that counts the engines that rank 0 has started."""


def under_torchrun() -> bool:
    """Whether torchrun started this process or the one that did, as one of several."""
    return "TORCHELASTIC_RUN_ID" in os.environ and world_size() > 1


def rank() -> int:
    """This process's number among those that torchrun started; 0 without torchrun."""
    return int(os.environ.get("RANK", "0"))


def world_size() -> int:
    """How many processes torchrun started; 1 without torchrun."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def store() -> Store:
    """The store that torchrun's agent keeps. Imports torch."""
    import torch.distributed as dist

    stores: Any = dist
    return stores.TCPStore(os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]), is_master=False)


def announce_end() -> None:
    """Let the other ranks end: torchrun waits for all of them. Imports torch."""
    with suppress(RuntimeError):  # torchrun itself may have gone, and has taken the others with it
        store().set(OVER, "1")
