"""--compile from the flag to the session: steps are compiled where they can be, else a notice says why not."""

from __future__ import annotations

from pathlib import Path

import pytest

from decoding import Support
from lade_chat.engine.chat_engine import ChatEngine
from lade_chat.engine.job import Job
from lade_chat.loading.model_loader import LoadedModel, with_compiled_steps
from lade_chat.protocol.commands import Load
from lade_chat.protocol.events import Loaded, Loading
from lade_chat.protocol.values import ModelInfo, ModelOptions
from tests.checkpoints import make_qwen2
from tests.models import random_model


@pytest.fixture
def loaded() -> LoadedModel:
    info = ModelInfo("random", "cpu", "float64", 1, 512, lookahead_supported=True, notices=("roles are plain text",))
    return LoadedModel(random_model("llama"), None, info, ())


def answering(monkeypatch: pytest.MonkeyPatch, support: Support) -> None:
    """Have the question whether a model can be compiled answered without trying."""
    monkeypatch.setattr("decoding.compile_support", lambda _model: support)


def test_a_model_that_can_be_compiled_is(monkeypatch: pytest.MonkeyPatch, loaded: LoadedModel) -> None:
    answering(monkeypatch, Support(True))
    info = with_compiled_steps(loaded).info
    assert info.compiled
    assert info.notices == loaded.info.notices


def test_a_notice_says_why_a_model_is_not_compiled(monkeypatch: pytest.MonkeyPatch, loaded: LoadedModel) -> None:
    answering(monkeypatch, Support(False, "its forward pass cannot be compiled (Unsupported)"))
    info = with_compiled_steps(loaded).info
    assert not info.compiled
    assert info.notices == (
        "roles are plain text",
        "Steps are not compiled: its forward pass cannot be compiled (Unsupported).",
    )


@pytest.mark.parametrize("compiled", [False, True])
def test_the_engine_compiles_where_it_is_told_to(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, compiled: bool
) -> None:
    answering(monkeypatch, Support(True))
    options = ModelOptions(str(make_qwen2(tmp_path)), "cpu", step_cost=False, compiled=compiled)
    engine = ChatEngine()
    *stages, last = engine.handle(Job(Load(options)))
    assert isinstance(last, Loaded)
    assert last.model.compiled is compiled
    assert ("compile" in {event.stage for event in stages if isinstance(event, Loading)}) is compiled
    assert engine.session is not None
    assert engine.session.compiled is compiled
