"""Similar tokens: found by the signs of embeddings, and what followed them may follow a token that is new."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import transformers as hf

from decoding import Origin, Session
from decoding.drafting import similar_tokens
from decoding.drafting.draft_tables import DraftTables
from decoding.drafting.expander import CandidateExpander
from decoding.drafting.similar_tokens import Signs, SimilarTokens, embedding_signs
from tests.costs import NEARLY_FREE, budgeted
from tests.evidence import followers_of
from tests.models import random_model, tokens_of

WIDTH = 128
NEAR, FAR, NEW, OTHER = 40, 41, 42, 43


def signs() -> Signs:
    """Token ``NEW`` agrees with ``NEAR`` in all signs but 8 of 128, with ``FAR`` in 96, with ``OTHER`` in none."""
    bits = np.random.default_rng(1).integers(0, 2, (64, WIDTH), dtype=np.uint8)
    bits[NEAR] = bits[FAR] = bits[NEW]
    bits[NEAR, :8] ^= 1
    bits[FAR, -32:] ^= 1
    bits[OTHER] = 1 - bits[NEW]
    return np.packbits(bits, axis=1).view(np.uint64)


def test_the_nearest_come_first_with_the_share_of_signs_that_differ() -> None:
    similar = SimilarTokens(signs)
    assert similar.nearest(NEW, []) == []
    assert similar.nearest(NEW, [FAR]) == [(FAR, 0.25)]
    assert similar.nearest(NEW, [NEAR, NEAR, FAR]) == [(NEAR, 8 / WIDTH), (FAR, 0.25)]


def test_of_more_tokens_than_are_kept_the_first_goes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(similar_tokens, "MAX_TOKENS", 2)
    similar = SimilarTokens(signs)
    similar.nearest(NEW, [NEAR, OTHER])
    assert [token for token, _ in similar.nearest(NEW, [FAR])] == [FAR, OTHER]


def tables_that_know(*tokens: int) -> DraftTables:
    tables = DraftTables()
    tables.bind(64, signs)
    for token in tokens:
        tables.successors.learn(token, [10 + token % 10, 50], [5.0, 1.0])
    return tables


def test_what_followed_the_nearest_may_follow_a_last_token_that_is_new() -> None:
    tables = tables_that_know(NEAR, FAR)
    found = {each.pair[1]: each.probability for each in followers_of(CandidateExpander(tables, [1, NEW]))}
    assert found[10] > found[11] > 0
    assert found[50] > 0, "both propose it"
    expander = CandidateExpander(tables, [1, NEW])
    assert not expander.expand(expander.root, 1)[1], "behind a candidate nothing is compared"
    assert not followers_of(CandidateExpander(tables_that_know(OTHER), [1, NEW])), "nor are tokens that are not alike"


def test_a_token_that_is_known_by_itself_is_not_compared_with_others() -> None:
    tables = tables_that_know(NEAR, NEW)
    assert {each.pair[1] for each in followers_of(CandidateExpander(tables, [1, NEW]))} == {12, 50}


def test_what_was_forgotten_is_not_compared_with() -> None:
    tables = tables_that_know(NEAR)
    tables.remember([])
    assert not followers_of(CandidateExpander(tables, [1, NEW]))
    tables.successors.learn(FAR, [7], [1.0])
    assert [each.pair[1] for each in followers_of(CandidateExpander(tables.copy(), [1, NEW]))] == [7]


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_signs_are_those_of_a_models_embeddings(dtype: torch.dtype) -> None:
    config = hf.LlamaConfig(
        vocab_size=300, hidden_size=320, intermediate_size=64, num_hidden_layers=1, num_attention_heads=4
    )
    model = hf.LlamaForCausalLM(config).to(dtype)
    found = embedding_signs(model)
    assert found is not None
    wanted = (model.get_input_embeddings().weight[:, :256] > 0).numpy()
    assert np.array_equal(np.unpackbits(found.view(np.uint8), axis=1).astype(bool), wanted)


def test_embeddings_that_cannot_be_read_are_compared_with_nothing() -> None:
    with torch.device("meta"):
        elsewhere = hf.LlamaForCausalLM(hf.LlamaConfig(hidden_size=64, num_hidden_layers=1, num_attention_heads=4))
    assert embedding_signs(elsewhere) is None
    narrow = random_model("llama")
    assert narrow.config.hidden_size < 64
    assert embedding_signs(narrow) is None
    assert SimilarTokens(lambda: None).nearest(NEW, [NEAR]) == []


def test_the_text_is_that_of_plain_decoding_where_all_tokens_are_alike() -> None:
    """And candidates found by similarity are verified like any other."""
    config = hf.LlamaConfig(
        vocab_size=97,
        hidden_size=64,
        intermediate_size=64,
        num_hidden_layers=1,
        num_attention_heads=4,
        eos_token_id=None,
    )
    torch.manual_seed(3)
    model = hf.LlamaForCausalLM(config).double().eval()
    model.get_input_embeddings().weight.data[:] = model.get_input_embeddings().weight.data.abs()
    prompt, session = [5, 6, 7], Session(model)
    said = tokens_of(budgeted(model, NEARLY_FREE).generate(prompt, max_new_tokens=40, session=session))
    assert said == model.generate(torch.tensor([prompt]), max_new_tokens=40, do_sample=False)[0, 3:].tolist()
    assert len(session.tables[Origin.SUCCESSOR])
