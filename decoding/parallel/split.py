"""Splitting a step over ranks by candidates and columns of the window, and merging what they chose."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from decoding.branches.candidate_tree import ROOT, CandidateTree
from decoding.branches.verification import accepted_path
from decoding.branches.window import JacobiWindow
from decoding.parallel.channel import Part
from decoding.sampling.sampler import Choices


def split(tree: CandidateTree, window: JacobiWindow, unread: Sequence[int], width: int) -> list[Part]:
    """Return a part for every rank, such that their forward passes hold about equally many tokens.

    A node is verified where its ancestors are, so the first tokens of a branch may go to several ranks. A column sees
    the window's first row up to itself, so that row goes to several ranks too. Each rank reads its unread tokens, too.
    """
    columns = _columns(window.columns, len(window.rows), tuple(unread))
    held = [load + _window_tokens(*span, len(window.rows)) for load, span in zip(unread, columns, strict=True)]
    parts: list[Part] = []
    for nodes, (start, stop) in zip(_nodes(tree, held), columns, strict=True):
        local = {ROOT: ROOT, **{node: number for number, node in enumerate(nodes, start=1)}}
        tokens, parents = [tree.tokens[node - 1] for node in nodes], [local[tree.parent(node)] for node in nodes]
        rows = [row[start if number else 0 : stop] for number, row in enumerate(window.rows)] if stop > start else []
        parts.append(Part(nodes, tokens, parents, start, rows, width))
    return parts


def merge(candidates: CandidateTree, window: JacobiWindow, parts: Sequence[Part], found: Sequence[Choices]) -> Choices:
    """Return the tokens chosen at the last token, every candidate, and the window's last row, in this order.

    If several ranks have computed a row, the lowest rank's counts. A rank's choice after a candidate is valid only if
    its own choices lead to that candidate; where no rank's do, ``candidates`` is cut off.
    """
    rows = 1 + len(candidates) + window.columns * bool(window.rows)
    tokens, wide = [0] * rows, bool(found[0].likeliest)
    likeliest: list[list[int]] = [[] for _ in range(rows * wide)]
    logits: list[list[float]] = [[] for _ in range(rows * wide)]
    sure: set[int] = set()
    for part, choices in reversed(list(zip(parts, found, strict=True))):
        first = 1 + len(candidates) + part.start
        places = [ROOT, *part.nodes, *range(first, first + part.columns)]
        for row, place in enumerate(places):
            tokens[place] = choices.tokens[row]
            if wide:
                likeliest[place], logits[place] = choices.likeliest[row], choices.logits[row]
        come_to = {places[row] for row in accepted_path(part.tree(), choices.tokens)}
        sure = (sure - set(part.nodes)) | come_to
    # End the accepted run before a candidate after which no rank has a valid choice.
    unsure = next((node for node in accepted_path(candidates, tokens) if node not in sure), None)
    if unsure is not None:
        candidates.cut_off(unsure)
    return Choices(tokens, likeliest, logits)


def _window_tokens(start: int, stop: int, rows: int) -> int:
    return stop + (rows - 1) * (stop - start) if stop > start else 0


@lru_cache(maxsize=1024)
def _columns(columns: int, rows: int, loads: tuple[int, ...]) -> list[tuple[int, int]]:
    """Return consecutive columns for each rank that keep the largest load as small as possible."""
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
    """Return the candidates of each rank, given the number of tokens that it has without them."""
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
    """Return the paths from the root to every leaf, the likeliest first, neighbours sharing the most."""
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
