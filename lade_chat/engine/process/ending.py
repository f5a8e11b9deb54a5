"""The end of an engine's process in words."""

from __future__ import annotations

import os
import signal
from typing import IO

_TAIL_BYTES = 4096
_CAUSES = {"SIGKILL": "the system ran out of memory", "SIGBUS": "a file of the model was cut off while it was in use"}


def ending(code: int, log: IO[bytes]) -> str:
    """Say how a process ended: ``ended with exit code 3: last words``, or ``was ended by SIGKILL …``.

    Args:
        code: its exit code; the negative number of the signal that ended it.
        log: what it wrote on stderr, whose last line that is not blank is told if it ended by itself.
    """
    if code < 0:
        name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
        return f"was ended by {name}" + (f" (perhaps {cause})" if (cause := _CAUSES.get(name)) else "")
    log.seek(max(0, log.seek(0, os.SEEK_END) - _TAIL_BYTES))
    lines = log.read().decode("utf-8", "replace").splitlines()
    words = next((line.strip() for line in reversed(lines) if line.strip()), "")
    return f"ended with exit code {code}" + (f": {words}" if words else "")
