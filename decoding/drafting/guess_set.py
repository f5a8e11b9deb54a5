"""The guess set: what the sources propose after the last token, merged into one tree of at most G continuations."""

from __future__ import annotations

from collections.abc import Sequence
from operator import itemgetter

from decoding.drafting.candidate_tree import CandidateTree
from decoding.drafting.registry import ORIGINS, WEIGHTS
from decoding.drafting.tables import DraftTables


def guess_set(tables: DraftTables, text: Sequence[int], longest: int, guess_set_size: int) -> CandidateTree:
    """Return the verification branch of the next step, the continuations likeliest beforehand first.

    Args:
        tables: what the sources have learnt.
        text: the text so far.
        longest: the tokens of a continuation at most.
        guess_set_size: G, how many continuations are merged at most.
    """
    tree = CandidateTree()
    if longest > 0 and guess_set_size > 0:
        found = [
            (WEIGHTS[evidence], origin, path)
            for origin, table in zip(ORIGINS, tables, strict=True)
            for evidence, path in table.continuations(text, longest)
        ]
        found.sort(key=itemgetter(0), reverse=True)
        for _, origin, path in found:
            guess_set_size -= tree.add(path, origin)
            if not guess_set_size:
                break
    return tree
