"""ModelNotices: what the transcript tells of the model, or of its not being there."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from lade_chat.tui.transcript.notice import Notice, NoticeKind


class ModelNotices:
    """The notices about the model that stand in the transcript; those that apply no longer are taken away.

    ``add`` shows a notice, ``discard`` removes one.
    """

    def __init__(self, add: Callable[[str, NoticeKind, str], Notice], discard: Callable[[Notice], None]) -> None:
        self._add, self._discard = add, discard
        self.shown: list[Notice] = []

    def show_failure(self, what: str, way_on: str) -> Notice:
        """Tell that the requested model could not be loaded, in place of an earlier failure."""
        self._remove("error")
        self.shown.append(self._add(what, "error", way_on))
        return self.shown[-1]

    def show(self, texts: Sequence[str]) -> None:
        """Show a loaded model's notices, except those shown already, and remove those about failed loads."""
        self._remove("error")
        if [notice.what for notice in self.shown] != list(texts):
            self._remove("information")
            self.shown = [self._add(text, "information", "") for text in texts]

    def forget(self, notice: Notice) -> None:
        """Note that this one has been removed, if it is about the model."""
        self.shown = [each for each in self.shown if each is not notice]

    def _remove(self, kind: NoticeKind) -> None:
        for notice in [each for each in self.shown if each.kind == kind]:
            self.shown.remove(notice)
            self._discard(notice)
