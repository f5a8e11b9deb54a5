"""Paste guard: removes escape characters from a paste before Textual's parser splits it."""

from __future__ import annotations

ESCAPE = "\x1b"
START = "\x1b[200~"
END = "\x1b[201~"


class PasteGuard:
    """A filter for terminal input, in reads of any size, whose output goes to Textual's parser.

    Textual 8.2 looks for key sequences inside a paste too: an escape character there ends the paste early, and the
    rest arrives as keys, so that a line break sends a message nobody sent. Outside a paste nothing is changed.
    """

    def __init__(self) -> None:
        self._pasting = False
        self._held = ""
        """The beginning of what may become a marker; outside a paste it has been passed on already."""

    def clean(self, data: str) -> str:
        """``data`` without the escape characters of a paste; what may begin its end waits for the next read."""
        passed: list[str] = []
        data, already = self._held + data, 0 if self._pasting else len(self._held)
        while True:
            marker = END if self._pasting else START
            body, found, rest = data.partition(marker)
            # Outside a paste nothing may wait: a single escape character is the Esc key.
            self._held = "" if found else _beginning_of(marker, body)
            if self._pasting:
                body = body.removesuffix(self._held).replace(ESCAPE, "")
            passed.append((body + found)[already:])
            if not found:
                return "".join(passed)
            self._pasting = not self._pasting
            data, already = rest, 0


def _beginning_of(marker: str, text: str) -> str:
    """The longest end of ``text`` with which ``marker`` begins."""
    return next((marker[:size] for size in range(len(marker) - 1, 0, -1) if text.endswith(marker[:size])), "")
