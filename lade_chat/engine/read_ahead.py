"""Prefill of a prompt while it is still being typed, so that the reply begins sooner."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from decoding import Session
from lade_chat.engine.comparison.ties import first_difference

AHEAD_TOKENS = 32
"""Tokens prefilled in one forward pass, which takes about as long as a step and cannot be interrupted."""
TYPED_NEXT = (".", " a")
"""Two possible continuations of a draft. Only the ids that both encodings share are stable under further typing."""


def read_ahead(session: Session, one: Sequence[int], other: Sequence[int], stopped: Callable[[], bool]) -> None:
    """Prefill the common beginning of two prompts in small chunks, until stopped.

    Chunked prefill gives the states of one forward pass but for rounding; models that need a single pass are skipped.
    """
    ids = list(one[: first_difference(one, other)])
    capabilities = session.capabilities
    if not capabilities.rewindable or capabilities.one_prefill or session.reusable(ids) >= len(ids) - 1:
        return
    session.sync(ids)
    while not stopped() and (left := len(ids) - 1 - session.cached) > 0:
        session.read(min(AHEAD_TOKENS, left))
