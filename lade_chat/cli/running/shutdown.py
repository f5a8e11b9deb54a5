"""The last resort of quitting: a process that has been asked to end ends, whatever still holds it up."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable

PATIENCE_SECONDS = 10.0
"""Long enough for a slow disk, or a picture that is being written; usually all is over in half a second."""


def end_in_time(asked: threading.Event, code: Callable[[], int], patience: float = PATIENCE_SECONDS) -> None:
    """Watch in a thread: ``patience`` seconds after ``asked`` is set, end the process with ``code()``."""

    def watch() -> None:
        asked.wait()
        time.sleep(patience)
        os._exit(code())

    threading.Thread(target=watch, name="ending", daemon=True).start()
