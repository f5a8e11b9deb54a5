"""The interface of the original implementation: `generate` of every model sped up, and given back as it was."""

from __future__ import annotations

import runpy

import pytest
import torch
import transformers as hf

from decoding import LookaheadConfig, LookaheadDecoder, lade, lookahead_support
from decoding.lade import utils
from decoding.lade.decoding import CONFIG_MAP
from tests.lade.calls import PROMPT, ROOT, asked, log, started
from tests.models import Recorder, hf_greedy, random_model, successor_model

METHODS = ("generate", "_sample", "_beam_search", "_assisted_decoding")
CYCLE = [10, 11, 12, 13, 14, 15]


def summary(generated, steps, ratio=None):
    """What the original implementation prints, and people parse."""
    ratio = round(generated / steps, 2) if ratio is None else ratio
    return (
        "\n==========================ACCELERATION===SUMMARY======================================\n"
        f"Generated tokens:  {generated} Total steps:  {steps}  Compression ratio:  {ratio}\n"
        "======================================================================================\n"
    )


def test_three_lines_speed_up_the_bundled_model(bundled, capsys):
    model, tokenizer = bundled
    question = [{"role": "user", "content": "Write a Python function that returns the sum of a list."}]
    inputs = tokenizer.apply_chat_template(question, add_generation_prompt=True, return_tensors="pt", return_dict=True)
    expected = model.generate(**inputs, max_new_tokens=30)

    lade.augment_all()
    lade.config_lade(LEVEL=5, WINDOW_SIZE=7, GUESS_SET_SIZE=7, DEBUG=1)
    assert torch.equal(model.generate(**inputs, max_new_tokens=30), expected)
    torch.manual_seed(7)
    sampled = model.generate(**inputs, max_new_tokens=30, do_sample=True, temperature=0.7)
    assert [generated for generated, *_ in log()] == [
        output.shape[1] - inputs["input_ids"].shape[1] for output in (expected, sampled)
    ]
    assert all(1 < ratio == round(generated / steps, 2) for generated, steps, ratio in log())
    assert capsys.readouterr().out == "".join(summary(generated, steps) for generated, steps, _ in log())
    torch.manual_seed(7)
    again = model.generate(**inputs, max_new_tokens=30, do_sample=True, temperature=0.7)
    assert torch.equal(again, sampled)


@pytest.mark.parametrize("family", ["llama", "gpt2"])
@pytest.mark.parametrize("sizes", [{}, {"LEVEL": 2}, {"LEVEL": 4, "WINDOW_SIZE": 5, "GUESS_SET_SIZE": 3}])
def test_greedy_it_says_what_generate_says(family, sizes):
    model = random_model(family)
    settings = {"repetition_penalty": 1.2, "eos_token_id": [23, 14]}
    expected = asked(model), asked(model, **settings)
    lade.augment_all()
    lade.config_lade(**sizes)
    assert torch.equal(asked(model), expected[0])
    assert torch.equal(asked(model, **settings), expected[1])
    assert len(log()) == 2


def test_sizes_are_those_of_the_paper_and_left_out_they_stay(monkeypatch):
    assert lade.decoding.lookahead_config() == LookaheadConfig.auto()
    lade.config_lade(LEVEL=4, WINDOW_SIZE=9)
    lade.config_lade(GUESS_SET_SIZE=3, DEBUG=1)
    assert lade.decoding.lookahead_config() == LookaheadConfig(window_size=9, ngram_size=4, guess_set_size=3)
    assert CONFIG_MAP == {"WINDOW_SIZE": 9, "LEVEL": 4, "GUESS_SET_SIZE": 3, "DEBUG": 1, "log": []}
    CONFIG_MAP["LEVEL"] = 6
    sizes = lade.decoding.lookahead_config().sizes
    assert sizes is not None
    assert sizes.ngram_size == 6
    with pytest.raises(ValueError, match="ngram_size"):
        lade.config_lade(LEVEL=1)
    assert CONFIG_MAP["LEVEL"] == 6
    with pytest.raises(ValueError, match="DIST_WORKERS must be a whole number"):
        lade.config_lade(LEVEL=3, DIST_WORKERS="two")
    monkeypatch.setenv("LOCAL_RANK", "first")
    with pytest.raises(ValueError, match="LOCAL_RANK"):
        lade.config_lade(LEVEL=3, DIST_WORKERS=2)
    assert CONFIG_MAP["LEVEL"] == 6
    assert "DIST_WORKERS" not in CONFIG_MAP


def test_fewer_steps_are_taken(capsys):
    model = successor_model(dict(zip(CYCLE, [*CYCLE[1:], CYCLE[0]], strict=True)))
    started(LEVEL=4)
    asked(model, torch.tensor([CYCLE * 3]), max_new_tokens=13)
    assert capsys.readouterr().out == summary(13, 4, 3.25)
    assert log() == [[13, 4, 3.25]]


def test_all_calls_may_be_repeated_in_any_order(llama, capsys):
    originals = [getattr(hf.GenerationMixin, name) for name in METHODS]
    expected = asked(llama)
    lade.restore()
    lade.config_lade(LEVEL=3, DEBUG=1)
    assert torch.equal(asked(llama), expected)
    assert capsys.readouterr().out == ""
    for _ in range(2):
        lade.augment_all()
        lade.augment_all()
        assert torch.equal(asked(llama), expected)
        assert capsys.readouterr().out.count("Compression ratio: ") == 1
        lade.restore()
        lade.restore()
        assert [getattr(hf.GenerationMixin, name) for name in METHODS] == originals
        assert torch.equal(asked(llama), expected)
        assert capsys.readouterr().out == ""


@pytest.mark.parametrize("value", ["0", "", "false", " 0 "])
def test_switched_off_it_is_the_original(llama, monkeypatch, capsys, value):
    sampled = {"do_sample": True, "temperature": 0.9}
    torch.manual_seed(5)
    expected = asked(llama, **sampled), asked(llama, num_beams=2)
    started()
    monkeypatch.setenv("USE_LADE", value)
    torch.manual_seed(5)
    assert torch.equal(asked(llama, **sampled), expected[0])
    assert torch.equal(asked(llama, num_beams=2), expected[1])
    assert (capsys.readouterr().out, log()) == ("", [])
    monkeypatch.setenv("USE_LADE", "1")
    torch.manual_seed(5)
    assert not torch.equal(asked(llama, **sampled), expected[0])
    assert len(log()) == 1


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"num_beams": 3}, "serves no beam search"),
        ({"prompt_lookup_num_tokens": 3}, "serves no assistant or prompt lookup"),
        ({"input_ids": PROMPT.expand(2, -1)}, "2 texts"),
        ({"num_return_sequences": 2, "do_sample": True}, "num_return_sequences=2"),
        ({"cache_implementation": "static"}, "static"),
        ({"use_cache": False}, "use_cache"),
        ({"return_dict_in_generate": True, "output_scores": True}, "output_scores"),
    ],
)
def test_what_is_not_served_is_left_to_the_original(llama, capsys, arguments, reason):
    torch.manual_seed(5)
    expected = asked(llama, **arguments)
    started()
    torch.manual_seed(5)
    said = asked(llama, **arguments)
    if arguments.get("output_scores"):
        assert torch.equal(torch.stack(said.scores), torch.stack(expected.scores))
        said, expected = said.sequences, expected.sequences
    assert torch.equal(said, expected)
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("lade: left to the original: ")
    assert reason in line
    lade.config_lade(DEBUG=0)
    asked(llama, **arguments)
    assert capsys.readouterr().out == ""


def test_a_model_that_takes_no_branches_is_left_to_the_original(capsys):
    model = random_model("bloom")
    expected = asked(model)
    started()
    assert torch.equal(asked(model), expected)
    assert capsys.readouterr().out == f"lade: left to the original: {lookahead_support(model).reason}\n"


@pytest.mark.parametrize("sampled", [{}, {"do_sample": True, "top_k": 3}])
def test_a_streamer_gets_every_token_once(llama, sampled):
    started()
    streamer = Recorder()
    said = asked(llama, streamer=streamer, **sampled)[0].tolist()
    assert streamer.given == [[said[:17]], *([token] for token in said[17:]), "end"]


def test_stop_strings_end_the_text_where_generate_ends_it(reciting):
    model, tokenizer, inputs = reciting
    arguments = {**inputs, "max_new_tokens": 40, "stop_strings": ["\n    re", "urn"], "tokenizer": tokenizer}
    expected = model.generate(**arguments)
    assert expected.shape[1] < inputs["input_ids"].shape[1] + 20
    started()
    assert torch.equal(model.generate(**arguments), expected)


def test_get_model_loads_the_model_with_its_tokenizer():
    path = str(ROOT / "assets" / "model")
    model, tokenizer = utils.get_model(path, "", torch.float32, "cpu", "", False)
    assert (model.dtype, model.device.type, model.training) == (torch.float32, "cpu", False)
    assert model.tokenizer is tokenizer
    assert utils.get_model(path, None, "bfloat16", "cpu", None, False)[0].dtype is torch.bfloat16
    for asked_for in ({"quant": "awq"}, {"use_ds": True}, {"native_offload": True}):
        arguments = {"quant": "", "dtype": None, "device": "cpu", "cache_dir": "", "use_ds": False, **asked_for}
        with pytest.raises(NotImplementedError, match=next(iter(asked_for))):
            utils.get_model(path, **arguments)


def test_lookahead_decoding_needs_no_patch(llama):
    prompt = PROMPT[0].tolist()
    expected = [[*prompt, *hf_greedy(llama, prompt, 20)]]
    decoding = lade.LookaheadDecoding(llama)
    assert decoding.decoder.config == LookaheadConfig(15, 5, 5)
    for input_ids in (PROMPT, PROMPT[0], prompt):
        said = decoding.generate(input_ids, max_new_tokens=20)
        assert said.tolist() == expected
    small = lade.LookaheadDecoding(llama, W=3, N=3, G=2)
    assert small.generate(PROMPT, max_new_tokens=20).tolist() == expected
    text, begun = expected[0], len(prompt)
    end = next(at for at in range(begun + 3, len(text)) if text[at] not in text[begun:at])
    llama.generation_config.eos_token_id = [text[end], 0]
    try:
        assert decoding.generate(PROMPT).tolist() == [text[: end + 1]]
    finally:
        llama.generation_config.eos_token_id = 2


def test_only_generate_is_changed(llama):
    started()
    decoder = LookaheadDecoder(llama, LookaheadConfig(3, 3, 3))
    assert sum(len(step.tokens) for step in decoder.generate(PROMPT, max_new_tokens=5)) == 5
    with torch.no_grad():
        assert llama(PROMPT).logits.shape == (1, 17, 97)


@pytest.mark.parametrize(
    ("environment", "lines"),
    [({"LOAD_LADE": "0"}, 0), ({"LOAD_LADE": "1"}, 3), ({"LOAD_LADE": "1", "USE_LADE": "0"}, 0)],
)
def test_the_example_runs(environment, lines, monkeypatch, capsys):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    example = runpy.run_path(str(ROOT / "assets" / "examples" / "minimal.py"))
    example["main"](max_new_tokens=24)
    said = capsys.readouterr().out
    assert said.count("Compression ratio") == lines
    assert said.count("24 tokens, ") == 2
    assert "def " in said


def test_the_names_of_the_original_are_there(llama, monkeypatch):
    originals = [getattr(hf.GenerationMixin, name) for name in METHODS]
    lade.augment_llama()
    assert [getattr(hf.GenerationMixin, name) for name in METHODS] == originals
    lade.augment_generate()
    assert [getattr(hf.GenerationMixin, name) for name in METHODS] != originals
    assert (lade.get_device(), lade.distributed()) == (0, False)
    lade.config_lade(DIST_WORKERS=1)
    assert (lade.get_device(), lade.distributed()) == (0, False)
    monkeypatch.setenv("LOCAL_RANK", "3")
    with pytest.warns(UserWarning, match="DIST_WORKERS"):
        lade.config_lade(DIST_WORKERS=4)
    assert (lade.get_device(), lade.distributed()) == (3, True)
    lade.config_lade(DIST_WORKERS=1)
    assert (lade.get_device(), lade.distributed()) == (0, False)
    for name in ("augment_all", "augment_generate", "augment_llama", "config_lade", "log_history", "save_log"):
        assert getattr(utils, name) is getattr(lade, name)
