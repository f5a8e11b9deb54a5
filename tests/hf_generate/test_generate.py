"""`model.generate(..., custom_generate=decoding.generate)`: what `generate` says, with its streamers."""

from __future__ import annotations

import functools
from threading import Thread

import pytest
import torch
import transformers as hf
from checkpoints import llama_tokenizer

import decoding
from decoding import LookaheadConfig, Session
from decoding.integrations.generate_call import Feed, GenerateCall
from tests.families import small_model
from tests.hf_generate.calls import BUNDLED, LENGTH, PROMPT, SIZES, asked, ours
from tests.models import VOCABULARY, Recorder, random_model

CODE = "def f(x):\n    if x:\n        return  x\n\n    # a\n  b c\n\n\nü 🙂\n\t好 end"


GREEDY = {
    "nothing": {},
    "penalty": {"repetition_penalty": 1.3},
    "no trigram twice": {"no_repeat_ngram_size": 3},
    "bad words": {"bad_words_ids": [[14], [82, 82]]},
    "bias": {"sequence_bias": [[[14], -2.0], [[82, 5], 6.0]]},
    "suppressed": {"suppress_tokens": [14, 82], "begin_suppress_tokens": [23]},
    "forced": {"forced_bos_token_id": 5, "forced_eos_token_id": 2, "eos_token_id": 2},
    "several ends": {"eos_token_id": [23, 14, 82]},
    "at least so many": {"min_new_tokens": 9, "eos_token_id": [23, 14, 82]},
    "at least so long": {"min_length": 30, "eos_token_id": [23, 14]},
    "growing urge to end": {"exponential_decay_length_penalty": (5, 1.5), "eos_token_id": 2},
    "made safe": {"remove_invalid_values": True, "renormalize_logits": True},
    "of the prompt": {"encoder_repetition_penalty": 1.5, "encoder_no_repeat_ngram_size": 2},
    "guided": {"guidance_scale": 1.5},
    "constrained": {"prefix_allowed_tokens_fn": lambda _, ids: [5, 6, int(ids[-1] + 1) % VOCABULARY]},
    "by a generation config": {"generation_config": hf.GenerationConfig(repetition_penalty=1.3, max_new_tokens=9)},
    "watermarked": {"watermarking_config": hf.WatermarkingConfig(bias=4.0)},
    "by length": {"max_new_tokens": None, "max_length": 31},
    "by time": {"max_time": 100.0},
    "by a length that is no whole number": {"max_new_tokens": 4.5},
}


@pytest.mark.parametrize("settings", GREEDY)
def test_greedy_it_says_what_generate_says(llama, settings):
    assert torch.equal(ours(llama, **GREEDY[settings]), asked(llama, **GREEDY[settings]))


@pytest.mark.parametrize("family", ["gpt2", "gemma3", "mamba"])
def test_other_families_too(family):
    model = random_model(family)
    settings = {"repetition_penalty": 1.2, "eos_token_id": [23, 14]}
    assert torch.equal(ours(model, **settings), asked(model, **settings))


def test_without_sizes_and_through_a_partial(llama):
    expected = asked(llama)
    assert torch.equal(asked(llama, custom_generate=decoding.generate), expected)
    partial = functools.partial(decoding.generate, lookahead_config=SIZES)
    assert torch.equal(asked(llama, custom_generate=partial), expected)


def test_padding_on_the_left_is_no_part_of_the_text(llama):
    padded = torch.cat([torch.zeros(1, 5, dtype=torch.long), PROMPT], dim=1)
    mask = (torch.arange(22) >= 5).long()[None]
    for settings in ({}, {"repetition_penalty": 1.4}, {"min_new_tokens": 4, "eos_token_id": [23, 14]}):
        expected = asked(llama, padded, attention_mask=mask, **settings)
        assert torch.equal(ours(llama, padded, attention_mask=mask, **settings), expected)
    seen = []
    criterion = Recording(seen)
    said = ours(llama, padded, attention_mask=mask, stopping_criteria=[criterion])
    assert seen == [said[0, : 23 + index].tolist() for index in range(LENGTH)]
    sampled = {"do_sample": True, "seed": 4}
    assert torch.equal(ours(llama, padded, attention_mask=mask, **sampled)[:, 5:], ours(llama, **sampled))


class Recording(hf.StoppingCriteria):
    def __init__(self, seen):
        self.seen = seen

    def __call__(self, input_ids, scores, **kwargs):
        self.seen.append(input_ids[0].tolist())
        return torch.tensor([False])


def test_the_seed_comes_from_torch_or_from_the_caller(llama):
    sampled = {"do_sample": True, "temperature": 1.3, "top_k": 40}
    texts = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        texts.append(ours(llama, **sampled).tolist())
    assert texts[0] == texts[1] != texts[2]
    torch.manual_seed(1)
    both = [ours(llama, **sampled).tolist() for _ in range(2)]
    assert both[0] == texts[0] != both[1]
    assert ours(llama, **sampled, seed=9).tolist() == ours(llama, **sampled, seed=9).tolist()
    plain = {"lookahead_config": LookaheadConfig(0, 2, 0)}
    assert ours(llama, **sampled, seed=9).tolist() == ours(llama, **sampled, seed=9, **plain).tolist()


def test_the_warpers_hold(llama):
    for only_one in ({"top_k": 1}, {"top_p": 0.0}, {"top_p": 0.0, "top_k": 5}, {"top_p": 0.0, "min_p": 0.1}):
        assert torch.equal(ours(llama, do_sample=True, **only_one), asked(llama))
    drawn = ours(llama, do_sample=True, temperature=9.0, top_k=0, suppress_tokens=list(range(50)))
    assert int(drawn[0, 17:].min()) >= 50


def test_what_comes_back_has_generates_dtype(llama):
    prompt = torch.tensor([[5, 6, 7, 8]], dtype=torch.int32)
    assert ours(llama, prompt).dtype == asked(llama, prompt).dtype == torch.long


def test_a_session_is_gone_on_from(llama):
    session = Session(llama)
    first = ours(llama, session=session, max_new_tokens=10)
    assert torch.equal(session.ids and torch.tensor([session.ids]), first)
    longer = torch.cat([first, torch.tensor([[5, 6, 7]])], dim=1)
    before = session.reusable(longer[0].tolist())
    assert before == 26
    assert torch.equal(ours(llama, longer, session=session), asked(llama, longer))


@pytest.mark.parametrize("shape", [(1, 16), (17,), (1, 1, 17, 17)], ids=str)
def test_a_mask_that_is_not_of_the_prompts_shape_is_left_to_transformers(llama, shape):
    call = GenerateCall(llama, PROMPT, [], [], hf.GenerationConfig(), {"attention_mask": torch.ones(shape)})
    assert f"attention_mask of shape {shape}" in str(call.refusal())


@pytest.mark.parametrize("family", ["gemma3", "fuyu"])
def test_a_model_that_sees_pictures_is_served_where_there_are_none(family):
    model = small_model(family)
    assert torch.equal(ours(model), asked(model))


def test_return_dict_in_generate(llama):
    output = ours(llama, return_dict_in_generate=True)
    assert isinstance(output, hf.generation.GenerateDecoderOnlyOutput)
    assert torch.equal(output.sequences, asked(llama))


@pytest.mark.parametrize("family", ["llama", "mistral", "gemma3", "gpt2"])
def test_the_cache_that_comes_back_is_generates(family):
    """Sliding layers hold their last tokens alone; `generate` goes on from it, and the session is none the worse."""
    model = random_model(family)
    session = Session(model)
    own = asked(model, return_dict_in_generate=True).past_key_values
    output = ours(model, return_dict_in_generate=True, session=session)
    cache = output.past_key_values
    assert type(cache) is type(own)
    assert cache.get_seq_length() == own.get_seq_length() == 17 + LENGTH - 1
    for mine, its in zip(cache.layers, own.layers, strict=True):
        assert type(mine) is type(its)
        torch.testing.assert_close(mine.keys, its.keys)
        torch.testing.assert_close(mine.values, its.values)
    longer = torch.cat([output.sequences, torch.tensor([[5, 6, 7]])], dim=1)
    expected = asked(model, longer)
    assert torch.equal(asked(model, longer, past_key_values=cache), expected)
    assert torch.equal(ours(model, longer, session=session), expected)


@pytest.mark.parametrize(
    ("family", "arguments"),
    [
        ("llama", {"input_ids": torch.tensor([[0, 5, 6]]), "attention_mask": torch.tensor([[0, 1, 1]])}),
        ("mamba", {}),
    ],
)
def test_no_cache_comes_back_where_none_would_be_generates(family, arguments):
    model = random_model(family)
    output = ours(model, return_dict_in_generate=True, **arguments)
    assert torch.equal(output.sequences, asked(model, **arguments))
    assert output.past_key_values is None


def test_no_cache_comes_back_without_its_index():
    output = ours(small_model("deepseek_v32"), return_dict_in_generate=True)
    assert output.past_key_values is None


@pytest.mark.parametrize("sampled", [{}, {"do_sample": True, "seed": 3, "top_k": 3}])
def test_a_streamer_gets_the_prompt_and_then_every_token_once(llama, sampled):
    streamer = Recorder()
    said = ours(llama, streamer=streamer, **sampled)[0].tolist()
    expected = [[said[:17]], *([token] for token in said[17:]), "end"]
    assert streamer.given == expected
    through_partial = Recorder()
    asked(
        llama,
        custom_generate=functools.partial(decoding.generate, lookahead_config=SIZES, streamer=through_partial),
        **sampled,
    )
    assert through_partial.given == expected
    with pytest.raises(ValueError, match="streamer"):
        asked(llama, custom_generate=functools.partial(decoding.generate, streamer=Recorder()), streamer=streamer)


def test_text_streamers_say_exactly_the_final_text(reciting, capsys):
    model, tokenizer, inputs = reciting
    arguments = {**inputs, "max_new_tokens": 28, "do_sample": False, "custom_generate": decoding.generate}
    arguments["lookahead_config"] = SIZES
    said = model.generate(**arguments)
    text = tokenizer.decode(said[0, inputs["input_ids"].shape[1] :])
    assert "\n    " in text
    model.generate(**arguments, streamer=hf.TextStreamer(tokenizer, skip_prompt=True))
    assert capsys.readouterr().out == text + "\n"
    model.generate(**arguments, streamer=hf.TextStreamer(tokenizer))
    assert capsys.readouterr().out == tokenizer.decode(said[0]) + "\n"

    streamer = hf.TextIteratorStreamer(tokenizer, skip_prompt=True, timeout=60)
    thread = Thread(target=model.generate, kwargs={**arguments, "streamer": streamer})
    thread.start()
    assert "".join(streamer) == text
    thread.join()


@pytest.mark.parametrize("skip_prompt", [True, False])
@pytest.mark.parametrize("has_prompt", [True, False])
def test_indented_lines_keep_their_spaces_with_every_tokenizer(tmp_path, skip_prompt, has_prompt):
    """Llama's takes the first space off what it decodes, and `TextStreamer` decodes line by line."""
    own = hf.AutoTokenizer.from_pretrained(BUNDLED)
    for tokenizer in (own, llama_tokenizer(tmp_path, legacy=True)):
        ids = tokenizer(CODE, add_special_tokens=False).input_ids
        assert tokenizer.decode(ids).strip() == CODE
        for length in range(1, len(ids), 3):
            streamer = hf.TextIteratorStreamer(tokenizer, skip_prompt=skip_prompt, timeout=60)
            if has_prompt:
                streamer.put(torch.tensor([ids[:length]]))
            feed = Feed(streamer, ids[:length], has_prompt=has_prompt)
            feed.put(ids[length : length + 2])
            feed.put(ids[length + 2 :])
            streamer.end()
            assert "".join(streamer) == tokenizer.decode(ids[length:] if skip_prompt else ids)


@pytest.mark.parametrize(("stops", "most"), [(["\n    re", "urn"], 40), ("return", 40), (["never said"], 12)])
def test_stop_strings_end_the_text_where_generate_ends_it(reciting, stops, most):
    model, tokenizer, inputs = reciting
    arguments = {**inputs, "max_new_tokens": most, "do_sample": False, "stop_strings": stops}
    expected = model.generate(**arguments, tokenizer=tokenizer)
    said = model.generate(**arguments, tokenizer=tokenizer, custom_generate=decoding.generate, lookahead_config=SIZES)
    assert torch.equal(said, expected)
    partial = functools.partial(decoding.generate, tokenizer=tokenizer)
    assert torch.equal(model.generate(**arguments, custom_generate=partial), expected)
    with pytest.raises(ValueError, match="tokenizer"):
        model.generate(**arguments, custom_generate=decoding.generate)


def test_transformers_is_left_as_it_is():
    assert hf.GenerationMixin._sample.__module__ == "transformers.generation.utils"
    assert not hasattr(hf.GenerationMixin._sample, "__wrapped__")
