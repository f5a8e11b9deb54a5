"""Notices in the transcript: information, or an error with what to do next; among them those about the model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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


class ModelNotices:
    """The notices about the model that stand in the transcript; those that apply no longer are taken away.

    ``add`` shows a notice, ``discard`` removes one.
    """

    def __init__(self, add: Callable[[str, NoticeKind, str], Notice], discard: Callable[[Notice], None]) -> None:
        self._add, self._discard = add, discard
        self.shown: list[Notice] = []

    def show_failure(self, what: str, way_on: str) -> None:
        """Tell that the requested model could not be loaded, in place of an earlier failure."""
        self._remove("error")
        self.shown.append(self._add(what, "error", way_on))

    def show(self, texts: Sequence[str]) -> None:
        """Show a loaded model's notices, except those shown already, and remove those about failed loads."""
        self._remove("error")
        if [notice.what for notice in self.shown] != list(texts):
            self._remove("information")
            self.shown = [self._add(text, "information", "") for text in texts]

    def forget_failure(self) -> None:
        """Take away what was told of a failure."""
        self._remove("error")

    def _remove(self, kind: NoticeKind) -> None:
        for notice in [each for each in self.shown if each.kind == kind]:
            self.shown.remove(notice)
            self._discard(notice)
