"""What callers may pass to a decoder, and what is refused by name before anything runs."""

from __future__ import annotations

import warnings
from math import inf, nan

import numpy as np
import pytest
import torch
from transformers import (
    GenerationConfig,
    MaxLengthCriteria,
    SuppressTokensLogitsProcessor,
    T5Config,
    T5ForConditionalGeneration,
)

from decoding import (
    AutoregressiveDecoder,
    FinishReason,
    JacobiDecoder,
    LookaheadConfig,
    LookaheadDecoder,
    SamplingConfig,
    Session,
    StepCost,
    generate,
    lookahead_support,
    plain_step_seconds,
    prefill,
    quantize,
    step_cost_of,
    still_holds,
)
from decoding.lade import LookaheadDecoding
from tests.models import VOCABULARY, random_model, random_prompt, successor_model, tokens_of


@pytest.mark.parametrize(
    "input_ids",
    [
        *([10], (10,), [[10]], np.array([10]), np.array([[10]]), torch.tensor([[10]]), iter([10])),
        *([np.int64(10)], [np.array(10)], [torch.tensor(10)], [torch.tensor([10])]),
    ],
)
def test_one_text_in_any_form(input_ids):
    model = successor_model({10: 11, 11: 12})
    (step, *_) = AutoregressiveDecoder(model).generate(input_ids, max_new_tokens=np.int64(2))
    assert step.tokens == (11,)


@pytest.mark.parametrize(
    ("input_ids", "message"),
    [
        ([], "empty"),
        ([[]], "empty"),
        ([[1], [2]], "batch of 2"),
        (torch.ones(2, 3, dtype=torch.long), "batch of 2"),
        ([1.5, 2.0], "whole number"),
        (torch.ones(1, 3), "whole number"),
        (torch.ones(3, dtype=torch.bool), "whole number"),
        ([-1, 2], "holds -1"),
        ([VOCABULARY], f"ids 0 to {VOCABULARY - 1}"),
        ("hello", "tokenizer"),
        (b"hello", "tokenizer"),
        ([torch.tensor(5), torch.tensor(1.5)], "whole number"),
        ({"input_ids": [1]}, 'pass its \\["input_ids"\\]'),
        (5, "shape"),
    ],
)
def test_what_is_no_text_is_refused(input_ids, message):
    with pytest.raises(ValueError, match=message):
        AutoregressiveDecoder(random_model("llama")).generate(input_ids, max_new_tokens=1)


@pytest.mark.parametrize(
    "eos",
    [12, [12], (90, 12), {12}, np.int64(12), np.array([12, 90]), torch.tensor(12), torch.tensor([12]), [None, 12]],
)
def test_ending_ids_in_any_form(eos):
    model = successor_model({10: 11, 11: 12, 12: 13})
    *_, last = AutoregressiveDecoder(model).generate([10], max_new_tokens=9, eos_token_ids=eos)
    assert last.tokens == (12,)
    assert last.finish_reason is FinishReason.EOS


@pytest.mark.parametrize("declared", [12, [90, 12]])
def test_the_models_own_ending_ids_hold_unless_others_are_given(declared):
    model = successor_model({10: 11, 11: 12, 12: 13, 13: 14})
    model.generation_config.eos_token_id = declared
    for decoder in (AutoregressiveDecoder(model), LookaheadDecoder(model)):
        *_, last = decoder.generate([10], max_new_tokens=4)
        assert (last.tokens[-1], last.finish_reason) == (12, FinishReason.EOS)
        *_, last = decoder.generate([10], max_new_tokens=4, eos_token_ids=13)
        assert (last.tokens[-1], last.finish_reason) == (13, FinishReason.EOS)
        for none in ((), [], torch.tensor([], dtype=torch.long)):
            *_, last = decoder.generate([10], max_new_tokens=4, eos_token_ids=none)
            assert (last.tokens[-1], last.finish_reason) == (14, FinishReason.LENGTH)


@pytest.mark.parametrize("eos", ["19", True, [1.5], {"eos": 1}])
def test_what_is_no_ending_id_is_refused(eos):
    with pytest.raises(ValueError, match="eos"):
        AutoregressiveDecoder(random_model("llama")).generate([1], max_new_tokens=1, eos_token_ids=eos)


@pytest.mark.parametrize("count", [0, -3, 1.5, True, None])
def test_what_is_no_number_of_tokens_is_refused(count):
    with pytest.raises(ValueError, match="max_new_tokens"):
        AutoregressiveDecoder(random_model("llama")).generate([1], max_new_tokens=count)


@pytest.mark.parametrize("decoder_of", [AutoregressiveDecoder, LookaheadDecoder])
def test_models_that_are_no_causal_language_models_are_refused(decoder_of):
    with pytest.raises(NotImplementedError, match="Linear"):
        decoder_of(torch.nn.Linear(2, 2))
    config = T5Config(vocab_size=50, d_model=16, d_kv=4, d_ff=16, num_layers=1, num_heads=2)
    with pytest.raises(NotImplementedError, match="encoder-decoder"):
        decoder_of(T5ForConditionalGeneration(config))


@pytest.mark.parametrize(
    "use", [Session, lookahead_support, LookaheadDecoder, AutoregressiveDecoder, step_cost_of, generate, quantize]
)
def test_the_name_of_a_model_is_no_model(use):
    with pytest.raises(TypeError, match="model must be a loaded transformers model, not 'gpt2'"):
        use("gpt2")


def test_what_is_no_model_is_told_in_one_line():
    with pytest.raises(TypeError, match=r"^model must be a loaded transformers model, not T5Config [^\n]+$"):
        Session(T5Config())


def test_a_module_without_a_configuration_is_no_model():
    with pytest.raises(TypeError, match="model must be a loaded transformers model, not a Linear"):
        Session(torch.nn.Linear(2, 2))


@pytest.mark.parametrize(
    "use", [Session, lookahead_support, LookaheadDecoder, AutoregressiveDecoder, step_cost_of, generate]
)
def test_a_model_without_a_language_modelling_head_is_refused(use):
    with pytest.raises(NotImplementedError, match="LlamaModel has no language modelling head: load it by AutoModelFor"):
        use(random_model("llama", layers=1).model)


def test_dropout_is_warned_of_where_the_text_was_asked_for():
    model = random_model("gpt2").train()
    with pytest.warns(UserWarning, match="model.eval") as warned:
        AutoregressiveDecoder(model).generate([1], max_new_tokens=1)
    assert [each.filename for each in warned] == [__file__]


@pytest.mark.parametrize("decoder_of", [AutoregressiveDecoder, LookaheadDecoder])
def test_a_text_longer_than_the_model_was_made_for_is_warned_of_once(decoder_of):
    """Rotary positions go on; the last token emitted is never read, so that the text may be one token longer."""
    decoder = decoder_of(random_model("llama", positions=20, layers=1))
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("default")
        for count in (11, 12, 15, 9):
            assert len(tokens_of(decoder.generate(random_prompt(10), max_new_tokens=count))) == count
    assert [str(each.message) for each in warned] == [
        "the text may reach the 20 tokens that the model was made for: what comes after may be of no use"
    ]
    assert warned[0].filename == __file__


@pytest.mark.parametrize("decoder_of", [AutoregressiveDecoder, LookaheadDecoder])
def test_learnt_positions_end_a_reply_where_they_end(decoder_of):
    """GPT-2 has 256 positions here: the last token emitted is the one that would need a 257th."""
    decoder = decoder_of(random_model("gpt2"))
    with pytest.warns(UserWarning, match="may reach the 256 tokens that the model was made for: it ends there"):
        steps = list(decoder.generate(random_prompt(240), max_new_tokens=100))
    assert sum(len(step.tokens) for step in steps) == 17
    assert steps[-1].finish_reason is FinishReason.LENGTH
    assert sum(len(step.tokens) for step in decoder.generate(random_prompt(256), max_new_tokens=9)) == 1
    with pytest.raises(ValueError, match="257 tokens, and the model has positions for 256"):
        decoder.generate(random_prompt(257), max_new_tokens=1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sampling": {"temperature": 1}}, "sampling must be a SamplingConfig"),
        ({"session": 3}, "session must be a Session"),
        ({"logits_processor": len}, "logits_processor must be a list"),
        ({"logits_processor": [3]}, "logits_processor must be a list"),
        ({"stopping_criteria": len}, "stopping_criteria must be a list"),
    ],
)
def test_what_is_of_another_kind_is_refused_by_name(arguments, message):
    with pytest.raises(ValueError, match=message):
        AutoregressiveDecoder(random_model("llama")).generate([1], max_new_tokens=1, **arguments)


def test_functions_may_come_from_an_iterator() -> None:
    model = successor_model({10: 11, 11: 12, 12: 13, 13: 14})
    given = {
        "logits_processor": (each for each in [SuppressTokensLogitsProcessor([11])]),
        "stopping_criteria": iter([MaxLengthCriteria(3)]),
    }
    steps = AutoregressiveDecoder(model).generate([10], max_new_tokens=9, **given)
    tokens = tokens_of(steps)
    assert tokens[0] != 11
    assert len(tokens) == 2


@pytest.mark.parametrize("arguments", [{"config": (7, 5, 7)}, {"config": {"W": 7}}, {"cost": 3}])
def test_a_decoder_refuses_what_is_no_configuration(arguments):
    with pytest.raises(ValueError, match=f"{next(iter(arguments))} must be a"):
        LookaheadDecoder(random_model("llama"), **arguments)


def test_what_a_tokenizer_returns_is_refused_by_the_paper_s_class_too():
    with pytest.raises(ValueError, match="tokenizer"):
        LookaheadDecoding(random_model("llama")).generate({"input_ids": [1]})


def test_a_generation_is_of_the_text_as_it_was_when_asked_for():
    model = successor_model({10: 11, 11: 12, 12: 13})
    ids = [10]
    steps = AutoregressiveDecoder(model).generate(ids, max_new_tokens=3)
    ids += [40, 41]
    assert tokens_of(steps) == [11, 12, 13]


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda model: list(prefill(None, [1])), "session must be a Session, not None"),
        (lambda model: plain_step_seconds(None), "session must be a Session, not None"),
        (lambda model: plain_step_seconds(Session(model), 0), "repeats must be at least 1"),
        (lambda model: still_holds(model, None), "cost must be a StepCost, not None"),
        (lambda model: StepCost({1: "a"}), "over 1 tokens must be a number, not 'a'"),
        (lambda model: SamplingConfig.from_generation_config(None), "config must be a GenerationConfig, not None"),
        (lambda model: SamplingConfig(suppress_tokens=5), "suppress_tokens must be token ids"),
        (lambda model: SamplingConfig(suppress_tokens=[-1]), "a token id of suppress_tokens must be at least 0"),
        (lambda model: SamplingConfig(bad_words_ids=None), "bad_words_ids must be sequences of token ids, not None"),
        (lambda model: SamplingConfig(bad_words_ids=[[4], []]), "each sequence of bad_words_ids must hold a token id"),
        (lambda model: SamplingConfig(bad_words_ids=[[-4]]), "a token id of bad_words_ids must be at least 0, not -4"),
        (lambda model: SamplingConfig(logit_bias=[5]), "logit_bias must be a Mapping, not \\[5\\]"),
        (lambda model: SamplingConfig(logit_bias={5: nan}), "logit_bias of 5 must be a number, not nan"),
        (lambda model: SamplingConfig(logit_bias={5: "a"}), "logit_bias of 5 must be a number, not 'a'"),
        (lambda model: SamplingConfig(logit_bias={"5": 1}), "a token id of logit_bias must be a whole number, not '5'"),
        (lambda model: SamplingConfig(logit_bias={-5: 1}), "a token id of logit_bias must be at least 0, not -5"),
        (lambda model: SamplingConfig(sequence_bias={(): 1}), "each sequence of sequence_bias must hold a token id"),
        (lambda model: SamplingConfig(sequence_bias={(4, 5): nan}), "sequence_bias of \\(4, 5\\) must be a number"),
        (
            lambda model: SamplingConfig(logit_bias={5: inf}, sequence_bias={(5,): -inf}),
            "the bias of \\(5,\\) must be a number, not nan",
        ),
        (
            lambda model: SamplingConfig.from_generation_config(GenerationConfig(sequence_bias=[[5]])),
            "sequence_bias must be pairs of token ids and their bias",
        ),
        (lambda model: JacobiDecoder(model, 10**9), "block_size must be at most 16384, not 1000000000"),
        (lambda model: LookaheadConfig(10**9, 5, 7), "window_size \\(W\\) 1000000000 and ngram_size"),
        (lambda model: LookaheadConfig(7, 10**9, 7), "make a window of 6999999993 tokens, and it may have 16384 at"),
        (lambda model: SamplingConfig(bad_words_ids=[5]), "each sequence of bad_words_ids must be token ids"),
        (lambda model: SamplingConfig(sequence_bias={5: 1.0}), "each sequence of sequence_bias must be token ids"),
        (lambda model: Session(model).remember([[1, 2]], [(1, 2)]), "successors must be those that learnt_since gave"),
    ],
)
def test_what_is_missing_or_of_another_kind_is_one_line(use, message):
    with pytest.raises(ValueError, match=message):
        use(random_model("llama", layers=1))


@pytest.mark.parametrize(
    "use",
    [
        lambda model: AutoregressiveDecoder(model).generate(model, max_new_tokens=1),
        lambda model: AutoregressiveDecoder(model).generate([1], max_new_tokens=model),
        lambda model: AutoregressiveDecoder(model).generate([1], max_new_tokens=1, logits_processor=GenerationConfig()),
        lambda model: generate(model, torch.ones(1, 2, dtype=torch.long), streamer=model),
        lambda model: SamplingConfig(temperature=model),
    ],
)
def test_what_takes_lines_to_show_is_refused_in_one(use):
    with pytest.raises(ValueError, match="must be") as refused:
        use(random_model("llama", layers=1))
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 200


@pytest.mark.parametrize(
    ("name", "use"),
    [
        *[
            (name, lambda model, **given: AutoregressiveDecoder(model).generate([1], max_new_tokens=1, **given))
            for name in ("on_prefill", "should_stop", "observe")
        ],
        ("should_stop", lambda model, **given: AutoregressiveDecoder(model).agenerate([1], max_new_tokens=1, **given)),
        ("on_iteration", lambda model, **given: JacobiDecoder(model, **given)),
        ("on_layer", lambda model, **given: quantize(model, **given)),
    ],
)
def test_what_cannot_be_called_is_refused_by_name_before_anything_runs(name, use):
    model = random_model("llama", layers=1)
    with pytest.raises(ValueError, match=f"{name} must be a function, not 3"):
        use(model, **{name: 3})
    assert all(type(module).__name__ != "Int8Linear" for module in model.modules())


def test_another_default_device_than_the_model_s_is_refused_before_a_kernel_reads_from_it():
    model, prompt = random_model("llama"), random_prompt(8)
    decoder = LookaheadDecoder(model)
    with torch.device("meta"):
        for use in (
            lambda: decoder.generate(prompt, max_new_tokens=2),
            lambda: LookaheadDecoder(model),
            lambda: generate(model, torch.tensor([prompt], device="cpu"), max_new_tokens=2),
        ):
            with pytest.raises(NotImplementedError, match="default device is meta, and the model is on cpu"):
                use()
    assert tokens_of(decoder.generate(prompt, max_new_tokens=2))
