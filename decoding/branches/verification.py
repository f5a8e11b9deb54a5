"""Verification: which candidates are accepted, those that are what the model chose itself."""

from __future__ import annotations

from collections.abc import Sequence

from decoding.branches.candidate_tree import ROOT, CandidateTree


def accepted_path(candidates: CandidateTree, chosen: Sequence[int]) -> list[int]:
    """Return the accepted path: from the root, as long as a child holds the token that the model chose there.

    Args:
        chosen: the model's own choice after each node, the root's first; only those on the path are read.

    Returns:
        Node numbers along the path, the root left out. The model's choice after the last of them is the bonus token,
        which no source proposed.
    """
    path: list[int] = []
    node = ROOT
    while (child := candidates.child(node, chosen[node])) is not None:
        path.append(child)
        node = child
    return path
