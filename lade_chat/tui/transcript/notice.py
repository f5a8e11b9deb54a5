"""Notices in the transcript: information, or an error with what to do next."""

from __future__ import annotations

from typing import Literal

from textual.content import Content
from textual.widgets import Static

from lade_chat.presentation.sanitize import printable

NoticeKind = Literal["information", "error"]


class Notice(Static):
    """``what`` happened and, dimmer, what to do about it."""

    def __init__(self, what: str, kind: NoticeKind = "information", way_on: str = "") -> None:
        self.what, self.kind = what, kind
        mark = "✗ " if kind == "error" else "· "
        lines = [Content(mark + printable(what))]
        if way_on:
            lines.append(Content.styled(printable(way_on), "$foreground-muted"))
        super().__init__(Content("\n").join(lines), markup=False, classes=kind)
