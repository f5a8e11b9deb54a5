"""Turns: from which session a race starts, so that nothing in it has seen the answer."""

from __future__ import annotations

from decoding import Session, Tables


class Turns:
    """Remembers what the sources had learnt before the last turn was answered, and which prompts ever were."""

    def __init__(self) -> None:
        self._ids: tuple[int, ...] = ()
        self._tables: Tables | None = None
        self._cached = 0
        self._answered: set[int] = set()

    def begin(self, ids: tuple[int, ...], session: Session) -> None:
        """This prompt, which the session has taken up, is about to be answered."""
        if ids != self._ids:
            seen = hash(ids) in self._answered
            self._ids, self._tables, self._cached = ids, None if seen else session.tables.copy(), session.cached
        self._answered.add(hash(ids))

    def start(self, ids: tuple[int, ...], session: Session) -> Session:
        """What a race over this prompt starts from; to be copied, not changed.

        As the session is, if it has not seen an answer to it; as it was, if that was the last turn; else a fresh one.
        """
        if ids == self._ids and self._tables is not None:
            return session.copy_as_of(ids, self._tables, self._cached)
        read_on = len(session.ids) > len(ids) and tuple(session.ids[: len(ids)]) == ids
        if hash(ids) in self._answered or read_on:
            return fresh(session)
        return session


def fresh(session: Session) -> Session:
    """A session with the same model that has seen nothing."""
    return Session(session.model, compiled=session.compiled)
