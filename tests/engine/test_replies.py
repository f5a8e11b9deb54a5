"""The engine: commands in, events out, on a real checkpoint made on the spot."""

from __future__ import annotations

import json

import msgspec
import pytest
import transformers

from decoding import StepCost
from decoding.model.changes import survey
from lade_chat.cli.running.batch import read_batch, run_batch
from lade_chat.engine.chat_engine import ChatEngine
from lade_chat.engine.job import Job
from lade_chat.protocol.codec import decode_event, encode
from lade_chat.protocol.commands import Compare, Load, Reply
from lade_chat.protocol.events import (
    Failed,
    Loaded,
    LoadFailed,
    Prefilling,
    ReplyFinished,
    ReplyStarted,
    Tokens,
)
from lade_chat.protocol.values import Message, ModelOptions, Sizes
from tests.checkpoints import edit_json, make_bloom, make_mamba, make_qwen2
from tests.engine.talking import OPTIONS, events_of, pieces_of, text_of, user


def test_a_reply_starts_streams_and_finishes(engine):
    events = events_of(engine, "Tell me a story.")
    assert isinstance(events[0], ReplyStarted)
    assert isinstance(events[-1], ReplyFinished)
    assert events[-1].finish_reason == "length"
    pieces, statistics = pieces_of(events), events[-1].statistics
    assert len(pieces) == statistics.generated_tokens == 40
    assert [piece.step for piece in pieces] == sorted(piece.step for piece in pieces)
    assert pieces[-1].step == statistics.steps - 1
    assert statistics.verified_tokens == sum(piece.origin != "plain" for piece in pieces) > 0
    assert statistics.context_used == statistics.prompt_tokens + 40
    assert statistics.seconds > statistics.time_to_first_token > 0
    assert all(decode_event(encode(event)) == event for event in events)


def test_every_step_tells_when_it_ended(engine):
    events = events_of(engine, "Tell me a story.")
    ends = [end for event in events if isinstance(event, Tokens) for end in event.step_seconds]
    statistics = events[-1].statistics
    assert len(ends) == statistics.steps
    assert ends == sorted(ends)
    assert (ends[0], ends[-1]) == (statistics.time_to_first_token, statistics.seconds)


def test_lookahead_on_and_off_say_the_same(engine):
    on, off = events_of(engine, "Count to ten."), events_of(engine, "Count to ten.", lookahead=False)
    assert text_of(on) == text_of(off)
    assert [piece.id for piece in pieces_of(on)] == [piece.id for piece in pieces_of(off)]
    assert on[-1].statistics.steps < off[-1].statistics.steps == 40
    assert {piece.origin for piece in pieces_of(off)} == {"plain"}


def test_fixed_sizes_say_the_same_and_tell_what_was_in_force(engine):
    fixed = events_of(engine, "Count to ten.", sizes=Sizes(4, 3, 2))
    automatic = events_of(engine, "Count to ten.", sizes=None)
    assert text_of(fixed) == text_of(automatic)
    statistics = fixed[-1].statistics
    assert (statistics.window_size, statistics.ngram_size, statistics.sizes) == (4, 3, Sizes(4, 3, 2))
    assert statistics.forward_tokens > 1 + statistics.candidates
    assert automatic[-1].statistics.sizes is None


def test_a_window_in_a_short_context_is_refused_only_where_it_is_fixed(engine):
    assert isinstance(events_of(engine, "Hello.", sizes=Sizes(4090, 7))[-1], Failed)
    assert isinstance(events_of(engine, "Hello.", sizes=None, max_new_tokens=4)[-1], ReplyFinished)


def test_switched_in_mid_reply_it_takes_effect_and_the_text_stays(engine, monkeypatch):
    monkeypatch.setattr("lade_chat.engine.update_throttle.UPDATE_SECONDS", 0.0)  # every step is told at once
    expected = text_of(events_of(engine, "Write a poem.", max_new_tokens=120))
    events = []
    job = Job(Reply(user("Write a poem."), msgspec.structs.replace(OPTIONS, max_new_tokens=120)))
    for event in engine.handle(job):
        events.append(event)
        if isinstance(event, Tokens):
            job.set_lookahead(not job.lookahead)
    states = [event.statistics.lookahead for event in events if isinstance(event, Tokens)]
    assert text_of(events) == expected
    assert len(states) > 30
    assert states == [number % 2 == 0 for number in range(len(states))]
    assert any(piece.origin != "plain" for piece in pieces_of(events))


def test_stopped_it_keeps_the_text_so_far_and_the_next_reply_is_whole(engine):
    expected = text_of(events_of(engine, "Say something."))
    events = []
    job = Job(Reply(user("Say something."), OPTIONS))
    for event in engine.handle(job):
        events.append(event)
        job.stop()
    assert events[-1].finish_reason == "cancelled"
    assert expected.startswith(text_of(events))
    assert text_of(events_of(engine, "Say something.")) == expected


def test_a_second_turn_reuses_the_cache(engine):
    first = text_of(events_of(engine, "Hello there."))
    turns = (*user("Hello there."), Message("assistant", first), Message("user", "And then?"))
    events = list(engine.handle(Job(Reply(turns, OPTIONS))))
    assert events[0].reused_tokens > 5
    assert isinstance(events[-1], ReplyFinished)


def test_a_long_prompt_tells_how_far_it_is_read(engine):
    events = events_of(engine, "word " * 800, max_new_tokens=2)
    prefilling = [event for event in events if isinstance(event, Prefilling)]
    assert [event.done for event in prefilling] == sorted({event.done for event in prefilling})
    assert prefilling
    assert events[-1].statistics.time_to_first_token > 0


def test_debug_measures_a_plain_step(engine):
    statistics = events_of(engine, "Hello.", debug=True)[-1].statistics
    assert statistics.plain_step_seconds > 0
    assert statistics.speedup > 0
    assert sum(statistics.accepted_runs) == statistics.steps - 1


def test_an_empty_prompt_fails_in_one_line_and_the_engine_goes_on(engine):
    (event,) = events_of(engine, "   ")
    assert isinstance(event, Failed)
    assert "\n" not in event.message
    assert isinstance(events_of(engine, "Hello.")[-1], ReplyFinished)


def test_a_window_wider_than_the_context_is_refused(engine):
    (event,) = events_of(engine, "Hello.", sizes=Sizes(window_size=100_000))
    assert isinstance(event, Failed)
    assert "W" in event.message
    assert "\n" not in event.message


def test_a_path_that_is_plainly_wrong_leaves_the_model_in_place(engine, tmp_path):
    expected = text_of(events_of(engine, "Still there?"))
    *_, event = engine.handle(Job(Load(ModelOptions(str(tmp_path / "nowhere")))))
    assert isinstance(event, LoadFailed)
    assert event.kept
    assert text_of(events_of(engine, "Still there?")) == expected


def test_without_a_model_nothing_can_be_answered():
    (event,) = ChatEngine().handle(Job(Reply(user("Hello."), OPTIONS)))
    assert isinstance(event, Failed)


def test_a_model_that_is_not_there_fails_to_load_in_one_line(tmp_path):
    *_, event = ChatEngine().handle(Job(Load(ModelOptions(str(tmp_path / "nothing")))))
    assert isinstance(event, LoadFailed)
    assert "nothing" in event.message


def test_out_of_memory_ends_the_reply_and_not_the_conversation(engine, monkeypatch):
    expected = text_of(events_of(engine, "Memory."))
    calls, whole = iter(range(100)), transformers.Qwen2ForCausalLM.forward

    def forward(model, *args, **kwargs):
        if next(calls) == 3:
            raise RuntimeError(
                "[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried to allocate 8 bytes"
            )
        return whole(model, *args, **kwargs)

    monkeypatch.setattr(transformers.Qwen2ForCausalLM, "forward", forward)
    events = events_of(engine, "Memory.", lookahead=False)
    assert isinstance(events[-1], Failed)
    assert "memory" in events[-1].message
    monkeypatch.undo()
    assert text_of(events_of(engine, "Memory.")) == expected


@pytest.mark.parametrize("make", [make_mamba, make_bloom])
def test_models_it_cannot_serve_chat_plainly_and_say_why(make, tmp_path):
    engine = ChatEngine()
    *_, loaded = engine.handle(Job(Load(ModelOptions(str(make(tmp_path)), device="cpu", dtype="float32"))))
    assert isinstance(loaded, Loaded)
    assert not loaded.model.lookahead_supported
    assert any("Lookahead is off" in notice for notice in loaded.model.notices)
    events = events_of(engine, "Hello.", max_new_tokens=8, debug=True)
    assert events[-1].statistics.generated_tokens > 0
    assert not events[-1].statistics.lookahead
    assert {piece.origin for piece in pieces_of(events)} == {"plain"}
    (refused,) = engine.handle(Job(Compare(user("Hello."), OPTIONS)))
    assert isinstance(refused, Failed)


@pytest.mark.parametrize("sizes", [None, Sizes(3, 3, 3)])
def test_what_a_step_costs_is_measured_behind_the_first_token_where_sizes_follow_from_it(folder, monkeypatch, sizes):
    seen, costs = [], []
    monkeypatch.setattr("lade_chat.loading.saved_step_cost.saved_step_cost", lambda loaded: None)
    monkeypatch.setattr(
        "decoding.measure_step_cost",
        lambda model, *, compiled: costs.append(len(seen)) or StepCost({1: 1.0, 64: 1.1}),
    )
    engine, options = ChatEngine(), ModelOptions(str(folder), device="cpu", dtype="float64")
    list(engine.handle(Job(Load(options))))
    assert not costs
    texts = []
    for _ in range(2):
        events = []
        for event in engine.handle(Job(Reply(user("one"), msgspec.structs.replace(OPTIONS, sizes=sizes)))):
            events.append(event)
            seen.extend(pieces_of([event]))
        texts.append(text_of(events))
    assert costs == ([1] if sizes is None else [])
    assert texts[0] == texts[1]


def test_a_full_context_is_read_anew_once_in_many_turns(tmp_path):
    folder = make_qwen2(tmp_path)
    edit_json(folder / "config.json", max_position_embeddings=1536)
    engine = ChatEngine()
    list(engine.handle(Job(Load(ModelOptions(str(folder), device="cpu", dtype="float64")))))
    options = msgspec.structs.replace(OPTIONS, max_new_tokens=2, lookahead=False)
    messages = [m for n in range(40) for m in (Message("user", f"What is {n} plus 1?"), Message("assistant", "A lot."))]
    shares = []
    while len(shares) < 40:
        messages.append(Message("user", f"What is {len(messages)} plus 1?"))
        events = list(engine.handle(Job(Reply(tuple(messages), options))))
        messages.append(Message("assistant", text_of(events) or "Nothing."))
        started = events[0]
        if started.dropped_messages:
            shares.append(started.reused_tokens / started.prompt_tokens)
    assert sum(share >= 0.7 for share in shares) >= 36


def test_a_token_that_the_model_has_no_row_for_is_named(tmp_path):
    """A tokenizer may have been given tokens, and the model no embeddings for them."""
    folder = make_qwen2(tmp_path)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    added = [f"[tool{n}]" for n in range(600)]
    tokenizer.add_tokens(added)
    tokenizer.save_pretrained(folder)
    prompts = tmp_path / "prompts.txt"
    prompts.write_text(f"one\nUse {added[-1]} now.\ntwo\n")
    output = tmp_path / "answers.jsonl"
    options = ModelOptions(str(folder), device="cpu", dtype="float64")
    short = msgspec.structs.replace(OPTIONS, max_new_tokens=2)
    assert run_batch(read_batch(prompts, None), output, options, short) == 1
    first, broken, last = (json.loads(line) for line in output.read_text().splitlines())
    assert f"The prompt has the token '{added[-1]}'" in broken["error"]
    assert "error" not in first
    assert "error" not in last


def test_a_reply_looks_at_the_model_once_however_often_lookahead_is_switched(engine, monkeypatch):
    events_of(engine, "Switch.")
    surveys = []
    monkeypatch.setattr("decoding.runner.survey", lambda model: surveys.append(model) or survey(model))
    job, enabled = Job(Reply(user("Switch."), OPTIONS)), True
    for event in engine.handle(job):
        if isinstance(event, Tokens):
            job.set_lookahead(enabled := not enabled)
    assert event.statistics.switches
    assert len(surveys) == 1
