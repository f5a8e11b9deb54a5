"""A model that computes NaN ends a text with an error; what it had said before stays."""

from __future__ import annotations

from io import BytesIO, TextIOWrapper
from itertools import product
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import InfNanRemoveLogitsProcessor, RepetitionPenaltyLogitsProcessor

from decoding import AutoregressiveDecoder, JacobiDecoder, LookaheadConfig, LookaheadDecoder, SamplingConfig, Session
from lade_chat.cli.app import main
from tests.checkpoints import make_qwen2
from tests.loads import load
from tests.models import random_model, successor_model

BROKEN = 13
DECODERS = [
    AutoregressiveDecoder,
    JacobiDecoder,
    LookaheadDecoder,
    lambda model: LookaheadDecoder(model, LookaheadConfig(4, 3, 4)),
]


def broken_model(dtype):
    """A model that says 11, 12, 13 after 10, and nothing but NaN once it has read 13."""
    model = successor_model({10: 11, 11: 12, 12: BROKEN}).to(dtype)
    with torch.no_grad():
        model.get_input_embeddings().weight[BROKEN] = torch.nan
    return model


DTYPES = [torch.float64, torch.float32, torch.bfloat16, torch.float16]
GIVEN = [
    {},
    {"logits_processor": [RepetitionPenaltyLogitsProcessor(1.1)]},
    *[
        {"sampling": SamplingConfig(temperature=0.01, seed=1, **limits)}
        for limits in ({}, {"top_k": 5}, {"top_p": 0.9}, {"min_p": 0.1}, {"top_k": 5, "repetition_penalty": 1.1})
    ],
]


@pytest.mark.parametrize(
    ("dtype", "given"), [*product(DTYPES, GIVEN[:1]), *product(DTYPES[:2], GIVEN[1:]), (torch.bfloat16, GIVEN[3])]
)
def test_a_text_ends_where_the_model_computes_nan(dtype, given):
    model = broken_model(dtype)
    for decoder_of in DECODERS:
        session, said = Session(model), []
        steps = decoder_of(model).generate([10, 11, 12, 10], max_new_tokens=9, session=session, **given)
        with pytest.raises(FloatingPointError, match="computes NaN"):
            said.extend(token for step in steps for token in step.tokens)
        assert said
        assert said == [11, 12, BROKEN][: len(said)]
        assert session.ids == [10, 11, 12, 10, *said]
        assert session.cached < len(session.ids)


def test_token_0_may_be_chosen():
    model = successor_model({10: 0, 0: 10})
    for decoder_of in DECODERS:
        for sampling in (None, SamplingConfig(temperature=0.01, seed=1)):
            steps = decoder_of(model).generate([10], max_new_tokens=6, sampling=sampling)
            assert [token for step in steps for token in step.tokens] == [0, 10, 0, 10, 0, 10]


def test_nan_that_a_processor_replaces_is_none():
    model = random_model("llama", layers=1)
    with torch.no_grad():
        model.get_input_embeddings().weight[BROKEN] = torch.nan
    for decoder_of in DECODERS:
        steps = decoder_of(model).generate(
            [10, BROKEN], max_new_tokens=4, logits_processor=[InfNanRemoveLogitsProcessor()]
        )
        assert [token for step in steps for token in step.tokens] == [0, 0, 0, 0]


def test_the_user_reads_one_line_that_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO()))
    folder = make_qwen2(tmp_path / "model")
    *_, spoilt = load(folder).tokenizer("Say 7")["input_ids"]
    weights = load_file(folder / "model.safetensors")
    weights["model.embed_tokens.weight"][spoilt] = torch.nan
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    capsys.readouterr()
    assert main(["ask", "--raw", "Say 7", "--no-save", "--max-new-tokens", "5", "--model-path", str(folder)]) == 1
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert told.endswith("computes NaN: its weights contain NaN. Download it again, or take another model.\n")
