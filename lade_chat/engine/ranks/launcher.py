"""Starts worker processes through torch's elastic launcher, and ends them with the process that started it.

It leads a process group that contains the workers: its stdin closes when its parent ends, and it then kills the group.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import uuid


def main() -> None:
    """Start workers. Arguments: their number, the parent's port, and the number of ranks in all."""
    workers, port, ranks = map(int, sys.argv[1:])
    threading.Thread(target=_end_with_parent, daemon=True).start()
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


def _end_with_parent() -> None:
    sys.stdin.buffer.read()
    os.killpg(os.getpgrp(), signal.SIGKILL)


if __name__ == "__main__":
    main()
