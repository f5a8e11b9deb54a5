"""Splitting a step over ranks: which candidates and which columns of the window each of them computes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from decoding.drafting.tree import ROOT, CandidateTree
from decoding.drafting.window import JacobiWindow
from decoding.parallel.part import Part


@dataclass(frozen=True)
class Share:
    """What one rank gets.

    Attributes:
        nodes: numbers of candidates in the whole tree, parents before children; with a node come all before it.
        start, stop: columns of the window, from the first to the one behind the last.
    """

    nodes: list[int]
    start: int
    stop: int

    def part(self, tree: CandidateTree, window: JacobiWindow, width: int) -> Part:
        """The part that it stands for."""
        local = {ROOT: ROOT, **{node: number for number, node in enumerate(self.nodes, start=1)}}
        rows: list[list[int]] = []
        if self.stop > self.start:
            rows = [row[0 if number == 0 else self.start : self.stop] for number, row in enumerate(window.rows)]
        return Part(
            tokens=[tree.tokens[node - 1] for node in self.nodes],
            parents=[local[tree.parent(node)] for node in self.nodes],
            start=self.start if rows else 0,
            rows=rows,
            width=width,
        )


def split(tree: CandidateTree, window: JacobiWindow, unread: Sequence[int]) -> list[Share]:
    """A share for every rank, such that none has many more tokens in its forward pass than another.

    A node is verified where all before it are, so the first tokens of a branch may go to several ranks. A column sees
    the window's first row up to itself, so that row goes to several ranks too.

    Args:
        unread: for each rank, how many tokens of the text it has to read in this step.
    """
    columns = _columns(window.columns, len(window.rows), tuple(unread))
    held = [load + _window_tokens(*span, len(window.rows)) for load, span in zip(unread, columns, strict=True)]
    nodes = _nodes(tree, held)
    return [Share(own, *span) for own, span in zip(nodes, columns, strict=True)]


def _window_tokens(start: int, stop: int, rows: int) -> int:
    return stop + (rows - 1) * (stop - start) if stop > start else 0


@lru_cache(maxsize=1024)
def _columns(columns: int, rows: int, loads: tuple[int, ...]) -> list[tuple[int, int]]:
    """Consecutive columns for each rank, the most loaded one having as few tokens as can be."""
    if not columns or not rows:
        return [(0, 0)] * len(loads)
    level = -(-(sum(loads) + columns * rows) // len(loads))
    while True:
        spans, start = [], 0
        for load in loads:
            # The most columns with load + _window_tokens(start, stop, rows) ≤ level.
            stop = max(start, min(columns, (level - load + (rows - 1) * start) // rows))
            spans.append((start, stop))
            start = stop
        if start == columns:
            return spans
        level += 1


def _nodes(tree: CandidateTree, loads: Sequence[int]) -> list[list[int]]:
    """The candidates of each rank, given how many tokens it has without them."""
    paths = _paths(tree)
    level = -(-(sum(loads) + len(tree)) // len(loads))
    while True:
        shares: list[list[int]] = []
        waiting = iter(paths)
        path = next(waiting, None)
        for load in loads:
            held: set[int] = set()
            while path is not None and load + len(held.union(path)) <= level:
                held.update(path)
                path = next(waiting, None)
            shares.append(sorted(held))
        if path is None:
            return shares
        level += 1


def _paths(tree: CandidateTree) -> list[list[int]]:
    """From the root to every leaf, the likeliest first, neighbours sharing the most."""
    children: list[list[int]] = [[] for _ in range(1 + len(tree))]
    for node in range(1, 1 + len(tree)):
        children[tree.parent(node)].append(node)
    paths: list[list[int]] = []
    waiting = [[node] for node in reversed(children[ROOT])]
    while waiting:
        path = waiting.pop()
        below = children[path[-1]]
        if not below:
            paths.append(path)
        waiting += [[*path, node] for node in reversed(below)]
    return paths
