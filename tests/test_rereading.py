"""Models that read a text anew once it outgrows their original positions, as Phi-3's long-context checkpoints do."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
import torch
import transformers as hf

from decoding import AutoregressiveDecoder, Decoder, JacobiDecoder, LookaheadConfig, LookaheadDecoder, Session, Step
from decoding.parallel import ParallelLookaheadDecoder
from tests.models import COMMON, hf_greedy, random_prompt
from tests.ranks import workers_in_threads

SWITCH = 32
FACTORS: dict[str, Any] = {
    "rope_type": "longrope",
    "rope_theta": 10000.0,
    "short_factor": [1.0] * 4,
    "long_factor": [4.0, 3.0, 2.0, 6.0],
    "original_max_position_embeddings": SWITCH,
}


@pytest.fixture(scope="module", params=["phi3", "phimoe"])
def model(request: pytest.FixtureRequest) -> Any:
    torch.manual_seed(0)
    sizes = {**COMMON, "rope_parameters": FACTORS, "original_max_position_embeddings": SWITCH}
    if request.param == "phimoe":
        # transformers' grouped matrix product for experts knows no float64.
        sizes |= {"num_local_experts": 4, "experts_implementation": "eager"}
        sizes["rope_parameters"] = {**FACTORS, "short_mscale": 1.0, "long_mscale": 1.2}
    config = hf.CONFIG_MAPPING[request.param](**sizes)
    model = hf.AutoModelForCausalLM.from_config(config).eval().double()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.mul_(3)
    return model


def said(decoder: Decoder, prompt: list[int], count: int, session: Session | None = None) -> list[int]:
    steps: list[Step] = list(decoder.generate(prompt, max_new_tokens=count, session=session))
    return [token for step in steps for token in step.tokens]


@pytest.mark.parametrize("length", [7, SWITCH - 1, SWITCH, SWITCH + 1, SWITCH + 9])
def test_every_decoder_says_what_generate_says_over_the_switch(model: Any, length: int) -> None:
    prompt = (random_prompt(6) * 9)[:length]
    expected = hf_greedy(model, prompt, 40)
    decoders = (
        AutoregressiveDecoder(model),
        LookaheadDecoder(model),
        LookaheadDecoder(model, LookaheadConfig(5, 4, 5)),
    )
    for decoder in (*decoders, JacobiDecoder(model)):
        assert said(decoder, prompt, 40) == expected


def test_a_session_keeps_nothing_across_the_switch_in_either_direction(model: Any) -> None:
    session, decoder = Session(model), LookaheadDecoder(model)
    text = random_prompt(50)
    for length in (25, 50, 20, 29, 36, 45, 31):
        assert said(decoder, text[:length], 6, session) == hf_greedy(model, text[:length], 6)


def test_other_ranks_take_no_part(model: Any) -> None:
    prompt = random_prompt(6) * 4
    with workers_in_threads([deepcopy(model)]) as workers:
        decoder = ParallelLookaheadDecoder(model, workers, LookaheadConfig(5, 4, 5))
        assert said(decoder, prompt, 40) == hf_greedy(model, prompt, 40)
