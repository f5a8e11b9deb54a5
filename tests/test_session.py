"""What outlives a step: the cache is the committed prefix, and whoever stops may go on, with any decoder."""

from __future__ import annotations

import pytest

from decoding import (
    AutoregressiveDecoder,
    LookaheadConfig,
    LookaheadDecoder,
    Origin,
    Session,
    plain_step_seconds,
    prefill,
)
from decoding.model.changes import survey
from tests.costs import NEARLY_FREE, budgeted
from tests.models import (
    CONFIGS,
    assert_cache_is_the_prefix,
    hf_greedy,
    random_model,
    random_prompt,
    tokens_of,
)
from tests.pairs import LONG, in_turn, pairs


@pytest.mark.parametrize("family", [f for f in CONFIGS if f != "llama4-chunked"][:: 1 if LONG else 2])
def test_after_every_step_the_cache_is_the_committed_prefix(family):
    model = random_model(family)
    decoders = LookaheadDecoder(model, LookaheadConfig(5, 4, 5)), budgeted(model, NEARLY_FREE)
    for decoder in in_turn(decoders, [*CONFIGS].index(family)):
        session, steps = Session(model), []
        for step in decoder.generate(random_prompt(19), max_new_tokens=16, session=session):
            steps.append(step)
            assert_cache_is_the_prefix(session)
        assert sum(step.accepted for step in steps) > 0
        assert any(step.window_size for step in steps)


def test_closed_at_any_step_and_resumed_the_text_is_the_same():
    model, prompt = random_model("llama", layers=1), random_prompt(19)
    expected = hf_greedy(model, prompt, 30)
    for stop_after in range(1, 8):
        session, said = Session(model), []
        steps = budgeted(model).generate(prompt, max_new_tokens=30, session=session)
        for _ in range(stop_after):
            said += next(steps).tokens
        steps.close()
        said += tokens_of(budgeted(model).generate(session.ids, max_new_tokens=30 - len(said), session=session))
        assert said == expected
        assert session.ids == [*prompt, *expected]
        assert session.emitted == 30


def test_one_decoder_goes_on_where_another_left_off():
    model, prompt = random_model("mistral", layers=1), random_prompt(19)
    session, said = Session(model), []
    decoders = [
        budgeted(model),
        AutoregressiveDecoder(model),
        LookaheadDecoder(model, LookaheadConfig(2, 3, 2)),
    ]
    for turn in range(100):
        if len(said) == 40:
            break
        steps = decoders[turn % 3].generate(session.ids or prompt, max_new_tokens=40 - len(said), session=session)
        for _ in range(3):
            said += next(steps, None).tokens if len(said) < 40 else ()
        steps.close()
    assert said == hf_greedy(model, prompt, 40)


def test_going_on_reads_nothing_again():
    model, session = random_model("llama", layers=1), None
    session = Session(model)
    list(budgeted(model).generate(random_prompt(30), max_new_tokens=5, session=session))
    step = next(budgeted(model).generate(session.ids, max_new_tokens=5, session=session))
    assert not step.prefill
    turn = [*session.ids, *random_prompt(6, seed=4)]
    already = session.reusable(turn)
    step = next(budgeted(model).generate(turn, max_new_tokens=5, session=session))
    assert step.prefill
    assert step.forward_tokens == len(turn) - already < 10


@pytest.mark.parametrize("plainly", [False, True])
def test_the_text_of_a_session_is_gone_on_with_without_a_look_at_the_model(monkeypatch, plainly):
    model, prompt, surveys = random_model("llama", layers=1), random_prompt(600), []
    lookahead, plain = LookaheadDecoder(model, LookaheadConfig(4, 3, 4)), AutoregressiveDecoder(model)
    monkeypatch.setattr("decoding.runner.survey", lambda of: surveys.append(of) or survey(of))
    session = Session(model).copy()
    list(prefill(session, prompt))
    said = [*(plain if plainly else lookahead).generate(None, max_new_tokens=3, session=session)]
    said += (lookahead if plainly else plain).generate(None, max_new_tokens=5, session=session)
    assert tokens_of(said) == hf_greedy(model, prompt, len(tokens_of(said)))
    assert said[0].forward_tokens == 600 - 512
    assert len(surveys) == 1
    model.lm_head.weight.data.mul_(-1)
    (changed,) = plain.generate(session.ids, max_new_tokens=1, session=session)
    assert changed.tokens == (hf_greedy(model, session.ids[:-1], 1)[0],)
    with pytest.raises(ValueError, match="input_ids must be token ids"):
        plain.generate(None, max_new_tokens=1)


@pytest.mark.parametrize("family", ["llama", "mistral", "gemma2"])
def test_another_text_keeps_the_common_prefix_and_the_tables(family):
    """Sliding layers too can be rewound past their window."""
    model, session = random_model(family), Session(random_model(family))
    model = session.model
    prompt = random_prompt(40)
    decoder = LookaheadDecoder(model, LookaheadConfig())
    list(decoder.generate(prompt, max_new_tokens=30, session=session))
    pool, context = len(session.tables[Origin.TRAJECTORY]), len(session.tables[Origin.CONTEXT])
    for other in ([*prompt[:14], *random_prompt(8, seed=5)], prompt[:14], random_prompt(9, seed=6)):
        steps = decoder.generate(other, max_new_tokens=12, session=session)
        assert tokens_of(steps) == hf_greedy(model, other, 12)
        assert len(session.tables[Origin.TRAJECTORY]) >= pool > 0
        assert len(session.tables[Origin.CONTEXT]) > context
        assert session.emitted == 12


class BrokenError(RuntimeError):
    pass


@pytest.mark.parametrize(("family", "layer"), pairs(["llama", "gemma2"], [0, 1]))
def test_a_layer_that_raises_leaves_the_session_as_it_was(family, layer):
    model = random_model(family)
    prompt = random_prompt(19)
    expected = hf_greedy(model, prompt, 30)
    session, said = Session(model), []
    steps = budgeted(model).generate(prompt, max_new_tokens=30, session=session)
    for _ in range(4):
        said += next(steps).tokens

    def raise_broken(*_):
        raise BrokenError

    hook = model.model.layers[layer].self_attn.register_forward_hook(raise_broken)
    with pytest.raises(BrokenError):
        next(steps)
    hook.remove()
    assert session.ids == [*prompt, *said]
    assert_cache_is_the_prefix(session)
    said += tokens_of(budgeted(model).generate(session.ids, max_new_tokens=30 - len(said), session=session))
    assert said == expected


@pytest.mark.parametrize("family", ["llama", "mamba"])
def test_a_processor_that_raises_leaves_no_trace_in_the_session(family):
    model, prompt = random_model(family), random_prompt(9) * 2
    expected = hf_greedy(model, prompt, 16)

    def raising(ids, scores):
        if ids.shape[1] > len(prompt) + 4:
            raise ZeroDivisionError
        return scores

    for decoder in (budgeted(model, NEARLY_FREE), LookaheadDecoder(model, LookaheadConfig(5, 4, 5))):
        session = Session(model)
        with pytest.raises(ZeroDivisionError):
            tokens_of(decoder.generate(prompt, max_new_tokens=16, session=session, logits_processor=[raising]))
        assert session.cached in (len(session.ids) - 1, 0)
        if family == "llama":
            assert_cache_is_the_prefix(session)
        left = 16 - len(session.ids) + len(prompt)
        tokens_of(decoder.generate(session.ids, max_new_tokens=left, session=session))
        assert session.ids == [*prompt, *expected]


def test_a_session_made_empty_is_as_a_fresh_one():
    model, prompt = random_model("llama", layers=1), random_prompt(19)
    session = Session(model)
    tokens_of(LookaheadDecoder(model, LookaheadConfig(4, 3, 4)).generate(prompt, max_new_tokens=5, session=session))
    assert session.reusable([]) == 0
    session.sync([])
    assert (session.ids, session.cached) == ([], 0)
    said = tokens_of(AutoregressiveDecoder(model).generate(prompt, max_new_tokens=8, session=session))
    assert said == hf_greedy(model, prompt, 8)


def test_a_prompt_is_read_in_chunks_that_can_be_stopped_and_taken_up_again():
    model, prompt, read = random_model("llama", layers=1), random_prompt(1400), []
    session = Session(model)
    stop_after_first = lambda: len(read) >= 1  # noqa: E731
    steps = budgeted(model).generate(
        prompt,
        max_new_tokens=5,
        session=session,
        on_prefill=lambda done, total: read.append((done, total)),
        should_stop=stop_after_first,
    )
    assert list(steps) == []
    assert read == [(512, 1400)]
    assert session.cached == 512
    assert list(prefill(session, prompt)) == [1024]
    steps = budgeted(model).generate(prompt, max_new_tokens=5, session=session)
    assert tokens_of(steps) == hf_greedy(model, prompt, 5)


@pytest.mark.parametrize("length", [512, 513, 514, 1025])
def test_the_first_step_of_a_prompt_is_its_prefill_however_chunks_divide_it(length):
    read = []
    steps = AutoregressiveDecoder(random_model("llama", layers=1)).generate(
        random_prompt(length), max_new_tokens=2, on_prefill=lambda done, total: read.append(done)
    )
    assert [step.prefill for step in steps] == [True, False]
    assert read[-1] == length


def test_a_copy_lives_a_life_of_its_own():
    model, prompt = random_model("llama", layers=1), random_prompt(19)
    session = Session(model)
    steps = budgeted(model).generate(prompt, max_new_tokens=30, session=session)
    said = [*next(steps).tokens, *next(steps).tokens]
    other = session.copy()
    rest = tokens_of(steps)
    again = tokens_of(budgeted(model).generate(other.ids, max_new_tokens=30 - len(said), session=other))
    assert [*said, *rest] == [*said, *again] == hf_greedy(model, prompt, 30)


def test_measuring_a_plain_step_changes_nothing():
    model, prompt = random_model("llama", layers=1), random_prompt(19)
    session = Session(model)
    assert plain_step_seconds(session) is None
    steps = budgeted(model).generate(prompt, max_new_tokens=30, session=session)
    said = list(next(steps).tokens)
    assert plain_step_seconds(session) > 0
    assert_cache_is_the_prefix(session)
    assert [*said, *tokens_of(steps)] == hf_greedy(model, prompt, 30)


def test_a_measurement_that_is_interrupted_changes_nothing(monkeypatch):
    model, prompt, clock = random_model("llama", layers=1), random_prompt(19), iter([0.0])

    def interrupted():
        for now in clock:
            return now
        raise KeyboardInterrupt

    session = Session(model)
    steps = budgeted(model).generate(prompt, max_new_tokens=30, session=session)
    said = list(next(steps).tokens)
    monkeypatch.setattr("decoding.plain_step.perf_counter", interrupted)
    with pytest.raises(KeyboardInterrupt):
        plain_step_seconds(session)
    monkeypatch.undo()
    assert_cache_is_the_prefix(session)
    assert [*said, *tokens_of(steps)] == hf_greedy(model, prompt, 30)


def test_the_session_of_another_model_is_refused():
    with pytest.raises(ValueError, match="another model"):
        LookaheadDecoder(random_model("llama", layers=1)).generate(
            [1, 2], max_new_tokens=1, session=Session(random_model("llama", layers=1))
        )


def test_a_session_serves_one_generation_at_a_time():
    model = random_model("llama", layers=1)
    session = Session(model)
    first = budgeted(model).generate(random_prompt(9), max_new_tokens=20, session=session)
    next(first)
    second = budgeted(model).generate(random_prompt(7, seed=8), max_new_tokens=20, session=session)
    next(second)
    with pytest.raises(RuntimeError, match="moved on"):
        next(first)
    assert tokens_of(second)[-1:] == hf_greedy(model, random_prompt(7, seed=8), 20)[-1:]
