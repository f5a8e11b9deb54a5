"""Peers in the benchmark: their published policies propose, and the text stays the model's own."""

from __future__ import annotations

import pytest
import torch

from lade_chat.bench.methods.all_methods import METHODS, Setup
from lade_chat.bench.methods.peers import RECYCLING_TREE, PromptLookup, SuffixDecoding, TokenRecycling
from tests.models import hf_greedy, random_model, random_prompt


@pytest.mark.parametrize("name", ["token-recycling", "suffix-decoding", "prompt-lookup"])
def test_a_peer_gives_the_models_own_text_in_fewer_steps_and_fewer_still_when_warm(name: str) -> None:
    model, prompt = random_model("llama", layers=1), random_prompt(9)
    [method] = METHODS[name](Setup(model))
    reply, steps = method.open(None), []
    for _ in range(2):
        answer = reply(prompt, 40)
        assert list(answer.ids) == hf_greedy(model, prompt, 40)
        assert answer.totals is not None
        steps.append(answer.totals.steps)
    assert steps[1] <= steps[0] <= 39
    assert steps[1] < steps[0] or name == "prompt-lookup"


@pytest.mark.parametrize(("name", "most"), [("token-recycling", 97), ("suffix-decoding", 30 + 40 + 40 + 2)])
def test_the_tables_of_a_peer_are_its_own(name: str, most: int) -> None:
    """Successors of at most the 97 tokens that there are; or the present text, the earlier reply and two separators."""
    [method] = METHODS[name](Setup(random_model("llama", layers=1)))
    reply = method.open(None)
    reply(random_prompt(9), 40)
    totals = reply(random_prompt(30), 40).totals
    assert totals is not None
    assert 0 < totals.table_entries <= most


def test_recycled_successors_fill_the_published_tree() -> None:
    policy = TokenRecycling()
    assert len(policy.propose([1], 9)) == 0
    # Every token's successors are tokens of their own, so that each path of ranks is another text.
    for token in range(8**5):
        policy.learn([token], [[8 * token + rank + 1 for rank in range(8)]])
    tree = policy.propose([0], 9)
    assert len(tree) == 80
    assert [tree.depths.count(depth) for depth in range(1, 7)] == [8, 21, 25, 15, 8, 3]
    assert max(policy.propose([0], 2).depths) == 2
    assert sum(RECYCLING_TREE.values()) == 80


def test_looking_a_prompt_up_proposes_what_transformers_does() -> None:
    from transformers.generation.candidate_generator import PromptLookupCandidateGenerator

    theirs, policy = PromptLookupCandidateGenerator(num_output_tokens=10, max_length=10**6), PromptLookup()
    for seed in range(200):
        generator = torch.Generator().manual_seed(seed)
        ids = torch.randint(2 + seed % 20, (1 + seed % 50,), generator=generator)
        whole, _ = theirs.get_candidates(ids[None])
        assert policy.propose(ids.tolist(), 20).tokens == whole[0, len(ids) :].tolist()
    assert policy.propose([1, 2, 3, 1], 1).tokens == [2]


def test_suffixes_propose_the_most_frequent_continuation_of_the_longest_match() -> None:
    policy = SuffixDecoding()
    assert policy.propose([1, 2, 3], 9).tokens == []
    assert policy.propose([1, 2, 3, 4, 9, 1, 2, 3, 5, 9, 1, 2, 3, 4, 8, 1, 2, 3], 9).tokens == [4, 5, 9]
    # A match of three tokens pays for three candidates, and one of five, in an earlier reply, for five.
    longer = SuffixDecoding()
    longer.propose([7], 9)
    longer.propose([7, *range(10, 30)], 9)
    assert longer.propose([40, *range(12, 17)], 9).tokens == [17, 18, 19, 20, 21]
    assert longer.propose([40, *range(12, 17)], 2).tokens == [17, 18]
