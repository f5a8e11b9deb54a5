"""A small checkpoint, and an engine that has loaded it."""

from __future__ import annotations

import pytest

from lade_chat.engine.chat_engine import ChatEngine
from lade_chat.engine.job import Job
from lade_chat.protocol.commands import Load
from lade_chat.protocol.events import Loaded, Loading
from lade_chat.protocol.values import ModelOptions
from tests.checkpoints import edit_json, make_qwen2


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = make_qwen2(tmp_path_factory.mktemp("qwen2"))
    edit_json(folder / "config.json", max_position_embeddings=4096)
    return folder


@pytest.fixture(scope="module")
def engine(folder):
    engine = ChatEngine()
    events = list(engine.handle(Job(Load(ModelOptions(str(folder), device="cpu", dtype="float32")))))
    assert isinstance(events[-1], Loaded), events[-1]
    assert {event.stage for event in events[:-1] if isinstance(event, Loading)} >= {"configuration", "weights", "probe"}
    return engine
