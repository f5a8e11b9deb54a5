"""ReplySaver: saves a reply while it is being received, a part at a time."""

from __future__ import annotations

import time

import msgspec

from lade_chat.protocol.events import Tokens
from lade_chat.protocol.values import Piece, Statistics
from lade_chat.store.piece_codec import pack
from lade_chat.store.records import Ending, Turn
from lade_chat.store.sqlite.conversation_rows import put_chunk
from lade_chat.store.sqlite.database import Database

SAVE_SECONDS = 0.2
"""Interval between saves of a running reply; at most this much is lost if the program is killed.

A save takes 0.1 to 0.4 ms, so five a second take a thousandth or two of a core.
"""


class ReplySaver:
    """Takes the engine's tokens and yields chunks to save."""

    def __init__(self, turn: Turn) -> None:
        self.turn = turn
        self.has_begun = False
        """True once it has said something."""
        self._pieces: list[Piece] = []
        self._moments: list[float] = []
        self._statistics: Statistics | None = None
        self._chunks = 0
        self._saved = (0, 0)
        self._tried = time.monotonic()

    def take(self, tokens: Tokens) -> bool:
        """Append tokens to the reply; returns True when the next save is due."""
        self.has_begun = self.has_begun or any(piece.text for piece in tokens.pieces)
        self._pieces.extend(tokens.pieces)
        self._moments.extend(tokens.step_seconds)
        self._statistics = tokens.statistics
        return time.monotonic() - self._tried >= SAVE_SECONDS

    def save(self, database: Database) -> bool:
        """Write the part that is not saved yet; returns False if there is none. Raises StoreError."""
        pieces, moments = self._pieces[self._saved[0] :], self._moments[self._saved[1] :]
        if not pieces or self._statistics is None:
            return False
        text, packed = "".join(piece.text for piece in pieces), pack(pieces, moments)
        try:
            database.add([put_chunk(self.turn.id, self._chunks, text, packed, self._statistics)])
        finally:
            self._tried = time.monotonic()  # a locked file takes seconds: what piled up meanwhile is due as one
        self._chunks += 1
        self._saved = (len(self._pieces), len(self._moments))
        return True

    def mark_lost(self) -> None:
        """Note that nothing is on disk any more: the next chunk holds everything."""
        self._chunks, self._saved = 0, (0, 0)

    def ended(self, ending: Ending, error: str, statistics: Statistics | None) -> Turn:
        """Return the turn with its whole reply; without ``statistics``, the last ones."""
        return msgspec.structs.replace(
            self.turn,
            reply="".join(piece.text for piece in self._pieces),
            ending=ending,
            error=" ".join(error.split()),
            statistics=statistics or self._statistics,
            packed=(pack(self._pieces, self._moments),) if self._pieces else (),
        )
