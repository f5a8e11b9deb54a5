"""The interface of the original implementation: `generate` of every model sped up, and given back as it was."""

from __future__ import annotations

import runpy
import warnings
from pathlib import Path

import pytest
import torch
import transformers as hf

from decoding import LookaheadConfig, LookaheadDecoder, lade, lookahead_support
from tests.models import hf_greedy, random_model, random_prompt, successor_model

ROOT = Path(__file__).parents[1]
LENGTH = 30
PROMPT = torch.tensor([random_prompt(17)])
METHODS = ("generate", "_sample", "_beam_search", "_assisted_decoding")
CYCLE = [10, 11, 12, 13, 14, 15]


@pytest.fixture(autouse=True)
def _own_state(monkeypatch):
    """transformers and the configuration as they were, whatever a test did."""
    monkeypatch.setattr(lade, "_settings", lade._Settings())
    monkeypatch.setattr(lade, "_warned", set())
    monkeypatch.setattr(lade, "_history", [])
    monkeypatch.delenv("USE_LADE", raising=False)
    yield
    lade.restore()


@pytest.fixture(scope="module")
def llama():
    return random_model("llama")


@pytest.fixture(scope="module")
def bundled():
    path = ROOT / "assets" / "model"
    tokenizer = hf.AutoTokenizer.from_pretrained(path)
    return hf.AutoModelForCausalLM.from_pretrained(path, dtype=torch.float64), tokenizer


def asked(model, input_ids=PROMPT, **arguments):
    arguments = {"max_new_tokens": LENGTH, "do_sample": False, "eos_token_id": None, "pad_token_id": 0, **arguments}
    return model.generate(input_ids, attention_mask=torch.ones_like(input_ids), **arguments)


def started(**settings):
    lade.augment_all()
    lade.config_lade(**{"LEVEL": 3, "WINDOW_SIZE": 4, "GUESS_SET_SIZE": 4, "DEBUG": 1, **settings})


def test_three_lines_speed_up_the_bundled_model(bundled, capsys):
    model, tokenizer = bundled
    question = [{"role": "user", "content": "Write a Python function that returns the sum of a list."}]
    inputs = tokenizer.apply_chat_template(question, add_generation_prompt=True, return_tensors="pt", return_dict=True)
    expected = model.generate(**inputs, max_new_tokens=40)

    lade.augment_all()
    lade.config_lade(LEVEL=5, WINDOW_SIZE=7, GUESS_SET_SIZE=7, DEBUG=1)
    assert torch.equal(model.generate(**inputs, max_new_tokens=40), expected)
    torch.manual_seed(7)
    sampled = model.generate(**inputs, max_new_tokens=40, do_sample=True, temperature=0.7)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    for line, output in zip(lines, (expected, sampled), strict=True):
        generated = output.shape[1] - inputs["input_ids"].shape[1]
        assert line.startswith(f"lade: {generated} tokens in ")
        assert "compression ratio 1." in line
    torch.manual_seed(7)
    again = model.generate(**inputs, max_new_tokens=40, do_sample=True, temperature=0.7)
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
    assert len(lade._history) == 2


def test_sizes_are_those_of_the_paper_and_left_out_they_stay():
    assert lade._settings.lookahead() == LookaheadConfig.auto()
    lade.config_lade(LEVEL=4, WINDOW_SIZE=9)
    lade.config_lade(GUESS_SET_SIZE=3, DEBUG=1)
    assert lade._settings.lookahead() == LookaheadConfig(window_size=9, ngram_size=4, guess_set_size=3)
    with pytest.raises(ValueError, match="ngram_size"):
        lade.config_lade(LEVEL=1)
    assert lade._settings.lookahead() == LookaheadConfig(window_size=9, ngram_size=4, guess_set_size=3)


def test_fewer_steps_are_taken(capsys):
    model = successor_model(dict(zip(CYCLE, [*CYCLE[1:], CYCLE[0]], strict=True)))
    started(LEVEL=4)
    asked(model, torch.tensor([CYCLE * 3]), max_new_tokens=13)
    assert capsys.readouterr().out == "lade: 13 tokens in 4 steps, compression ratio 3.25\n"


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
        assert capsys.readouterr().out.count("compression") == 1
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
    assert (capsys.readouterr().out, lade._history) == ("", [])
    monkeypatch.setenv("USE_LADE", "1")
    torch.manual_seed(5)
    assert not torch.equal(asked(llama, **sampled), expected[0])
    assert len(lade._history) == 1


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"num_beams": 3}, "beam search"),
        ({"prompt_lookup_num_tokens": 3}, "prompt lookup"),
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


class Recorder:
    def __init__(self):
        self.given = []

    def put(self, value):
        self.given.append(value.tolist())

    def end(self):
        self.given.append("end")


@pytest.mark.parametrize("sampled", [{}, {"do_sample": True, "top_k": 3}])
def test_a_streamer_gets_every_token_once(llama, sampled):
    started()
    streamer = Recorder()
    said = asked(llama, streamer=streamer, **sampled)[0].tolist()
    assert streamer.given == [[said[:17]], *([token] for token in said[17:]), "end"]


def test_stop_strings_end_the_text_where_generate_ends_it(bundled):
    model, tokenizer = bundled
    inputs = tokenizer("<|user|>\nWrite a Python function that adds two numbers.<|end|>\n", return_tensors="pt")
    arguments = {**inputs, "max_new_tokens": 40, "stop_strings": ["\n    re", "urn"], "tokenizer": tokenizer}
    expected = model.generate(**arguments)
    assert expected.shape[1] < inputs["input_ids"].shape[1] + 40
    started()
    assert torch.equal(model.generate(**arguments), expected)


def test_the_log_is_told_saved_and_begun_anew(llama, capsys, tmp_path):
    started(DEBUG=0)
    lade.log_history()
    assert capsys.readouterr().out == "lade: 0 generations, 0 tokens in 0 steps, compression ratio 0.00\n"
    asked(llama)
    asked(llama, max_new_tokens=5)
    assert capsys.readouterr().out == ""
    lade.save_log(tmp_path / "log.pt")
    saved = torch.load(tmp_path / "log.pt")
    assert [generated for generated, _ in saved] == [LENGTH, 5]
    steps = sum(count for _, count in saved)
    lade.log_history(clear=True)
    line = f"lade: 2 generations, 35 tokens in {steps} steps, compression ratio {35 / steps:.2f}\n"
    assert capsys.readouterr().out == line
    lade.log_history()
    assert "0 generations" in capsys.readouterr().out
    asked(llama, max_new_tokens=5)
    lade.config_lade()
    assert lade._history == []


@pytest.mark.parametrize(
    "flag",
    [
        {"ALWAYS_FWD_ONE": 1},
        {"SPLIT_FLAG": True},
        {"DIST_WORKERS": 2},
        {"backend": "gloo"},
        {"USE_FLASH": True},
        {"POOL_FROM_PROMPT": False},
    ],
)
def test_a_flag_without_meaning_says_so_once(flag):
    (name,) = flag
    with pytest.warns(UserWarning, match=f"{name}.* has no meaning here: "):
        lade.config_lade(**flag)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        lade.config_lade(**flag)
        lade.config_lade(POOL_FROM_PROMPT=True, DIST_WORKERS=1, LEVEL=5)


def test_lookahead_decoding_needs_no_patch(llama):
    prompt = PROMPT[0].tolist()
    expected = [[*prompt, *hf_greedy(llama, prompt, 20)]]
    decoding = lade.LookaheadDecoding(llama)
    assert decoding._decoder.config == LookaheadConfig(15, 5, 5)
    for input_ids in (PROMPT, PROMPT[0], prompt):
        said = decoding.generate(input_ids, max_new_tokens=20)
        assert said.tolist() == expected
    small = lade.LookaheadDecoding(llama, W=3, N=3, G=2)
    assert small.generate(PROMPT, max_new_tokens=20).tolist() == expected
    llama.generation_config.eos_token_id = [expected[0][20], 95]
    try:
        assert decoding.generate(PROMPT).tolist() == [expected[0][:21]]
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
    assert said.count("compression ratio") == lines
    assert said.count("24 tokens, ") == 2
    assert "def " in said
