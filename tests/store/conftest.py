"""What every test of the store needs: a folder of its own, and a store in it."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from lade_chat.store.all_conversations import Store
from lade_chat.store.errors import StoreError

_IN_MEMORY = Path("/dev/shm")
"""Where it is there: what is tested is not how long a disk takes to have everything."""


@pytest.fixture
def folder() -> Iterator[Path]:
    """Where conversations are kept in this test; it is not there yet."""
    above = Path(tempfile.mkdtemp(prefix="lade-chat-", dir=_IN_MEMORY if _IN_MEMORY.is_dir() else None))
    yield above / "data"
    shutil.rmtree(above)


@pytest.fixture
def store(folder: Path) -> Iterator[Store]:
    opened = Store(folder)
    yield opened
    with suppress(StoreError):
        opened.close()
