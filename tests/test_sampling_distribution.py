"""Draws follow the model's distribution, and their noise is random in every direction."""

from __future__ import annotations

import math

import torch
import transformers as hf

from decoding import SamplingConfig, Session
from decoding.sampling.sampler import draw_tokens
from decoding.sampling.seeded_gumbel import gumbel
from tests.grid import DECODERS
from tests.models import COMMON, tokens_of

CRITICAL_7 = 24.32
"""Chi-square with seven degrees of freedom exceeds this once in a thousand."""


def tiny_model():
    """Eight tokens, so that each is drawn often."""
    torch.manual_seed(3)
    sizes = {"vocab_size": 8, "hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1}
    model = hf.AutoModelForCausalLM.from_config(hf.LlamaConfig(**{**COMMON, **sizes})).eval().double()
    with torch.no_grad():
        model.lm_head.weight.mul_(12)
    return model


def chi_square(counts, probabilities):
    expected = probabilities * counts.sum()
    assert expected.min() >= 5
    return float(((counts - expected) ** 2 / expected).sum())


def test_over_many_seeds_the_distribution_is_the_models():
    """At the first token, and at the third after whatever the first two were: marginals, from all 64 beginnings.

    One session throughout, so that what earlier seeds drew is proposed to later ones: that must not show. Other
    decoders say the same with each seed, as the identity grid holds them to.
    """
    model, prompt, seeds, temperature = tiny_model(), [3, 5, 1, 4], 300, 1.3
    with torch.no_grad():
        first = (model(torch.tensor([prompt])).logits[0, -1] / temperature).softmax(-1)
        beginnings = torch.cartesian_prod(torch.arange(8), torch.arange(8))
        whole = torch.cat([torch.tensor(prompt).expand(64, -1), beginnings], dim=1)
        logits = (model(whole).logits / temperature).softmax(-1)
        weight = first[beginnings[:, 0]] * logits[:, len(prompt)].gather(1, beginnings[:, 1:])[:, 0]
        third = (weight[:, None] * logits[:, -1]).sum(0)
    counts = torch.zeros(3, 8, dtype=torch.float64)
    decoder, session, verified = DECODERS["fixed"](model), Session(model), 0
    for seed in range(seeds):
        config = SamplingConfig(temperature=temperature, seed=seed)
        steps = list(decoder.generate(prompt, max_new_tokens=3, sampling=config, session=session))
        verified += sum(step.accepted for step in steps)
        for place, token in enumerate(tokens_of(steps)):
            counts[place, token] += 1
    assert chi_square(counts[0], first) < CRITICAL_7
    assert chi_square(counts[2], third) < CRITICAL_7
    assert verified > seeds / 4


def test_draws_follow_the_softmax_closely():
    scores = torch.tensor([1.0, 0.0, -1.0, 2.0, -math.inf, 0.5, 0.2, 1.5, 0.0])
    kept = scores.softmax(-1).double()[scores > -math.inf]
    for seed, positions in ((0, range(2000)), (12345, range(7, 2007))):
        tokens = draw_tokens(scores.expand(len(positions), -1), positions, seed)
        counts = torch.bincount(tokens, minlength=9).double()
        assert counts[4] == 0
        assert chi_square(counts[scores > -math.inf], kept) < CRITICAL_7


def uniform(noise):
    return torch.exp(-torch.exp(-noise))


def test_gumbel_noise_is_a_function_of_its_arguments_alone():
    positions, tokens = torch.arange(50)[:, None], torch.arange(300)
    noise = gumbel(9, positions, tokens)
    assert noise.dtype == torch.float64
    assert noise.isfinite().all()
    assert torch.equal(noise, gumbel(9, positions, tokens))
    order = torch.randperm(300)
    assert torch.equal(noise[17, order], gumbel(9, torch.tensor([17]), order))
    assert noise[3, 4] == gumbel(9, torch.tensor([3]), torch.tensor([4]))[0]
    assert torch.equal(noise, gumbel(9 + 2**64, positions, tokens))
    assert gumbel(-1, positions, tokens).isfinite().all()


def test_gumbel_noise_is_uniform_underneath_in_every_direction():
    positions, tokens, seeds = torch.arange(1000)[:, None], torch.arange(100), range(300)
    directions = {
        "positions and tokens": gumbel(1, positions, tokens),
        "one token": gumbel(1, torch.arange(100_000), torch.tensor([4])),
        "one position": gumbel(1, torch.tensor([4]), torch.arange(100_000)),
        "seeds": torch.stack([gumbel(seed, torch.tensor([4]), torch.arange(100)) for seed in seeds]),
    }
    for name, noise in directions.items():
        counts = torch.histc(uniform(noise).flatten(), bins=8, min=0, max=1)
        assert chi_square(counts, torch.full((8,), 1 / 8, dtype=torch.float64)) < CRITICAL_7, name


def test_noise_of_neighbouring_positions_tokens_and_seeds_is_independent():
    noise = torch.stack([gumbel(seed, torch.arange(300)[:, None], torch.arange(300)) for seed in (4, 5)])
    pairs = {
        "positions": (noise[0, 1:], noise[0, :-1]),
        "tokens": (noise[0, :, 1:], noise[0, :, :-1]),
        "diagonal": (noise[0, 1:, :-1], noise[0, :-1, 1:]),
        "seeds": (noise[0], noise[1]),
    }
    for name, (left, right) in pairs.items():
        both = torch.stack([uniform(left).flatten(), uniform(right).flatten()])
        # Independent, it is within this four times in five standard deviations of 1 / √n.
        assert abs(float(torch.corrcoef(both)[0, 1])) < 4 / math.sqrt(left.numel()), name
        quadrants = ((both[0] > 0.5).long() * 4 + (both[1] * 4).long()).bincount(minlength=8).double()
        assert chi_square(quadrants, torch.full((8,), 1 / 8, dtype=torch.float64)) < CRITICAL_7, name
