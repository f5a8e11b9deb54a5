"""Calls of generate, in transformers and here."""

from __future__ import annotations

from pathlib import Path

import torch

import decoding
from decoding import LookaheadConfig
from tests.models import random_prompt

BUNDLED = Path(__file__).parents[2] / "assets" / "model"
LENGTH = 16

SIZES = LookaheadConfig(4, 3, 4)

PROMPT = torch.tensor([random_prompt(17)])


def asked(model, input_ids=PROMPT, **arguments):
    arguments = {"max_new_tokens": LENGTH, "do_sample": False, "eos_token_id": None, "pad_token_id": 0, **arguments}
    if "attention_mask" not in arguments:
        arguments["attention_mask"] = torch.ones_like(input_ids)
    return model.generate(input_ids, **arguments)


def ours(model, input_ids=PROMPT, **arguments):
    arguments = {"lookahead_config": SIZES, **arguments}
    return asked(model, input_ids, custom_generate=decoding.generate, **arguments)
