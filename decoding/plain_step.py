"""The plain step, one token a forward pass: what every decoder takes where nothing else pays."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import median
from time import perf_counter

from decoding.arguments import as_count, check_kind
from decoding.request import Request
from decoding.session import Session
from decoding.step import Origin, Step

MAX_REREADS = 16
"""Maximum tokens to be read again in a step with candidates; more are read by a plain step, once and for all."""
_PLAIN = (Origin.PLAIN,)


def plain_step_seconds(session: Session, repeats: int = 5) -> float | None:
    """Return the seconds of a plain step at this length of text: the median of a few, all undone.

    None for a model whose state cannot be rewound, for an empty session, and where more than the last token is unread.

    Raises:
        ValueError: ``repeats`` is not a whole number of at least 1, or ``session`` is not a Session.
        RuntimeError: the session is in the middle of a step.
    """
    check_kind(session, Session, "session", required=True)
    repeats = as_count(repeats, "repeats", least=1)
    with session.held():
        if not session.capabilities.rewindable or not session.ids or session.cached != len(session.ids) - 1:
            return None
        seconds = []
        for _ in range(repeats):
            started = perf_counter()
            session.read(1)
            seconds.append(perf_counter() - started)
            session.prefix.rewind(len(session.ids) - 1)
    return median(seconds)


def plain_steps(session: Session, request: Request) -> Iterator[Step]:
    """Yield steps of plain decoding, until one finishes."""
    while True:
        step = plain_step(session, request)
        yield step
        if step.finish_reason is not None:
            return


def plain_step(session: Session, request: Request, *, prefill: bool = False) -> Step:
    """Take one step of plain decoding; a prefill is one that reads the last chunk of a prompt."""
    ids, started = session.ids, perf_counter()
    unread = session.unread
    logits = session.read(len(ids) - session.cached)
    chosen = request.sampler.sample(logits, ids)
    forward_seconds = perf_counter() - started
    tokens, reason = request.cut(ids, (chosen,))
    session.commit(tokens)
    return Step(
        tokens,
        _PLAIN,
        reason,
        forward_tokens=unread,
        table_sizes=session.tables.sizes(),
        prefill=prefill,
        forward_seconds=forward_seconds,
        seconds=request.clock.lap(),
    )
