"""Replacement of a file in one step: readers see the old content or the new, never a part."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from pathlib import Path


def atomic_write(path: Path, data: bytes, *, private: bool = True, sync: bool = False) -> None:
    """Write ``data`` to ``path`` in one step. A link stays a link, and an existing file keeps its permissions.

    Args:
        path: the file; its folder is made if it is missing.
        data: the whole content.
        private: a new file and a new folder are their owner's alone.
        sync: flush the data to disk first, so that a power failure cannot leave an empty file.

    Raises:
        OSError: the file is as it was.
    """
    target = Path(os.path.realpath(path))
    target.parent.mkdir(mode=0o700 if private else 0o777, parents=True, exist_ok=True)
    draft = target.with_name(f".{target.name}-{secrets.token_hex(6)}")
    file_mode = 0o600 if private else 0o666
    try:
        with open(draft, "xb", opener=lambda name, flags: os.open(name, flags, file_mode)) as file:
            file.write(data)
            if sync:
                file.flush()
                os.fsync(file.fileno())
        with suppress(OSError):
            os.chmod(draft, target.stat().st_mode & 0o777)
        os.replace(draft, target)
    except OSError:
        with suppress(OSError):
            draft.unlink()
        raise
