"""The engine that the tabs share, in its own process: restarted if it dies, ended with the server."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from typing import IO

from lade_chat.engine.process.ending import ending
from lade_chat.engine.sharing.address import Address

_BOOT = "import sys; sys.path[:] = {path!r}; from lade_chat.engine.sharing.hub import main; main()"
_PAUSE_SECONDS = 1.0
"""Delay before a restart, for an engine that dies at once."""


class EngineProcess:
    """The engine's process. ``report`` is called with a line when it has died."""

    def __init__(self, address: Address, report: Callable[[str], None], engine: str | None = None) -> None:
        """``engine``: ``module:factory`` of another engine than the chat's."""
        self._address = address
        self._report = report
        self._arguments = [engine] if engine is not None else []
        self._child: asyncio.subprocess.Process | None = None

    async def keep_up(self) -> None:
        """Keep an engine running until this is cancelled."""
        try:
            while True:
                with tempfile.TemporaryFile() as log:
                    await self._run(log)
                await asyncio.sleep(_PAUSE_SECONDS)
        finally:
            self.kill()

    async def _run(self, log: IO[bytes]) -> None:
        self._child = await asyncio.create_subprocess_exec(
            sys.executable,
            "-c",
            _BOOT.format(path=sys.path),
            *self._arguments,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=log,
            env={**os.environ, **self._address.environment},
        )
        how = ending(await self._child.wait(), log)
        self._report(f"the engine {how}; it is started again")

    def kill(self) -> None:
        """End the engine at once, if there is one."""
        if self._child is not None and self._child.returncode is None:
            self._child.kill()
