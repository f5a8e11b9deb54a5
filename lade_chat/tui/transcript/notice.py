"""Notices in the transcript: information, or an error with what to do next."""

from __future__ import annotations

from textual.content import Content
from textual.widgets import Static

from lade_chat.presentation.sanitize import printable


class Notice(Static):
    """``what`` happened and, dimmer, what to do about it."""

    def __init__(self, what: str, way_on: str = "", *, is_error: bool = False) -> None:
        self.what, self.is_error = what, is_error
        lines = [Content(("✗ " if is_error else "· ") + printable(what))]
        if way_on:
            lines.append(Content.styled(printable(way_on), "$foreground-muted"))
        super().__init__(Content("\n").join(lines), markup=False)
        self.set_class(is_error, "error")
