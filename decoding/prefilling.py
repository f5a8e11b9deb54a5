"""Prefill: a prompt is read in chunks, so that a stop takes effect between them and progress can be shown."""

from __future__ import annotations

from collections.abc import Iterator
from time import perf_counter

from decoding.arguments import InputIds, as_ids, check_kind
from decoding.model.capabilities import vocabulary_size
from decoding.session import Session

PREFILL_CHUNK, MIN_CHUNK, CHUNK_SECONDS = 512, 256, 0.5
"""Prompt tokens per forward pass; fewer after a pass that took longer, if chunk sizes cannot change the text."""


def prefill(session: Session, ids: InputIds) -> Iterator[int]:
    """Prefill all of a prompt but its last chunk, which the first step reads.

    Yields:
        The number of tokens read, after every chunk. The session is consistent then, and the caller may stop.

    Raises:
        ValueError: the prompt is not a list of the model's ids, or ``session`` is not a Session.
        RuntimeError: the session is in the middle of a step.
    """
    check_kind(session, Session, "session", required=True)
    with session.held():
        session.sync(as_ids(ids, vocabulary_size(session.model)))
    chunks = read_chunks(session)
    while True:
        with session.held():
            read = next(chunks, None)
        if read is None:
            return
        yield read


def read_chunks(session: Session) -> Iterator[int]:
    """Read the session's text but for its last chunk, within a step; yields how many tokens are read, after each."""
    if session.capabilities.one_prefill:
        return
    chunk = PREFILL_CHUNK
    # The last chunk holds two tokens at least: a step over one token would not count as the prefill.
    while len(session.ids) - session.cached > chunk + 1:
        started = perf_counter()
        session.read(chunk)
        if perf_counter() - started > CHUNK_SECONDS and session.prefix.is_batch_invariant:
            chunk = max(chunk // 2, MIN_CHUNK)
        yield session.cached
