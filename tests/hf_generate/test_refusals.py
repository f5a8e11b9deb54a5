"""What lookahead decoding cannot serve in place of model.generate is named, and left alone."""

from __future__ import annotations

import pytest
import torch
import transformers as hf

import decoding
from decoding import Session
from tests.hf_generate.calls import PROMPT, ours
from tests.models import Recorder, random_model


@pytest.mark.parametrize("seed", [-1, 2**64, 1.5, "x"])
@pytest.mark.parametrize("sampled", [False, True])
def test_a_seed_out_of_range_is_refused_by_name(llama, seed, sampled):
    with pytest.raises(ValueError, match="seed must be"):
        decoding.generate(llama, PROMPT, max_new_tokens=3, do_sample=sampled, seed=seed)


@pytest.mark.parametrize("streamer", ["x", 3, print, hf.TextStreamer])
def test_what_is_no_streamer_is_refused_by_name(llama, streamer):
    with pytest.raises(ValueError, match="streamer must be a streamer of transformers"):
        decoding.generate(llama, PROMPT, max_new_tokens=3, streamer=streamer)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"inputs": PROMPT[0]}, "inputs must be a tensor of token ids of shape"),
        ({"input_ids": PROMPT.tolist()}, "input_ids must be a tensor of token ids of shape"),
        ({"input_ids": PROMPT, "attention_mask": [[1] * 17]}, "attention_mask must be a Tensor, not"),
        ({"input_ids": PROMPT, "logits_processor": hf.GenerationConfig()}, "logits_processor must be a list of functi"),
        ({"input_ids": PROMPT, "stopping_criteria": len}, "stopping_criteria must be a list of functions"),
        ({"input_ids": PROMPT, "generation_config": {"max_new_tokens": 3}}, "generation_config must be a Generation"),
        ({"input_ids": PROMPT, "stop_strings": 5}, "stop_strings must be strings, not 5"),
        ({"input_ids": PROMPT, "stop_strings": [5]}, r"stop_strings must be strings, not \[5\]"),
    ],
)
def test_what_is_of_another_kind_is_refused_by_name(llama, arguments, message):
    with pytest.raises(ValueError, match=message):
        decoding.generate(llama, max_new_tokens=3, **arguments)


def test_a_call_that_transformers_would_batch_by_itself_is_refused(llama):
    with pytest.raises(NotImplementedError, match="cache_implementation='paged'"):
        decoding.generate(llama, PROMPT, max_new_tokens=3, cache_implementation="paged")
    with pytest.raises(TypeError, match="tokenizer must be"):
        decoding.generate(llama, PROMPT, max_new_tokens=3, stop_strings="a", tokenizer=llama)


def test_stop_strings_passed_are_in_place_of_those_of_the_config_though_they_are_none(llama):
    config = hf.GenerationConfig(stop_strings=["a"], max_new_tokens=4, pad_token_id=0)
    with pytest.raises(ValueError, match="stop_strings need the model's tokenizer"):
        decoding.generate(llama, PROMPT, generation_config=config)
    assert decoding.generate(llama, PROMPT, generation_config=config, stop_strings=[]).shape == (1, 21)


def test_a_call_that_is_refused_leaves_session_and_streamer_alone(llama):
    session, streamer = Session(random_model("gpt2")), Recorder()
    list(decoding.AutoregressiveDecoder(session.model).generate([5, 6], max_new_tokens=3, session=session))
    before = session.ids.copy(), session.emitted, session.turn
    with pytest.raises(ValueError, match="another model"):
        decoding.generate(llama, PROMPT, max_new_tokens=3, session=session, streamer=streamer)
    assert (session.ids, session.emitted, session.turn) == before
    own = Session(llama)
    ours(llama, session=own, max_new_tokens=3)
    before = own.ids.copy(), own.emitted, own.turn
    with own.held(), pytest.raises(RuntimeError, match="in the middle of a step"):
        decoding.generate(llama, PROMPT, max_new_tokens=3, session=own, streamer=streamer)
    assert (own.ids, own.emitted, own.turn) == before
    assert streamer.given == []


class Cacheless(hf.DynamicCache):
    pass


@pytest.mark.parametrize(
    ("arguments", "offender"),
    [
        ({"num_beams": 3}, "num_beams=3"),
        ({"num_return_sequences": 2, "do_sample": True}, "num_return_sequences=2"),
        ({"input_ids": PROMPT.expand(3, -1)}, "holds 3 texts"),
        ({"cache_implementation": "static"}, "cache_implementation='static'"),
        # transformers makes this cache itself, which a build of torch for GPUs cannot without one.
        ({"cache_implementation": "offloaded"}, "cache_implementation='offloaded'|create a new Stream"),
        ({"past_key_values": hf.DynamicCache()}, "past_key_values"),
        ({"past_key_values": Cacheless()}, "past_key_values"),
        ({"use_cache": False}, "use_cache"),
        ({"prompt_lookup_num_tokens": 3}, "prompt_lookup_num_tokens"),
        ({"return_dict_in_generate": True, "output_scores": True}, "output_scores"),
        ({"return_dict_in_generate": True, "output_logits": True}, "output_logits"),
        ({"return_dict_in_generate": True, "output_attentions": True}, "output_attentions"),
        ({"return_dict_in_generate": True, "output_hidden_states": True}, "output_hidden_states"),
        ({"attention_mask": torch.tensor([[1] * 5 + [0] + [1] * 11])}, "attention_mask"),
        ({"attention_mask": torch.zeros(1, 17)}, "attention_mask"),
        ({"position_ids": torch.arange(1, 18)[None]}, "position_ids"),
        ({"max_new_tokens": 0}, "max_new_tokens"),
        ({"lookahead_config": (7, 5, 7)}, "lookahead_config"),
        ({"session": "mine"}, "session"),
        ({"do_sample": True, "seed": "mine"}, "seed"),
    ],
)
def test_what_is_not_served_is_named(llama, arguments, offender):
    with pytest.raises((ValueError, RuntimeError), match=offender):
        ours(llama, **arguments)


def test_an_assistant_and_embeddings_are_not_served(llama):
    with pytest.raises(NotImplementedError, match="assistant_model"):
        ours(llama, assistant_model=random_model("llama", seed=1, layers=1))
    embeddings = llama.get_input_embeddings()(PROMPT).detach()
    with pytest.raises(NotImplementedError, match="inputs_embeds"):
        llama.generate(inputs_embeds=embeddings, max_new_tokens=3, custom_generate=decoding.generate)


def test_an_encoder_decoder_is_not_served():
    sizes = {"vocab_size": 40, "d_model": 16, "d_kv": 8, "d_ff": 16, "num_layers": 1, "num_heads": 2}
    model = hf.T5ForConditionalGeneration(hf.T5Config(**sizes, decoder_start_token_id=0)).eval()
    with pytest.raises(NotImplementedError, match="encoder-decoder"):
        model.generate(torch.tensor([[5, 6]]), max_new_tokens=3, custom_generate=decoding.generate)
