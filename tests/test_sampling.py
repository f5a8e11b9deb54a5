"""Sampling: the model's own distribution, processors as `generate` has them, and noise that hangs on place alone."""

from __future__ import annotations

import copy
import math
from itertools import cycle

import numpy as np
import pytest
import torch
import transformers as hf
from transformers.generation import logits_process

from decoding import AutoregressiveDecoder, SamplingConfig, Session
from decoding.branches.candidate_tree import CandidateTree
from decoding.branches.verification import accepted_path
from decoding.sampling.sampler import ProcessorSampler
from decoding.step import Origin
from tests.grid import ALL_AT_ONCE, DECODERS, FEW, PROMPT, with_few_tokens
from tests.models import VOCABULARY, random_prompt, tokens_of
from tests.pairs import pairs

LENGTH = 16


def plain(model, prompt, config, length=LENGTH, **arguments):
    decoder = AutoregressiveDecoder(model)
    return tokens_of(decoder.generate(prompt, max_new_tokens=length, sampling=config, **arguments))


@pytest.fixture(scope="module")
def llama():
    return with_few_tokens("llama")


@pytest.mark.parametrize("warpers", [{}, {"top_k": 5}, {"top_p": 0.5}, {"top_k": 300, "top_p": 0.5}, {"min_p": 0.5}])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])  # the first is drawn in C, where that can be
def test_where_no_token_may_be_said_the_first_is(llama, warpers, dtype):
    model = copy.deepcopy(llama).to(dtype)
    banned = SamplingConfig(logit_bias=dict.fromkeys(range(model.config.vocab_size), -math.inf), seed=1, **warpers)
    assert plain(model, PROMPT, banned, 3) == [0, 0, 0]


def test_toggled_and_stopped_and_taken_up_again_the_text_is_the_same(llama):
    prompt, config, length = PROMPT, SamplingConfig(**ALL_AT_ONCE, seed=5), 60
    expected = plain(llama, prompt, config, length)
    session, said = Session(llama), []
    decoders = cycle([AutoregressiveDecoder(llama), *(decoder(llama) for decoder in DECODERS.values())])
    while len(said) < length:
        steps = next(decoders).generate(
            [*prompt, *said], max_new_tokens=length - len(said), sampling=config, session=session
        )
        for _, step in zip(range(2), steps, strict=False):
            said.extend(step.tokens)
    assert said == expected


def test_another_seed_is_another_text_and_no_seed_is_drawn_and_shown(llama):
    prompt = PROMPT
    first, second = SamplingConfig(), SamplingConfig()
    assert first.seed != second.seed
    said = plain(llama, prompt, first)
    assert plain(llama, prompt, SamplingConfig(seed=first.seed)) == said
    assert plain(llama, prompt, second) != said


PROCESSORS = {
    "nothing": [],
    "blind": [logits_process.TemperatureLogitsWarper(0.7), logits_process.TopPLogitsWarper(0.9)],
    "of the text": SamplingConfig(**ALL_AT_ONCE, seed=0).processors(),
    "of its length": [logits_process.MinLengthLogitsProcessor(9, [2, 3, 4, 5])],
    "made for one row": [
        logits_process.RepetitionPenaltyLogitsProcessor(1.5, torch.tensor([2])),
        logits_process.EncoderRepetitionPenaltyLogitsProcessor(1.5, torch.tensor([[3, 4, 5]])),
    ],
}


@pytest.mark.parametrize(("name", "seed"), pairs(PROCESSORS, [None, 3]))
def test_all_rows_at_once_are_what_walking_finds(name, seed):
    processors = PROCESSORS[name]
    generator = torch.Generator().manual_seed(5)
    for _ in range(10):
        tree, ids = CandidateTree(), random_prompt(6, seed=int(torch.randint(99, (), generator=generator)))
        for _ in range(6):
            tree.add(torch.randint(3, 9, (3,), generator=generator).tolist(), Origin.CONTEXT)
        logits = torch.randn(1 + len(tree), VOCABULARY, generator=generator, dtype=torch.float64) * 2
        # So that candidates are accepted at all.
        logits[:, 3:9] += 5
        at_once = ProcessorSampler(processors, seed).sample_rows(logits, ids, tree)
        walked = ProcessorSampler(processors, seed).sample_tree(logits, ids, tree, 0).tokens
        path = accepted_path(tree, at_once)
        assert path == accepted_path(tree, walked)
        assert [at_once[row] for row in (0, *path)] == [walked[row] for row in (0, *path)]
        texts = [ids]
        for node, token in enumerate(tree.tokens, start=1):
            texts.append([*texts[tree.parent(node)], token])
        one_by_one = ProcessorSampler(processors, seed)
        alone = [one_by_one.sample(row, text) for row, text in zip(logits, texts, strict=True)]
        # Where rows cannot be processed together, only those of accepted candidates are.
        rows = range(len(logits)) if name != "made for one row" else (0, *path)
        assert [at_once[row] for row in rows] == [alone[row] for row in rows]


class Counting(hf.LogitsProcessor):
    """Not a function of what it is given: forbids another token at every call."""

    def __init__(self):
        self.texts = []

    def __call__(self, input_ids, scores):
        assert len(input_ids) == 1
        scores[:, (7 * len(self.texts)) % FEW] = -math.inf
        self.texts.append(input_ids[0].tolist())
        return scores


@pytest.mark.parametrize("config", [SamplingConfig.greedy(), SamplingConfig(temperature=0.5, seed=2)])
def test_an_unknown_processor_is_asked_once_for_every_token_in_order(llama, config):
    prompt = PROMPT
    expected = plain(llama, prompt, config, logits_processor=[Counting()])
    for name, decoder in DECODERS.items():
        processor = Counting()
        steps = decoder(llama).generate(
            prompt, max_new_tokens=LENGTH, sampling=config, logits_processor=[processor], stopping_criteria=[]
        )
        said = tokens_of(steps)
        assert said == expected, name
        assert processor.texts == [[*prompt, *said[:length]] for length in range(LENGTH)], name


@pytest.mark.parametrize("settings", [{"repetition_penalty": 1.3}, {"no_repeat_ngram_size": 2}, ALL_AT_ONCE])
def test_greedy_with_processors_is_what_generate_says(llama, settings):
    settings = {name: value for name, value in settings.items() if name not in ("temperature", "top_k", "top_p")}
    input_ids = torch.tensor([PROMPT])
    config = SamplingConfig.greedy(**settings)
    bias = [[[token], float(value)] for token, value in settings.get("logit_bias", {}).items()]
    bias += [[list(ids), value] for ids, value in settings.get("sequence_bias", {}).items()]
    own = {name: value for name, value in settings.items() if not name.endswith("_bias")}
    if bias:
        own["sequence_bias"] = bias
    expected = llama.generate(
        input_ids,
        attention_mask=torch.ones_like(input_ids),
        do_sample=False,
        max_new_tokens=LENGTH,
        eos_token_id=None,
        **own,
    )[0, 19:].tolist()
    for name, decoder in DECODERS.items():
        said = tokens_of(decoder(llama).generate(input_ids, max_new_tokens=LENGTH, sampling=config))
        assert said == expected, name


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"do_sample": True},
        {"do_sample": True, "temperature": 0.6, "top_p": 0.9, "top_k": 6},
        {"do_sample": True, "temperature": 0.8, "top_h": 0.4, "top_k": 0},
        {"do_sample": False, "top_h": 0.4, "min_new_tokens": 0, "guidance_scale": 1.0, "num_beams": 1},
        {"do_sample": True, "epsilon_cutoff": 1.0, "eta_cutoff": 1.0},
        {"do_sample": True, "top_k": 0, "min_p": 0.05, "typical_p": 0.9, "epsilon_cutoff": 0.01, "eta_cutoff": 0.01},
        {"do_sample": False, "temperature": 0.6, "repetition_penalty": 1.2, "no_repeat_ngram_size": 3},
        {"bad_words_ids": [[4], [7], [4, 7]], "eos_token_id": [7, 8]},
        {"encoder_repetition_penalty": 1.0, "encoder_no_repeat_ngram_size": 0, "token_healing": False},
        {"bad_words_ids": [[4], [5, 6]], "suppress_tokens": [7], "sequence_bias": [[[8], 2.0], [[9, 2], -3.0]]},
    ],
)
def test_a_generation_config_comes_to_what_generate_makes_of_it(llama, settings):
    prepared = {}

    def look_on(model, input_ids, logits_processor, generation_config, **kwargs):
        prepared["processors"], prepared["sampled"] = logits_processor, generation_config.do_sample
        return input_ids

    config = hf.GenerationConfig(**settings, max_new_tokens=3)
    llama.generate(torch.tensor([[5]]), generation_config=config, custom_generate=look_on)
    ours = SamplingConfig.from_generation_config(config, seed=1)
    assert ours.is_greedy is not prepared["sampled"]
    ids, scores = torch.tensor([PROMPT]), torch.randn(1, FEW)
    assert torch.equal(ours.processors()(ids, scores.clone()), prepared["processors"](ids, scores.clone()))


@pytest.mark.parametrize(
    "settings",
    [
        {"min_new_tokens": 5},
        {"min_length": 5},
        {"begin_suppress_tokens": [3]},
        {"exponential_decay_length_penalty": (5, 1.1)},
        {"guidance_scale": 1.5},
        {"num_beams": 4},
        {"encoder_repetition_penalty": 3.0},
        {"encoder_no_repeat_ngram_size": 2},
        {"forced_bos_token_id": 4},
        {"token_healing": True},
        {"force_words_ids": [[5]]},
        {"constraints": [3]},
    ],
)
def test_settings_of_a_generation_config_that_have_no_counterpart_are_refused_by_name(settings):
    (name,) = settings
    with pytest.raises(NotImplementedError, match=name):
        SamplingConfig.from_generation_config(hf.GenerationConfig(**settings))


def test_numbers_of_numpy_do(llama):
    config = SamplingConfig(
        top_k=np.int64(3), top_p=np.float32(0.9), no_repeat_ngram_size=np.int32(3), seed=np.int64(1)
    )
    same = SamplingConfig(top_k=3, top_p=float(np.float32(0.9)), no_repeat_ngram_size=3, seed=1)
    assert plain(llama, PROMPT, config, 12) == plain(llama, PROMPT, same, 12)


@pytest.mark.parametrize(
    "settings",
    [
        {"temperature": -0.1},
        {"top_h": 0},
        {"top_h": 1.5},
        {"temperature": math.nan},
        {"temperature": math.inf},
        {"temperature": 1e-40},
        {"top_k": -1},
        {"top_k": 2.5},
        {"top_p": 0},
        {"top_p": 1.1},
        {"min_p": -0.1},
        {"typical_p": 0.0},
        {"epsilon_cutoff": 2},
        {"eta_cutoff": -1},
        {"repetition_penalty": 0},
        {"repetition_penalty": math.inf},
        {"no_repeat_ngram_size": True},
        {"seed": 1.5},
        {"seed": True},
        {"seed": -1},
        {"seed": 2**64},
    ],
)
def test_values_out_of_range_are_named(settings):
    (name,) = settings
    with pytest.raises(ValueError, match=name):
        SamplingConfig(**settings)


def test_whole_numbers_do_where_transformers_wants_fractions(llama):
    config = SamplingConfig(temperature=2, repetition_penalty=2, logit_bias={4: 1}, seed=1)
    assert len(plain(llama, PROMPT, config, 3)) == 3


def test_a_bias_by_token_and_one_by_sequence_add_up():
    config = SamplingConfig.greedy(logit_bias={4: 1.0}, sequence_bias={(4,): 2.0})
    assert config.processors()(torch.tensor([[5]]), torch.zeros(1, 9))[0, 4] == 3.0
