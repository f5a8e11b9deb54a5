"""What the sources propose after the last token, merged into one tree of at most G continuations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

from decoding.drafting.tree import CandidateTree
from decoding.step import Origin

if TYPE_CHECKING:
    from decoding.session import Session

STRONG_MATCH = 2
"""From this many matching tokens on, context is likelier to be right than an n-gram matched by one token."""


def propose(session: Session, depth: int, guess_set_size: int) -> CandidateTree:
    """The verification branch of the next step.

    Args:
        depth: how many tokens a continuation has at most.
        guess_set_size: G, how many continuations are merged at most.
    """
    tree = CandidateTree()
    if depth > 0 and guess_set_size > 0:
        new = (True for path, origin in _in_order(session, depth) if tree.add(path, origin))
        # Each turn of this iterator has merged one more continuation.
        for _ in islice(new, guess_set_size):
            pass
    return tree


def _in_order(session: Session, depth: int) -> Iterator[tuple[Sequence[int], Origin]]:
    """Continuations, the likeliest source first."""
    matches = list(session.tables.context.after(session.ids, depth))
    for length, path in matches:
        if length >= STRONG_MATCH:
            yield path, Origin.CONTEXT
    for tail in session.tables.trajectory.after(session.ids[-1]):
        yield tail[:depth], Origin.TRAJECTORY
    for length, path in matches:
        if length < STRONG_MATCH:
            yield path, Origin.CONTEXT
