"""Fixtures of the tests of generate."""

from __future__ import annotations

import pytest
import torch
import transformers as hf

from tests.hf_generate.calls import BUNDLED
from tests.models import random_model


@pytest.fixture(scope="module")
def llama():
    return random_model("llama", layers=1)


@pytest.fixture(scope="module")
def bundled():
    """The bundled model in float64, its tokenizer, and a question that it answers with code."""
    tokenizer = hf.AutoTokenizer.from_pretrained(BUNDLED)
    model = hf.AutoModelForCausalLM.from_pretrained(BUNDLED, dtype=torch.float64)
    question = [{"role": "user", "content": "Write a Python function that returns the sum of a list."}]
    inputs = tokenizer.apply_chat_template(question, add_generation_prompt=True, return_tensors="pt", return_dict=True)
    return model, tokenizer, inputs
