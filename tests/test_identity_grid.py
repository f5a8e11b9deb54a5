"""One seed, one text: over decoders, sizes, processors and architectures, and toggled in the middle of a reply.

One family meets every setting, each decoded by four decoders in turn. Each of the others meets every fourth setting,
decoded by two decoders, in turn, so that all of them meet every family, and once by all of them taking turns.
"""

from __future__ import annotations

from itertools import cycle, islice

import pytest

from decoding import AutoregressiveDecoder, SamplingConfig, Session, lookahead_support
from tests.grid import ALL_AT_ONCE, DECODERS, PROMPT, SETTINGS, with_few_tokens
from tests.models import tokens_of
from tests.pairs import in_turn

LENGTH = 12
FAMILIES = ("mistral", "qwen2-sliding", "gemma3", "gpt2", "gpt_neox", "mixtral", "llama4-chunked", "bloom")
"""Sliding windows in all and in some layers, learnt and partly rotary positions, experts, chunks; ALiBi, plainly."""
FEWER = {
    **{name: SETTINGS[name] for name in ("greedy", "top-k and top-p", "min-p", "typical")},
    **{name: SETTINGS[name] for name in ("penalty", "no trigram twice", "bad words", "biases")},
    "all at once": ALL_AT_ONCE,
    "greedy, all at once": {**ALL_AT_ONCE, "temperature": 0},
}
"""Settings for the families, every fourth one for each."""


@pytest.fixture(scope="module")
def llama():
    return with_few_tokens("llama")


def config_of(settings):
    return SamplingConfig(**{"seed": 7, **settings})


def decoded(decoder, config):
    return list(decoder.generate(PROMPT, max_new_tokens=LENGTH, sampling=config))


def taking_turns(decoders, model, config):
    """Two steps each, on one session."""
    session, said, turns = Session(model), [], cycle(decoders)
    while len(said) < LENGTH:
        steps = next(turns).generate(
            [*PROMPT, *said], max_new_tokens=LENGTH - len(said), sampling=config, session=session
        )
        for _, step in zip(range(2), steps, strict=False):
            said.extend(step.tokens)
    return said


@pytest.mark.parametrize("settings", SETTINGS)
def test_every_decoder_says_the_same(llama, settings):
    config = config_of(SETTINGS[settings])
    expected = tokens_of(decoded(AutoregressiveDecoder(llama), config))
    verified = 0
    for name in in_turn(DECODERS, [*SETTINGS].index(settings), 4):
        steps = decoded(DECODERS[name](llama), config)
        assert tokens_of(steps) == expected, name
        verified += sum(step.accepted for step in steps)
    # Or the identity says little.
    assert verified > 0


@pytest.mark.parametrize("family", FAMILIES)
def test_in_every_family_too_and_toggled_in_mid_reply(family):
    model, verified, number = with_few_tokens(family), 0, FAMILIES.index(family)
    plain, decoders = AutoregressiveDecoder(model), {name: decoder(model) for name, decoder in DECODERS.items()}
    names = islice(cycle(decoders), number, None)
    for settings, values in [*FEWER.items()][number % 4 :: 4]:
        config = config_of(values)
        expected = tokens_of(decoded(plain, config))
        assert taking_turns([plain, *decoders.values()], model, config) == expected, settings
        for name in (next(names), next(names)):
            steps = decoded(decoders[name], config)
            assert tokens_of(steps) == expected, (settings, name)
            verified += sum(step.accepted for step in steps)
    assert (verified > LENGTH / 4) == lookahead_support(model).supported == (family != "bloom")
