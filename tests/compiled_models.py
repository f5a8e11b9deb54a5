"""Small models for the tests of compiled steps, traced by a backend that is quick to compile."""

from __future__ import annotations

from typing import Any

import torch
import transformers as hf

from decoding import Session
from decoding.torch_compile.static_prefix import StaticPrefix
from tests.models import CONFIGS

EAGER = "eager"
"""The backend that runs what was traced as it is: quick to compile."""

_models: dict[str, Any] = {}


def small_model(family: str, dtype: torch.dtype = torch.float64) -> Any:
    """As `random_model`, but of one layer of each kind and so quick to trace."""
    torch.manual_seed(0)
    config = CONFIGS[family]()
    if getattr(config, "layer_types", None):
        config.layer_types = list(dict.fromkeys(config.layer_types))
        config.num_hidden_layers = len(config.layer_types)
    else:
        config.num_hidden_layers = 1
    model = hf.AutoModelForCausalLM.from_config(config).eval().to(dtype)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.mul_(3)
    return model


def model_of(family: str) -> Any:
    """A small model that is traced once for all tests."""
    if family not in _models:
        _models[family] = small_model(family)
    return _models[family]


def static_prefix_of(session: Session) -> StaticPrefix:
    assert isinstance(session.prefix, StaticPrefix)
    return session.prefix
