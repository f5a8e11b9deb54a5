"""Merging: what every rank chose at the rows of its part, as one answer for the whole step."""

from __future__ import annotations

from collections.abc import Sequence

from decoding.drafting.tree import ROOT, CandidateTree
from decoding.drafting.window import JacobiWindow
from decoding.parallel.part import Part
from decoding.parallel.split import Share
from decoding.sampling.sampler import Choices


def merge(
    candidates: CandidateTree,
    window: JacobiWindow,
    shares: Sequence[Share],
    parts: Sequence[Part],
    found: Sequence[Choices],
) -> Choices:
    """What is chosen at the last token, every candidate, and the window's last row, in this order.

    A row that several ranks have computed is the first one's. Going by its own choices, a rank says what follows a
    candidate only where it comes to that candidate itself; where it does not, ``candidates`` is cut off.

    Args:
        found: by rank, what was chosen at the rows of its part.
    """
    rows = 1 + len(candidates) + window.columns * bool(window.rows)
    tokens, wide = [0] * rows, bool(found[0].likeliest)
    likeliest: list[list[int]] = [[] for _ in range(rows * wide)]
    logits: list[list[float]] = [[] for _ in range(rows * wide)]
    sure: set[int] = set()
    for share, part, choices in reversed(list(zip(shares, parts, found, strict=True))):
        columns = range(1 + len(candidates) + share.start, 1 + len(candidates) + share.stop) if window.rows else ()
        places = [ROOT, *share.nodes, *columns]
        for row, place in enumerate(places):
            tokens[place] = choices.tokens[row]
            if wide:
                likeliest[place], logits[place] = choices.likeliest[row], choices.logits[row]
        come_to = {places[row] for row in part.tree().walk(choices.tokens)}
        sure = (sure - set(share.nodes)) | come_to
    _cut_off(candidates, tokens, sure)
    return Choices(tokens, likeliest, logits)


def _cut_off(candidates: CandidateTree, tokens: Sequence[int], sure: set[int]) -> None:
    """End the accepted run before a candidate of which nobody says for sure what follows it."""
    node = ROOT
    while (child := candidates.child(node, tokens[node])) is not None:
        if child not in sure:
            candidates.cut_off(child)
            return
        node = child
