"""Fixtures for the tests of the original's interface: two models, and everything put back afterwards."""

from __future__ import annotations

import pytest
import torch
import transformers as hf

from decoding import lade
from decoding.lade import utils
from decoding.lade.decoding import CONFIG_MAP
from tests.lade.calls import ROOT
from tests.models import code_reciting_model, random_model


@pytest.fixture(autouse=True)
def _own_state(monkeypatch):
    """transformers and the configuration as they were, whatever a test did."""
    monkeypatch.setattr(utils, "warned", set())
    for name in ("USE_LADE", "CHAT", "COLOR_PRINT", "NO_COLOR", "LOCAL_RANK"):
        monkeypatch.delenv(name, raising=False)
    CONFIG_MAP.clear()
    yield
    CONFIG_MAP.clear()
    lade.restore()


@pytest.fixture(scope="module")
def llama():
    return random_model("llama", layers=1)


@pytest.fixture(scope="module")
def reciting():
    """A model that answers with code, the bundled model's tokenizer, and a question."""
    return code_reciting_model()


@pytest.fixture(scope="module")
def bundled():
    path = ROOT / "assets" / "model"
    tokenizer = hf.AutoTokenizer.from_pretrained(path)
    return hf.AutoModelForCausalLM.from_pretrained(path, dtype=torch.float64), tokenizer
