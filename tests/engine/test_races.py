"""A race in the engine: two methods with one text."""

from __future__ import annotations

import pytest

from lade_chat.engine.job import Job
from lade_chat.protocol.commands import Compare, Reply
from lade_chat.protocol.events import (
    ComparisonFinished,
    ReplyFinished,
)
from lade_chat.protocol.values import Message
from tests.engine.talking import OPTIONS, events_of, text_of, user


class TestRace:
    @pytest.fixture(scope="class")
    def events(self, engine):
        return list(engine.handle(Job(Compare(user("Tell me of the sea."), OPTIONS))))

    def test_both_sides_say_the_same_and_each_has_its_own_clock(self, events, engine):
        finished = {event.side: event for event in events if isinstance(event, ReplyFinished)}
        assert set(finished) == {"left", "right"}
        assert finished["left"].statistics.lookahead
        assert not finished["right"].statistics.lookahead
        assert finished["left"].statistics.steps < finished["right"].statistics.steps
        last = events[-1]
        assert isinstance(last, ComparisonFinished)
        assert last.identical
        assert last.difference is None
        ratio = finished["right"].statistics.seconds / finished["left"].statistics.seconds
        assert last.speedup == pytest.approx(ratio)
        assert text_of(events, "left") == text_of(events, "right") == text_of(events_of(engine, "Tell me of the sea."))

    def test_it_leaves_the_conversation_alone(self, engine):
        reused = {}
        for raced in (False, True):
            said = text_of(events_of(engine, "Before the race."))
            if raced:
                list(engine.handle(Job(Compare(user("Another."), OPTIONS))))
            turns = (*user("Before the race."), Message("assistant", said), Message("user", "And after?"))
            started, *_ = engine.handle(Job(Reply(turns, OPTIONS)))
            reused[raced] = started.reused_tokens
        assert reused[True] == reused[False] > 20

    def test_over_the_last_turn_nothing_has_seen_the_answer(self, engine):
        turn = "Raced before, raced after."
        fresh = list(engine.handle(Job(Compare(user(turn), OPTIONS))))
        events_of(engine, turn)
        again = list(engine.handle(Job(Compare(user(turn), OPTIONS))))
        steps = [
            event.statistics.steps
            for events in (fresh, again)
            for event in events
            if isinstance(event, ReplyFinished) and event.side == "left"
        ]
        assert steps[0] == steps[1]

    def test_it_can_be_stopped(self, engine):
        events = []
        job = Job(Compare(user("Stop me."), OPTIONS))
        for event in engine.handle(job):
            events.append(event)
            job.stop()
        assert {event.finish_reason for event in events if isinstance(event, ReplyFinished)} == {"cancelled"}
        assert isinstance(events[-1], ComparisonFinished)
