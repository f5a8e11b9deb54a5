"""Reads a prompt ahead while it is typed, so that the reply begins sooner."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from decoding import Session
from lade_chat.engine.comparison.ties import first_difference

AHEAD_TOKENS = 32
"""Tokens read in one forward pass: about as long as a step, so that it can be stopped as soon."""
TYPED_NEXT = (".", " a")
"""Prompts that go on in different ways end their common part where the next letter cannot change it."""


def read_ahead(session: Session, one: Sequence[int], other: Sequence[int], stopped: Callable[[], bool]) -> None:
    """Read what both prompts begin with, a few tokens at a time, until stopped.

    The states are those of a prompt read at once but for rounding: a model that needs one forward pass is left alone.
    """
    ids = list(one[: first_difference(one, other)])
    capabilities = session.capabilities
    if not capabilities.rewindable or capabilities.one_prefill or session.reusable(ids) >= len(ids) - 1:
        return
    session.sync(ids)
    while not stopped() and (left := len(ids) - 1 - session.cached) > 0:
        session.read(min(AHEAD_TOKENS, left))
