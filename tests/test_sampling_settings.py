"""Settings of sampling that callers may pass, and what is refused of them."""

from __future__ import annotations

import pickle

import pytest

from decoding import (
    AutoregressiveDecoder,
    LookaheadDecoder,
    SamplingConfig,
)
from tests.models import VOCABULARY, random_model


@pytest.mark.parametrize("settings", [{"temperature": "a"}, {"top_p": "x"}, {"temperature": True}])
def test_sampling_settings_are_numbers(settings):
    with pytest.raises(ValueError, match=f"{next(iter(settings))} must be a number"):
        SamplingConfig(**settings)


@pytest.mark.parametrize("name", ["logit_bias", "sequence_bias", "bad_words_ids"])
@pytest.mark.parametrize("decoder_of", [AutoregressiveDecoder, LookaheadDecoder])
def test_a_token_that_the_model_lacks_is_refused_before_anything_runs(decoder_of, name):
    model = random_model("llama", layers=1)
    value = {"logit_bias": {VOCABULARY: 1.0}, "sequence_bias": {(5, VOCABULARY): 1.0}, "bad_words_ids": [[VOCABULARY]]}
    sampling = SamplingConfig.greedy(**{name: value[name]})
    with pytest.raises(ValueError, match=f"{name} holds {VOCABULARY}, and the model's vocabulary has ids 0 to"):
        decoder_of(model).generate([1], max_new_tokens=1, sampling=sampling)


def test_equal_settings_of_sampling_hash_alike_and_do_not_change_with_what_was_passed():
    bias, banned = {5: 1, 6: 2.0}, [[4], [5, 6]]
    config = SamplingConfig(logit_bias=bias, bad_words_ids=banned, suppress_tokens=iter([7]), seed=1)
    same = SamplingConfig(logit_bias={6: 2, 5: 1.0}, bad_words_ids=((4,), (5, 6)), suppress_tokens=[7], seed=1)
    assert config == same
    assert {config: "known"}[same] == "known"
    bias[5] = 9
    banned[0].append(8)
    assert config == same
    assert hash(config) == hash(same)
    assert pickle.loads(pickle.dumps(config)) == config
