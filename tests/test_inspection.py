"""A reply paused, stepped and inspected: what is told agrees with the reply, and the clock stands still meanwhile."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from queue import SimpleQueue

import pytest

from decoding import FinishReason
from lade_chat.engine.chat_engine import ChatEngine
from lade_chat.engine.inspector import Inspector
from lade_chat.engine.job import Job
from lade_chat.protocol.codec import decode_event, encode
from lade_chat.protocol.commands import Load, Reply
from lade_chat.protocol.events import Event, ReplyFinished, Tokens
from lade_chat.protocol.inspection import Inspection
from lade_chat.protocol.values import DecodingOptions, Message, ModelOptions, Sizes
from tests.checkpoints import edit_json, make_qwen2
from tests.costs import budgeted
from tests.models import successor_model

PATIENCE = 20.0
OPTIONS = DecodingOptions(sizes=Sizes(4, 4, 4), max_new_tokens=40)
QUESTION = (Message("user", "Tell me of the sea."),)


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> ChatEngine:
    folder = make_qwen2(tmp_path_factory.mktemp("qwen2"))
    edit_json(folder / "config.json", max_position_embeddings=4096)
    engine = ChatEngine()
    list(engine.handle(Job(Load(ModelOptions(str(folder), device="cpu", dtype="float32")))))
    return engine


class Running:
    """A reply that runs on a thread of its own, paused before its first step, and what it tells."""

    def __init__(
        self, engine: ChatEngine, question: tuple[Message, ...] = QUESTION, *, inspecting: bool = False
    ) -> None:
        self.job = Job(Reply(question, OPTIONS), inspecting=inspecting)
        self.job.pause()
        self.events: list[Event] = []
        self._told: SimpleQueue[Event | None] = SimpleQueue()

        def work() -> None:
            for event in engine.handle(self.job):
                self._told.put(event)
            self._told.put(None)

        self._thread = threading.Thread(target=work, daemon=True)
        self._thread.start()

    def tokens(self) -> Tokens:
        """The next batch."""
        while not isinstance(event := self._next(), Tokens):
            pass
        return event

    def rest(self) -> ReplyFinished:
        """All that is still told; the last of it."""
        while not isinstance(event := self._next(), ReplyFinished):
            pass
        self._thread.join(PATIENCE)
        return event

    def steps(self, count: int) -> Iterator[Tokens]:
        for _ in range(count):
            self.job.step_once()
            yield self.tokens()

    @property
    def text(self) -> str:
        told = (event for event in self.events if isinstance(event, Tokens))
        return "".join(piece.text for event in told for piece in event.pieces)

    def _next(self) -> Event:
        event = self._told.get(timeout=PATIENCE)
        assert event is not None
        self.events.append(event)
        return event


def whole(engine: ChatEngine) -> str:
    events = list(engine.handle(Job(Reply(QUESTION, OPTIONS))))
    return "".join(piece.text for event in events if isinstance(event, Tokens) for piece in event.pieces)


def test_a_paused_reply_takes_a_step_at_a_time_and_then_goes_on(engine: ChatEngine) -> None:
    running = Running(engine)
    for count, batch in enumerate(running.steps(5), start=1):
        assert batch.statistics.steps == count
        assert {piece.step for piece in batch.pieces} <= {count - 1}
    seconds = batch.statistics.seconds
    running.job.resume()
    end = running.rest()
    assert end.finish_reason == "length"
    assert end.statistics.generated_tokens == 40
    assert end.statistics.seconds > seconds
    assert running.text == whole(engine)


def test_the_clock_stands_still_while_a_reply_is_paused(engine: ChatEngine) -> None:
    running = Running(engine)
    (first,) = running.steps(1)
    running.job.inspect(True)
    told = running.tokens()
    running.job.inspect(False)
    assert told.statistics.seconds == first.statistics.seconds
    running.job.stop()
    assert running.rest().statistics.seconds == first.statistics.seconds


def test_a_paused_reply_can_be_stopped_and_the_next_one_is_not_paused(engine: ChatEngine) -> None:
    running = Running(engine)
    list(running.steps(2))
    running.job.stop()
    assert running.rest().finish_reason == "cancelled"
    assert len(whole(engine)) > len(running.text)


def test_lookahead_can_be_switched_while_a_reply_is_paused(engine: ChatEngine) -> None:
    running = Running(engine)
    list(running.steps(3))
    running.job.set_lookahead(False)
    assert all(len(batch.pieces) <= 1 for batch in running.steps(4))
    running.job.resume()
    running.rest()
    assert running.text == whole(engine)


def test_steps_are_inspected_only_on_request(engine: ChatEngine) -> None:
    running = Running(engine)
    assert all(batch.inspection is None for batch in running.steps(4))
    running.job.inspect(True)
    inspection = running.tokens().inspection
    assert isinstance(inspection, Inspection)
    assert inspection.step == 3
    assert all(batch.inspection is not None for batch in running.steps(2))
    running.job.inspect(False)
    assert all(batch.inspection is None for batch in running.steps(2))
    running.job.stop()
    running.rest()


def test_the_last_step_is_inspected_for_an_inspector_that_opens_later(engine: ChatEngine) -> None:
    events = list(engine.handle(Job(Reply((Message("user", "Tell me of the hills."),), OPTIONS))))
    batches = [event for event in events if isinstance(event, Tokens)]
    inspection = batches[-1].inspection
    assert all(batch.inspection is None for batch in batches[:-1])
    assert inspection is not None
    last = batches[-1].statistics
    assert inspection.step >= last.steps - 4  # the last one may have been plain
    assert inspection.window or inspection.candidates
    accepted = sum(sum(trials.accepted) for trials in inspection.trials)
    assert last.verified_tokens <= accepted <= last.verified_tokens + 4  # the last step may be cut short
    assert sum(count for _, count in last.verified_from) == last.verified_tokens > 0
    assert set(dict(last.verified_from)) <= {"trajectory", "context", "successor"}


def test_an_inspection_agrees_with_the_reply(engine: ChatEngine) -> None:
    running = Running(engine, (Message("user", "Read this from its start."),), inspecting=True)
    tried = accepted = 0
    for number, batch in enumerate(running.steps(16)):
        inspection = batch.inspection
        assert inspection is not None
        assert decode_event(encode(batch)) == batch
        assert inspection.step == number
        assert inspection.prompt == (number == 0)
        assert len(inspection.settled) == batch.statistics.generated_tokens - before(running, batch)
        if number == 0:
            continue
        path = [each.text for each in inspection.candidates if each.accepted]
        assert [*path, inspection.settled[-1]][: len(inspection.settled)] == list(inspection.settled)
        numbers = [0, *(i for i, each in enumerate(inspection.candidates, 1) if each.accepted)]
        assert [each.parent for each in inspection.candidates if each.accepted] == numbers[:-1]
        assert len(inspection.window) == min(number, 3)
        assert len(inspection.ngrams) == (4 if number >= 3 else 0)
        assert all(len(ngram) == 4 for ngram in inspection.ngrams)
        tried += sum(each.parent in numbers for each in inspection.candidates)
        accepted += len(path)
        assert sum(sum(trials.tried) for trials in inspection.trials) == tried
        assert sum(sum(trials.accepted) for trials in inspection.trials) == accepted
        assert inspection.costs == ()
    assert accepted > 0
    running.job.stop()
    running.rest()


def before(running: Running, batch: Tokens) -> int:
    """How many tokens there were before a batch."""
    told = [event for event in running.events if isinstance(event, Tokens) and event is not batch]
    return max((event.statistics.generated_tokens for event in told), default=0)


class TestPauses:
    def test_a_single_step_is_allowed_once(self) -> None:
        job = Job(Reply(QUESTION, OPTIONS))
        job.pause()
        assert not job.may_step()
        job.step_once()
        assert [job.may_step(), job.may_step()] == [True, False]
        job.resume()
        assert [job.may_step(), job.may_step()] == [True, True]

    def test_a_step_asked_for_without_a_pause_is_not_kept_for_one(self) -> None:
        job = Job(Reply(QUESTION, OPTIONS))
        job.step_once()
        job.pause()
        assert not job.may_step()

    def test_a_reply_may_be_asked_for_paused(self) -> None:
        assert not Job(Reply(QUESTION, OPTIONS, paused=True)).may_step()

    def test_a_waiting_reply_is_woken_by_every_control(self) -> None:
        for wish in ("step_once", "resume", "stop"):
            job = Job(Reply(QUESTION, OPTIONS))
            job.pause()
            waiting = threading.Thread(target=job.wait, daemon=True)
            waiting.start()
            getattr(job, wish)()
            waiting.join(PATIENCE)
            assert not waiting.is_alive()

    def test_a_reply_that_others_wait_for_is_not_paused(self) -> None:
        job = Job(Reply(QUESTION, OPTIONS))
        job.pause()
        job.allow_pause(False)
        assert job.may_step()
        job.pause()
        assert job.may_step()
        job.allow_pause(True)
        job.pause()
        assert not job.may_step()

    def test_a_load_is_neither_stopped_nor_paused(self) -> None:
        job = Job(Load(ModelOptions()))
        job.stop()
        job.pause()
        assert not job.stopped
        assert job.may_step()


class Numbers:
    """A tokenizer that writes ids as numbers."""

    def decode(self, ids: list[int]) -> str:
        return " ".join(map(str, ids))


def test_of_the_step_that_ends_a_reply_only_what_it_wrote_is_told_as_accepted() -> None:
    inspector = Inspector(Numbers())
    decoder = budgeted(successor_model({token: token + 1 for token in range(10, 30)}))
    prompt = [*range(10, 20), *range(10, 20), 10]
    for step in decoder.generate(prompt, max_new_tokens=9, eos_token_ids=[13], observe=inspector.observe):
        inspector.take(step)
        seen = inspector.last_speculative()
    assert step.finish_reason is FinishReason.EOS
    assert seen is not None
    assert seen.settled == ("12", "13")
    assert len(seen.candidates) > 2
    assert [each.text for each in seen.candidates if each.accepted] == ["12", "13"]
