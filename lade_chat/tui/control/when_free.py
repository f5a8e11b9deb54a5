"""A race or an explanation that waits for the model to be loaded before it opens above the chat."""

from __future__ import annotations

from lade_chat.tui.control.view import ChatView
from lade_chat.tui.conversations.store_worker import Job


class WhenFree:
    """Holds the last thing asked for, and opens it unless the user has typed in the meantime."""

    def __init__(self, view: ChatView) -> None:
        self._view = view
        self._open: Job | None = None
        self._draft: str | None = None
        self._missed = ""

    def wait(self, open_it: Job, opens: str, missed: str) -> None:
        """Have ``open_it`` called by ``open``.

        ``opens`` says when that is, ``missed`` what to do if somebody is typing then.
        """
        self._open, self._draft, self._missed = open_it, self._view.draft, missed
        self._view.hint(opens, lambda: self._open is open_it)

    def open(self) -> None:
        """Open what waits; nothing is opened above what is being typed, nor above anything else."""
        open_it, self._open = self._open, None
        if open_it is None:
            return
        draft = self._view.draft
        if draft is not None and draft in ("", self._draft):
            open_it()
        else:
            self._view.hint(self._missed)

    def forget(self) -> None:
        """Drop what waits."""
        self._open = None
