"""SessionHistory: provides a comparison with a session whose draft tables have not learnt the answer yet."""

from __future__ import annotations

from collections.abc import Sequence

from decoding import DraftTables, Session
from decoding.drafting.successors import Successors


class SessionHistory:
    """A copy of the draft tables from before the last answer, and the prompts answered so far."""

    def __init__(self) -> None:
        self._ids: tuple[int, ...] = ()
        self._tables: DraftTables | None = None
        self._cached = 0
        self._answered: set[int] = set()

    def record(self, ids: tuple[int, ...], tables: DraftTables, cached: int) -> None:
        """Record that this prompt is about to be answered, with these tables; ``cached`` of its tokens were known."""
        if ids != self._ids:
            seen = hash(ids) in self._answered
            self._ids, self._tables, self._cached = ids, None if seen else tables.copy(), cached
        self._answered.add(hash(ids))

    def remember(self, texts: Sequence[Sequence[int]], successors: Sequence[Successors]) -> None:
        """Reset the copied tables to these earlier texts and the last turn's prompt."""
        if self._tables is not None:
            self._tables.remember(texts, successors)
            for table in self._tables:
                table.extend(self._ids)

    def start(self, ids: tuple[int, ...], session: Session) -> Session | None:
        """Return the session that a comparison over this prompt starts from; to be copied, not changed.

        If the prompt was answered in the last turn, that is the session as before the turn; if it is unanswered,
        the present session. None if the answer is too long ago to be undone.
        """
        if ids == self._ids and self._tables is not None:
            # Reading ahead may have changed the text since.
            return session.copy_as_of(ids, self._tables, min(self._cached, session.reusable(ids)))
        read_on = len(session.ids) > len(ids) and tuple(session.ids[: len(ids)]) == ids
        return None if hash(ids) in self._answered or read_on else session


def fresh(session: Session) -> Session:
    """A new session with the same model."""
    return Session(session.model, compiled=session.compiled)
