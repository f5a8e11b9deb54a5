"""CandidateTree: proposed continuations merged into one prefix tree, so that a shared prefix is verified once."""

from __future__ import annotations

from collections.abc import Sequence
from math import nan

import numpy as np
import numpy.typing as npt

from decoding.step import Origin

ROOT = 0


class CandidateTree:
    """A prefix tree over the last token (node 0, the root); every other node is a candidate token.

    Nodes are numbered as they were added, parents before children. A node belongs to the first source to propose it.

    Attributes:
        tokens, parents, depths, origins: of each candidate, number 1 first; 0 is the root.
        probabilities: of each, that the model chooses it and all candidates before it; NaN if that was not estimated.
    """

    def __init__(self) -> None:
        self.tokens: list[int] = []
        self.depths: list[int] = []
        self.origins: list[Origin] = []
        self.probabilities: list[float] = []
        self.parents: list[int] = []
        self._children: list[dict[int, int]] = [{}]

    def __len__(self) -> int:
        """The number of candidate tokens; the root is not counted."""
        return len(self.tokens)

    def add(self, path: Sequence[int], origin: Origin) -> bool:
        """Merge one proposed continuation; True if any of it was new."""
        node, grown = ROOT, False
        for depth, token in enumerate(path, start=1):
            child = self._children[node].get(token)
            if child is None:
                child, grown = self.grow(node, token, depth, origin), True
            node = child
        return grown

    def grow(self, parent: int, token: int, depth: int, origin: Origin, probability: float = nan) -> int:
        """Add a node below another that has no child with this token; returns its number."""
        self.tokens.append(token)
        self.depths.append(depth)
        self.origins.append(origin)
        self.probabilities.append(probability)
        self.parents.append(parent)
        self._children.append({})
        child = len(self.tokens)
        self._children[parent][token] = child
        return child

    def child(self, node: int, token: int) -> int | None:
        """Return the candidate that follows a node with this token; None if there is none."""
        return self._children[node].get(token)

    def first_child(self, node: int) -> int:
        """Return the candidate that was the first to be added behind a node; 0 if there is none."""
        return next(iter(self._children[node].values()), ROOT)

    def cut_off(self, node: int) -> None:
        """Hide a candidate node and all behind it: no accepted path leads through it."""
        del self._children[self.parent(node)][self.tokens[node - 1]]

    def parent(self, node: int) -> int:
        """The node that a candidate node follows."""
        return self.parents[node - 1]

    def origin(self, node: int) -> Origin:
        """The source that proposed a candidate node."""
        return self.origins[node - 1]

    def ancestry(self) -> npt.NDArray[np.bool_]:
        """Attention mask among the nodes: each sees itself and its ancestors, the root included."""
        size = 1 + len(self)
        return np.frombuffer(bytearray(self.ancestry_bytes()), dtype=np.bool_).reshape(size, size)

    def ancestry_bytes(self) -> bytes:
        """Return :meth:`ancestry` as bytes, row after row, one for each node."""
        first = bytearray(1 + len(self.parents))
        first[ROOT] = True
        rows = [first]
        for node, parent in enumerate(self.parents, start=1):
            row = rows[parent].copy()
            row[node] = True
            rows.append(row)
        return b"".join(rows)
