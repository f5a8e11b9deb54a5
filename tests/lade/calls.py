"""Calls as the programs of the original implementation make them: patch, configure, generate, read the log."""

from __future__ import annotations

from pathlib import Path

import torch

from decoding import lade
from decoding.lade.decoding import CONFIG_MAP
from tests.models import random_prompt

ROOT = Path(__file__).parents[2]
LENGTH = 16
PROMPT = torch.tensor([random_prompt(17)])


def log():
    return CONFIG_MAP.get("log", [])


def asked(model, input_ids=PROMPT, **arguments):
    arguments = {"max_new_tokens": LENGTH, "do_sample": False, "eos_token_id": None, "pad_token_id": 0, **arguments}
    return model.generate(input_ids, attention_mask=torch.ones_like(input_ids), **arguments)


def started(**settings):
    lade.augment_all()
    lade.config_lade(**{"LEVEL": 3, "WINDOW_SIZE": 4, "GUESS_SET_SIZE": 4, "DEBUG": 1, **settings})
