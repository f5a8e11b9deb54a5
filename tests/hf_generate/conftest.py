"""Fixtures of the tests of generate."""

from __future__ import annotations

import pytest

from tests.models import code_reciting_model, random_model


@pytest.fixture(scope="module")
def llama():
    return random_model("llama", layers=1)


@pytest.fixture(scope="module")
def reciting():
    """A model that answers with code, the bundled model's tokenizer, and a question."""
    return code_reciting_model()
