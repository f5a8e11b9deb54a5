"""Starts worker processes through torch's elastic launcher, and ends all of them when its own starter is gone.

Runs as a process of its own, the leader of a group to which the workers belong: whatever ends the starter closes this
process's stdin, and that ends the whole group at once.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import uuid


def main() -> None:
    """Arguments: how many workers to start, the starter's port, and how many ranks there are in all."""
    workers, port, ranks = map(int, sys.argv[1:])
    threading.Thread(target=_end_with_starter, daemon=True).start()
    from torch.distributed.launcher.api import LaunchConfig, elastic_launch

    from lade_chat.engine.ranks.worker import run_worker

    config = LaunchConfig(
        min_nodes=1,
        max_nodes=1,
        nproc_per_node=workers,
        run_id=uuid.uuid4().hex,
        rdzv_backend="c10d",
        rdzv_endpoint="127.0.0.1:0",
        local_addr="127.0.0.1",
        max_restarts=0,
    )
    elastic_launch(config, run_worker)(port, ranks)


def _end_with_starter() -> None:
    sys.stdin.buffer.read()
    os.killpg(os.getpgrp(), signal.SIGKILL)


if __name__ == "__main__":
    main()
