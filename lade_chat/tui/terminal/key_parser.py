"""Parser of a terminal's keys: pastes and typed characters stay whole, Esc takes no letter behind it.

Alt+Enter is a key of its own.
"""

from __future__ import annotations

import re
import time
import unicodedata
from collections.abc import Iterable

from textual.events import Key
from textual.message import Message

from lade_chat.presentation.sanitize import printable
from lade_chat.presentation.thought_splitter import partial_match_length
from lade_chat.tui.terminal.textual_private import XTermParser, end_sequence

ESCAPE = "\x1b"
BEFORE_ESCAPE = re.compile("(?=\x1b)")
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
            held = 0 if found else partial_match_length(body, (marker,))
            self._held = body[len(body) - held :]
            if self._pasting:
                body = body.removesuffix(self._held).replace(ESCAPE, "")
            passed.append((body + found)[already:])
            if not found:
                return "".join(passed)
            self._pasting = not self._pasting
            data, already = rest, 0


ALT_ENTER = "\x1b[13;3u"
"""As some terminals report it; Textual takes what the others send, Escape and Return, for Enter alone."""
ESCAPE_SECONDS = 0.03
"""After so long a lone escape character is the Esc key."""


class KeyParser(XTermParser):
    """Parses terminal input; each read must be passed to ``feed`` as a whole.

    Alt with a letter arrives in one read, Esc and a letter in two. Textual tells them apart by a timeout of a tenth of
    a second, in which a fast user can type the letter.
    """

    def __init__(self, debug: bool = False) -> None:
        super().__init__(debug)
        self._guard = PasteGuard()
        self._escaped: float | None = None
        """The time at which the read ended that had the Esc key, or the beginning of another, at its end."""

    @property
    def is_waiting(self) -> bool:
        """True while a lone escape character may become another key."""
        return self._escaped is not None

    def feed(self, data: str) -> Iterable[Message]:
        if not (text := self._guard.clean(data).replace("\x1b\r", ALT_ENTER)):
            return  # Textual takes an empty text for the end of all input
        if text[0] not in "[O":
            yield from self._end_escape()
        self._escaped = time.monotonic() if text.endswith(ESCAPE) else None
        for part in filter(None, BEFORE_ESCAPE.split(text)):
            if part[0] == ESCAPE:  # else Textual types ^ for the key before it
                end_sequence(self)
                yield from super().tick()
            for message in super().feed(part):
                if isinstance(message, Key) and message.character is not None and _is_text(message.character):
                    message.character = TypedCharacter(message.character)
                yield message

    def tick(self) -> Iterable[Message]:
        if self._escaped is not None and time.monotonic() - self._escaped >= ESCAPE_SECONDS:
            yield from self._end_escape()
        yield from super().tick()

    def _end_escape(self) -> Iterable[Message]:
        if self._escaped is not None:
            self._escaped = None
            end_sequence(self)
            yield from super().tick()


class TypedCharacter(str):
    """A character that a key types.

    An editor drops what ``str.isprintable`` refuses. Among that are the joiners in emoji and in Persian, and every
    blank other than the usual one, such as the wide one between Chinese characters.
    """

    def isprintable(self) -> bool:
        return True


def _is_text(character: str) -> bool:
    """Return True for what is not printable by Python's count, and nothing that a terminal would obey."""
    odd = len(character) == 1 and not character.isprintable()
    return odd and unicodedata.category(character) != "Cc" and printable(character) == character
