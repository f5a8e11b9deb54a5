"""The cost of steps, measured, written down and looked at again as the engine replies."""

from __future__ import annotations

import msgspec

from decoding import StepCost
from lade_chat.engine.chat_engine import ChatEngine
from lade_chat.engine.job import Job
from lade_chat.protocol.commands import Load, Reply
from lade_chat.protocol.events import (
    ReplyFinished,
)
from lade_chat.protocol.values import ModelOptions
from tests.engine.talking import OPTIONS, events_of, pieces_of, text_of, user


def test_what_live_steps_have_taught_is_written_down_now_and_then(folder, monkeypatch):
    monkeypatch.setattr("lade_chat.loading.saved_step_cost.saved_step_cost", lambda loaded: Cost())
    monkeypatch.setattr(Cost, "written", 0)
    engine, load = ChatEngine(), Load(ModelOptions(str(folder), device="cpu", dtype="float64"))
    list(engine.handle(Job(load)))
    for _ in range(3):
        events_of(engine, "Hello.", max_new_tokens=2, lookahead=False)
    assert Cost.written == 1
    monkeypatch.setattr("lade_chat.engine.chat_engine.REMEMBER_SECONDS", 0.0)
    events_of(engine, "Hello.", max_new_tokens=2, lookahead=False)
    assert Cost.written == 2
    list(engine.handle(Job(load)))
    assert Cost.written > 2


def test_a_cost_that_lets_no_guess_pay_is_looked_at_again_after_a_reply(folder, monkeypatch):
    """It may have been measured while the machine was busy, and no live step would show it."""
    dear, measured = StepCost({1: 1.0, 2: 50.0}), StepCost({1: 1.0, 64: 1.1})
    checks = []
    monkeypatch.setattr("lade_chat.loading.saved_step_cost.saved_step_cost", lambda loaded: dear)
    monkeypatch.setattr("lade_chat.loading.findings_cache.write", lambda *entry: None)
    monkeypatch.setattr("decoding.still_holds", lambda model, cost, *, compiled: checks.append(cost))
    monkeypatch.setattr("decoding.measure_step_cost", lambda model, *, compiled: measured)
    engine = ChatEngine()
    list(engine.handle(Job(Load(ModelOptions(str(folder), device="cpu", dtype="float64")))))
    auto = msgspec.structs.replace(OPTIONS, sizes=None)
    for options in (
        OPTIONS,
        msgspec.structs.replace(auto, lookahead=False),
        msgspec.structs.replace(auto, max_new_tokens=5),
    ):
        assert isinstance(list(engine.handle(Job(Reply(user("one"), options))))[-1], ReplyFinished)
    assert not checks
    plain = list(engine.handle(Job(Reply(user("one"), auto))))
    assert not any(piece.origin != "plain" for piece in pieces_of(plain))
    assert checks == [dear]
    guessed = list(engine.handle(Job(Reply(user("one"), auto))))
    assert any(piece.origin != "plain" for piece in pieces_of(guessed))
    assert text_of(guessed) == text_of(plain)
    assert checks == [dear]


class Cost:
    """Stands for the measured curve, and counts how often it was written down."""

    written = 0
    is_rough = False

    def as_dict(self):
        Cost.written += 1
        return {"1": 0.001}
