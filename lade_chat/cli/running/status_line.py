"""PassingLine: a status line on stderr that is redrawn, and erased at the end."""

from __future__ import annotations

import os
from shutil import get_terminal_size
from typing import TextIO

from lade_chat.presentation.metric_words import PREFILL, stage_words
from lade_chat.presentation.sanitize import printable
from lade_chat.presentation.status_parts import cut
from lade_chat.protocol.events import Loading, Prefilling


class PassingLine:
    """A status line on a terminal's stderr; a context manager that erases it at the end.

    Elsewhere only a stage that takes much longer than usual is reported, in a line that stays.
    """

    def __init__(self, out: TextIO) -> None:
        self._log = out
        self._out = out if out.isatty() and os.environ.get("TERM") != "dumb" else None
        self._shown = ""

    def __enter__(self) -> PassingLine:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.clear()

    def show(self, text: str) -> None:
        if self._out is not None and text != self._shown:
            # What stood in a second row would never be erased.
            self._out.write(f"\r{cut(printable(text), _columns(self._out) - 1)}\x1b[K")
            self._out.flush()
            self._shown = text

    def show_event(self, event: Loading | Prefilling) -> None:
        doing = stage_words(event.stage, event.total) if isinstance(event, Loading) else PREFILL
        if self._out is None and isinstance(event, Loading) and event.stage == "kernels":
            self._log.write(f"{doing} …\n")
            self._log.flush()
        counted = event.total and not (isinstance(event, Loading) and event.stage == "unpacking")
        self.show(f"{doing} {event.done / event.total:.0%}" if counted else f"{doing} …")

    def clear(self) -> None:
        if self._out is not None and self._shown:
            self._out.write("\r\x1b[K")
            self._out.flush()
            self._shown = ""


def _columns(out: TextIO) -> int:
    """Return the width of the terminal that ``out`` is, which stdout may not be."""
    try:
        columns = os.get_terminal_size(out.fileno()).columns
    except (OSError, ValueError):
        columns = 0
    return columns or get_terminal_size().columns


class LastingLines(PassingLine):
    """A status line that is never redrawn: each stage has a line of its own."""

    def show(self, text: str) -> None:
        stage = text.rstrip("…%0123456789 ")
        if self._out is not None and stage != self._shown:
            self._out.write(f"{printable(stage)}\n")
            self._out.flush()
            self._shown = stage

    def clear(self) -> None:
        """Do nothing: lines stay."""
