"""Published draft-model-free methods, as policies that propose candidates for this package's verifier."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import heappop, heappush
from itertools import count
from typing import Any, TypeAlias

from decoding import LookaheadDecoder, Origin, Session, StepDetail
from decoding.branches.candidate_tree import ROOT, CandidateTree
from decoding.branches.window import JacobiWindow
from decoding.planning.planner import Planner, StepPlan
from decoding.sampling.sampler import Choices
from lade_chat.bench.methods.all_methods import Method, Setup
from lade_chat.bench.methods.decoders import decoder_method

RECYCLED = 8
"""Successors kept of each token."""
# Behind a path of ranks, how many ranks are tried: the 80 candidates of the published tree (version 2.2.2).
RECYCLING_TREE = {
    (): 8,
    **{(rank,): tried for rank, tried in enumerate((8, 4, 3, 2, 1, 1, 1, 1))},
    **{(0, rank): tried for rank, tried in enumerate((8, 3, 2, 1, 1, 1, 1, 1))},
    **{(0, 0, rank): tried for rank, tried in enumerate((5, 2, 1, 1, 1))},
    **{(0, 0, 0, rank): tried for rank, tried in enumerate((3, 1, 1))},
    (1, 0): 2,
    **dict.fromkeys(((1, 1), (2, 0), (3, 0), (4, 0), (5, 0)), 1),
    **dict.fromkeys(((0, 1, 0), (0, 2, 0), (1, 0, 0), (2, 0, 0), (3, 0, 0)), 1),
    **dict.fromkeys(((0, 0, 1, 0), (0, 1, 0, 0), (1, 0, 0, 0), (0, 0, 0, 1, 0)), 1),
    (0, 0, 0, 0, 0): 2,
}
MAX_PATTERN = 24
MAX_SPECULATED_PER_MATCH = 1.0
"""Candidates at most for each token of the match (the paper's alpha)."""
MIN_FREQUENCY = 0.1
"""Minimum relative frequency of a candidate's path among the continuations of the match."""
MAX_LOOKUP, LOOKUP_TOKENS = 2, 10
"""Tokens of a pattern at most, and of what is proposed."""

Ids: TypeAlias = Sequence[int]


class Policy:
    """Proposes candidates, and learns ``row_width`` of each row's likeliest tokens, in tables of its own."""

    row_width = 0

    def propose(self, ids: Ids, longest: int) -> CandidateTree:
        """Return candidates after a text, at most ``longest`` deep."""
        raise NotImplementedError

    def learn(self, tokens: Ids, likeliest: Sequence[Ids]) -> None:
        """Learn the likeliest successors of each token of a step; only where ``row_width`` is above 0."""

    def sizes(self) -> dict[str, int]:
        """Return the number of entries of each table."""
        return {}


class TokenRecycling(Policy):
    """Token Recycling (Luo et al. 2024, arXiv 2408.08696): each token's last successors, in a fixed tree."""

    row_width = RECYCLED

    def __init__(self) -> None:
        self._successors: dict[int, Ids] = {}

    def propose(self, ids: Ids, longest: int) -> CandidateTree:
        tree = CandidateTree()
        places: dict[tuple[int, ...], tuple[int, int]] = {(): (ROOT, ids[-1])}
        for path, children in RECYCLING_TREE.items():
            if path not in places or len(path) >= longest:
                continue
            parent, token = places[path]
            for rank, successor in enumerate(self._successors.get(token, ())[:children]):
                node = tree.grow(parent, successor, len(path) + 1, Origin.SUCCESSOR)
                places[*path, rank] = node, successor
        return tree

    def learn(self, tokens: Ids, likeliest: Sequence[Ids]) -> None:
        self._successors.update(zip(tokens, likeliest, strict=True))

    def sizes(self) -> dict[str, int]:
        return {"successors": len(self._successors)}


class SuffixDecoding(Policy):
    """SuffixDecoding (Oliaro et al. 2024, arXiv 2411.04975): what most often followed the longest matches.

    One collection of texts holds the present prompt and reply, another the earlier replies.
    """

    def __init__(self) -> None:
        self._present, self._earlier = Occurrences(), Occurrences()
        self._prompt = 0

    def propose(self, ids: Ids, longest: int) -> CandidateTree:
        present = self._present
        known = len(present.text)
        if known > len(ids) or present.text[self._prompt :] != list(ids[self._prompt : known]):
            known = 0
        if known == 0:
            self._earlier.extend([*present.text[self._prompt :], -1])
            self._present, self._prompt = Occurrences(), len(ids)
        self._present.extend(ids[known:])
        found = [each for texts in (self._present, self._earlier) for each in texts.speculations(ids, longest)]
        _, paths = max(found, key=lambda each: each[0], default=(0.0, []))
        tree = CandidateTree()
        for path in paths:
            tree.add(path, Origin.CONTEXT)
        return tree

    def sizes(self) -> dict[str, int]:
        return {"present": len(self._present.text), "earlier": len(self._earlier.text)}


class PromptLookup(Policy):
    """Prompt lookup (Saxena 2023), as transformers 5 has it by default: what followed the first match in the text."""

    def propose(self, ids: Ids, longest: int) -> CandidateTree:
        tree = CandidateTree()
        for length in range(min(MAX_LOOKUP, len(ids) - 1), 0, -1):
            pattern = ids[-length:]
            for start in range(length, len(ids)):
                if ids[start - length : start] == pattern:
                    tree.add(ids[start : start + min(LOOKUP_TOKENS, longest)], Origin.CONTEXT)
                    return tree
        return tree


class Occurrences:
    """Texts, with -1 between two of them, and where each token stands in them."""

    def __init__(self) -> None:
        self.text: list[int] = []
        self._places: dict[int, list[int]] = {}

    def extend(self, tokens: Iterable[int]) -> None:
        """Append tokens."""
        for token in tokens:
            self._places.setdefault(token, []).append(len(self.text))
            self.text.append(token)

    def speculations(self, ids: Ids, longest: int) -> Iterator[tuple[float, list[list[int]]]]:
        """Yield for each length of a match the score and the paths of its most frequent continuations."""
        text, last = self.text, len(self.text) - 1
        ends = [end for end in self._places.get(ids[-1], ()) if end < last]
        for length in range(1, min(MAX_PATTERN, len(ids)) + 1):
            ends = [end for end in ends if end >= length - 1 and text[end - length + 1] == ids[-length]]
            if not ends:
                return
            yield self._most_frequent(ends, int(MAX_SPECULATED_PER_MATCH * length), longest)

    def _most_frequent(self, ends: list[int], most: int, longest: int) -> tuple[float, list[list[int]]]:
        score, paths, numbers = 0.0, list[list[int]](), count()
        waiting: list[tuple[float, int, list[int], list[int]]] = [(-1.0, next(numbers), [], ends)]
        while waiting and len(paths) < most:
            frequency, _, path, places = heappop(waiting)
            if path:
                paths.append(path)
                score -= frequency
            if len(path) == longest:
                continue
            following = Counter(self.text[at + 1] for at in places if at + 1 < len(self.text))
            for token, times in following.items():
                share = frequency * times / len(places)
                if token >= 0 and -share >= MIN_FREQUENCY:
                    behind = [at + 1 for at in places if at + 1 < len(self.text) and self.text[at + 1] == token]
                    heappush(waiting, (share, next(numbers), [*path, token], behind))
        return score, paths


class _PolicyPlanner(Planner):
    def __init__(self, session: Session, policy: Policy, observe: Callable[[StepDetail], None] | None) -> None:
        super().__init__(session, JacobiWindow(0, 2, ()), observe)
        self._policy, self.row_width = policy, policy.row_width

    def _plan_step(self, max_depth: int) -> StepPlan:
        ids = self._session.ids
        return StepPlan(len(ids) - 1, ids[-1], self._window, (), self._policy.propose(ids, max_depth))

    def learn(self, plan: StepPlan, choices: Choices, accepted: Ids) -> None:
        if self.row_width:
            self._policy.learn((plan.last_token, *plan.candidates.tokens), choices.likeliest)
        super().learn(plan, choices, accepted)


class PolicyDecoder(LookaheadDecoder):
    """Verifies what a policy proposes, whatever it costs."""

    def __init__(self, model: Any, policy: Policy) -> None:
        super().__init__(model)
        self.policy = policy

    def _planner(self, session: Session, observe: Callable[[StepDetail], None] | None) -> Planner:
        return _PolicyPlanner(session, self.policy, observe)


POLICIES: dict[str, Callable[[], Policy]] = {
    "token-recycling": TokenRecycling,
    "suffix-decoding": SuffixDecoding,
    "prompt-lookup": PromptLookup,
}


def peer(setup: Setup, *, name: str) -> list[Method]:
    """A published policy as a method of the benchmark."""
    return [decoder_method(name, lambda: PolicyDecoder(setup.model, POLICIES[name]()), setup)]
