"""Never a different answer: every decoder says what `generate` says, token for token, in float64."""

from __future__ import annotations

import pytest
import torch

from decoding import AutoregressiveDecoder, LookaheadConfig, LookaheadDecoder, Session, lookahead_support
from tests.costs import DEAR, NEARLY_FREE, budgeted
from tests.models import CONFIGS, PLAIN_ONLY, hf_greedy, random_model, random_prompt, tokens_of
from tests.pairs import in_turn, pairs

SIZES = [(0, 2, 0), (3, 2, 3), (7, 5, 7), (4, 3, 2), (0, 4, 5), (5, 4, 0), (1, 2, 1), (15, 5, 15), (2, 7, 3)]
LENGTH = 34


PROMPT = random_prompt(23)


@pytest.fixture(scope="module", params=CONFIGS)
def served(request):
    """A model of each family, its number, and what `generate` says."""
    model = random_model(request.param)
    return model, [*CONFIGS].index(request.param), hf_greedy(model, PROMPT, LENGTH)


def test_every_family_says_what_generate_says_at_several_sizes(served):
    (model, number, expected), prompt = served, PROMPT
    assert lookahead_support(model).supported, lookahead_support(model).reason
    assert tokens_of(AutoregressiveDecoder(model).generate(prompt, max_new_tokens=LENGTH)) == expected
    proposed = accepted = 0
    # Two in turn, so that each size meets several families.
    for sizes in in_turn(SIZES, number, 2):
        steps = list(LookaheadDecoder(model, LookaheadConfig(*sizes)).generate(prompt, max_new_tokens=LENGTH))
        assert tokens_of(steps) == expected, sizes
        assert any(step.accepted for step in steps) == any(step.candidates for step in steps) == bool(sizes[2]), sizes
        proposed += sum(step.candidates for step in steps)
        accepted += sum(step.accepted for step in steps)
    # Some were right and some wrong, or the identity says little.
    assert LENGTH / 8 < accepted < proposed


def test_every_budget_says_what_generate_says(served):
    """Two texts in one session, so that all that the first has taught is used from the second's first step on."""
    (model, number, said_first), prompts = served, [PROMPT, random_prompt(9, seed=1)]
    expected = [said_first, hf_greedy(model, prompts[1], LENGTH)]
    # Some of these texts hardly repeat themselves, and dear candidates have to be likely.
    for seconds, least in in_turn(((NEARLY_FREE, LENGTH / 4), (DEAR, 1)), number):
        session, steps = Session(model), []
        for prompt, text in zip(prompts, expected, strict=True):
            said = list(budgeted(model, seconds).generate(prompt, max_new_tokens=LENGTH, session=session))
            assert tokens_of(said) == text, seconds
            steps += said
        assert sum(step.accepted for step in steps) >= least
        assert any(step.window_size for step in steps) == (seconds is NEARLY_FREE)


@pytest.mark.parametrize("family", PLAIN_ONLY)
def test_models_it_cannot_serve_are_decoded_plainly_with_a_reason(family):
    model, prompt = random_model(family), random_prompt(23)
    decoder = budgeted(model)
    assert not decoder.support.supported
    assert decoder.support.reason
    steps = list(decoder.generate(prompt, max_new_tokens=20))
    assert tokens_of(steps) == hf_greedy(model, prompt, 20)
    assert [len(step.tokens) for step in steps] == [1] * 20


@pytest.mark.parametrize("family", ["mamba", "rwkv"])
def test_a_state_that_cannot_be_rewound_still_serves_many_turns(family):
    model, session = random_model(family), None
    session = Session(model)
    prompt = random_prompt(12)
    first = tokens_of(AutoregressiveDecoder(model).generate(prompt, max_new_tokens=6, session=session))
    longer = [*prompt, *first, *random_prompt(5, seed=2)]
    assert tokens_of(AutoregressiveDecoder(model).generate(longer, max_new_tokens=6, session=session)) == hf_greedy(
        model, longer, 6
    )
    other = random_prompt(9, seed=3)
    assert tokens_of(AutoregressiveDecoder(model).generate(other, max_new_tokens=6, session=session)) == hf_greedy(
        model, other, 6
    )


def test_prompts_of_one_token_and_of_many_chunks():
    model = random_model("llama")
    long = random_prompt(1300)
    for prompt in ([5], [5, 6], long):
        steps = budgeted(model).generate(prompt, max_new_tokens=12)
        assert tokens_of(steps) == hf_greedy(model, prompt, 12)


def test_input_ids_may_be_a_list_or_a_tensor():
    model, prompt = random_model("llama"), random_prompt(9)
    decoder = budgeted(model)
    texts = [
        tokens_of(decoder.generate(ids, max_new_tokens=8))
        for ids in (prompt, tuple(prompt), torch.tensor(prompt), torch.tensor([prompt]))
    ]
    assert all(text == texts[0] for text in texts)


@pytest.mark.parametrize("family", ["gpt2", "llama"])
def test_up_to_the_last_position_of_the_model(family):
    """Branches reach ahead of the text; where the model has no more positions, they must not."""
    model = random_model(family)
    prompt = random_prompt(230)
    steps = budgeted(model).generate(prompt, max_new_tokens=26)
    assert tokens_of(steps) == hf_greedy(model, prompt, 26)


@pytest.mark.parametrize(
    ("dtype", "family"), pairs((torch.float32, torch.bfloat16, torch.float16), ("llama", "qwen2", "gpt2", "gemma3"), 2)
)
def test_other_dtypes_are_served_too(family, dtype):
    """No identity is claimed where a near tie may fall otherwise; the steps must be whole all the same."""
    decoder = budgeted(random_model(family).to(dtype))
    assert decoder.support.supported, decoder.support.reason
    steps = list(decoder.generate(random_prompt(20), max_new_tokens=30))
    assert len(tokens_of(steps)) == 30
    assert sum(step.accepted for step in steps) > 0


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_the_probe_finds_a_window_by_index_in_every_dtype(dtype):
    assert not lookahead_support(random_model("gpt_neo").to(dtype)).supported
