"""Replies printed as they come, as the original implementation does where CHAT is set."""

from __future__ import annotations

import pytest

from decoding import lade
from tests.lade.calls import asked, log, started
from tests.models import Recorder


@pytest.fixture(scope="module")
def answer(reciting):
    """The question, and the model's answer."""
    model, tokenizer, inputs = reciting
    arguments = {**inputs, "max_new_tokens": 30, "do_sample": False}
    said = model.generate(**arguments)[0, inputs["input_ids"].shape[1] :]
    text = tokenizer.decode(said).removesuffix("<|end|>")
    assert "<|end|>" not in text
    assert len(said) < 30
    return arguments, text


@pytest.fixture
def chatting(reciting, answer, monkeypatch):
    """A model with its tokenizer at hand, and replies that are printed as they come."""
    model, tokenizer, _ = reciting
    monkeypatch.setattr(model, "tokenizer", tokenizer, raising=False)
    monkeypatch.setenv("CHAT", "1")
    return model, *answer


@pytest.mark.parametrize("use", ["1", "0"])
def test_chat_prints_the_reply_as_it_comes(chatting, capsys, monkeypatch, use):
    model, arguments, text = chatting
    monkeypatch.setenv("USE_LADE", use)
    started(DEBUG=0)
    streamer = Recorder()
    said = model.generate(**arguments, streamer=streamer)[0].tolist()
    assert capsys.readouterr().out == text
    assert [token for (token,) in streamer.given[1:-1]] == said[arguments["input_ids"].shape[1] :]
    assert streamer.given[-1] == "end"
    lade.config_lade(DEBUG=1)
    model.generate(**arguments)
    said = capsys.readouterr().out
    assert said.startswith(f"{text}\n=====")
    assert said.endswith(f"Compression ratio:  {'N/A ' if use == '0' else log()[-1][2]}\n{86 * '='}\n")


def test_chat_colours_what_was_accepted(chatting, capsys, monkeypatch):
    model, arguments, text = chatting
    started(DEBUG=0, LEVEL=5, WINDOW_SIZE=7, GUESS_SET_SIZE=7)
    monkeypatch.setenv("COLOR_PRINT", "1")
    model.generate(**arguments)
    said = capsys.readouterr().out
    assert said.replace("\033[34m", "").replace("\033[0m", "") == text
    assert said.count("\033[34m") == said.count("\033[0m") >= 1


def test_chat_without_a_tokenizer_says_what_is_missing(llama, capsys, monkeypatch):
    monkeypatch.setenv("CHAT", "1")
    started(DEBUG=0)
    with pytest.warns(UserWarning, match="model.tokenizer"):
        asked(llama)
    assert capsys.readouterr().out == ""
