"""PromptHistory: messages that were sent or discarded, to be recalled one by one."""

from __future__ import annotations

from collections.abc import Sequence


class PromptHistory:
    """Goes back and forth in the messages; begins at the latest again whenever one is added."""

    def __init__(self) -> None:
        self._messages: list[str] = []
        self._place: int | None = None
        """The message that was recalled last."""

    def add(self, text: str) -> None:
        if not self._messages or self._messages[-1] != text:
            self._messages.append(text)
        self._place = None

    def prepend(self, newest_first: Sequence[str]) -> None:
        """Add earlier messages than all of these."""
        self._messages = [*reversed(newest_first), *self._messages]
        self._place = None

    def is_recalled(self, text: str) -> bool:
        """Return True if ``text`` is the message recalled last, unedited."""
        return self._place is not None and self._messages[self._place] == text

    def recall_last(self, text: str) -> None:
        """Count ``text`` as recalled if it is the latest message."""
        self._place = len(self._messages) - 1 if self._messages and self._messages[-1] == text else None

    def recall(self, direction: int, text: str) -> str | None:
        """Return the message before (-1) or after (1) the one that ``text`` recalls; empty after the latest.

        None if ``text`` is another, or there is no message to begin with.
        """
        place = self._place if self.is_recalled(text) else None
        if place is None:
            if text or not self._messages or direction > 0:
                return None
            place = len(self._messages)
        place += direction
        if place >= len(self._messages):
            self._place = None
            return ""
        self._place = max(place, 0)
        return self._messages[self._place]
