"""The steps behind `lade-chat explain`: real ones, told as they were taken; and the command line in front of them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from lade_chat.engine.chat_engine import ChatEngine
from lade_chat.engine.job import Job
from lade_chat.engine.tutorial import MAX_NEW_TOKENS
from lade_chat.protocol.codec import decode_command, decode_event, encode
from lade_chat.protocol.commands import Compare, Explain, Load, Reply
from lade_chat.protocol.events import Event, Failed, Loaded, ReplyFinished, ReplyStarted, Tokens
from lade_chat.protocol.tutorial import (
    Beginning,
    Collection,
    ComparedSteps,
    Comparison,
    Convergence,
    Explained,
    ExplainFinished,
    Mask,
    ReplyToken,
    Verification,
)
from lade_chat.protocol.values import DecodingOptions, Message, MethodSpec, ModelOptions, Sizes
from tests.checkpoints import edit_json, make_mamba, make_qwen2
from tests.tui.driving import wait_until
from tests.tui.explained import explaining, pages, said, sees
from tests.tui.scripted import ScriptedEngine

QUESTION = "def adds(x): return x + 1. Ada counts apples. Ada counts apples."


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = make_qwen2(tmp_path_factory.mktemp("qwen2"))
    edit_json(folder / "config.json", max_position_embeddings=4096)
    return folder


@pytest.fixture(scope="module")
def engine(folder: Path) -> ChatEngine:
    return loaded(folder)


@pytest.fixture(scope="module")
def events(engine: ChatEngine) -> list[Event]:
    return list(engine.handle(Job(Explain((Message("user", QUESTION),)))))


def loaded(folder: Path) -> ChatEngine:
    engine = ChatEngine()
    options = ModelOptions(str(folder), device="cpu", dtype="float64", step_cost=False)
    assert isinstance(list(engine.handle(Job(Load(options))))[-1], Loaded)
    return engine


def text_of(events: list[Event]) -> str:
    return "".join(piece.text for event in events if isinstance(event, Tokens) for piece in event.pieces)


def walk(events: list[Event], kind: type) -> object:
    return next(event.chapter for event in events if isinstance(event, Explained) and isinstance(event.chapter, kind))


def masks(events: list[Event]) -> Iterator[Mask]:
    convergence, collection = walk(events, Convergence), walk(events, Collection)
    assert isinstance(convergence, Convergence)
    assert isinstance(collection, Collection)
    yield from (each.mask for each in (*convergence.iterations, *collection.steps))


def test_the_walks_come_in_order_and_travel_as_lines(events: list[Event]) -> None:
    kinds = [type(event.chapter) for event in events[:-1] if isinstance(event, Explained)]
    assert kinds == [Beginning, Convergence, Collection, Verification, Comparison]
    assert isinstance(events[-1], ExplainFinished)
    assert [decode_event(encode(event)) for event in events] == events
    command = Explain((Message("user", QUESTION),))
    assert decode_command(encode(command)) == command


def test_the_steps_just_raced_are_those_explained(engine: ChatEngine) -> None:
    question = (Message("user", QUESTION),)
    fixed = MethodSpec("lookahead-fixed", Sizes(4, 4, 3))
    raced = list(engine.handle(Job(Compare(question, DecodingOptions(max_new_tokens=40), MethodSpec("plain"), fixed))))
    told = list(engine.handle(Job(Explain(question, raced=True))))
    steps, verification, comparison = (walk(told, kind) for kind in (ComparedSteps, Verification, Comparison))
    assert isinstance(steps, ComparedSteps)
    assert isinstance(verification, Verification)
    assert isinstance(comparison, Comparison)
    (right,) = (event for event in raced if isinstance(event, ReplyFinished) and event.side == "right")
    written = [
        piece for event in raced if isinstance(event, Tokens) and event.side == "right" for piece in event.pieces
    ]
    assert [token for step in steps.steps for token in step] == [ReplyToken(each.text, each.origin) for each in written]
    assert len(steps.steps) == right.statistics.steps < steps.other_steps
    assert len(steps.steps[steps.best - 1]) == max(map(len, steps.steps)) > 1
    assert verification.number == steps.best
    assert verification.before == "".join(token.text for step in steps.steps[: steps.best - 1] for token in step)
    assert comparison.identical
    job = Job(Compare(question, DecodingOptions(max_new_tokens=40), MethodSpec("plain"), fixed))
    for event in engine.handle(job):
        if isinstance(event, Tokens) and event.statistics.generated_tokens > 20:
            job.stop()
    told = list(engine.handle(Job(Explain(question, raced=True))))
    steps, comparison = (walk(told, kind) for kind in (ComparedSteps, Comparison))
    assert isinstance(steps, ComparedSteps)
    assert isinstance(comparison, Comparison)
    assert steps.stopped
    assert comparison.identical
    assert 0 < len(comparison.lookahead) < 40
    again = list(engine.handle(Job(Explain((Message("user", "Another."),), raced=True))))
    assert again == [Failed("The steps of this race are not kept any more: race again.")]


def test_a_race_stopped_before_its_first_step_has_nothing_to_explain(engine: ChatEngine) -> None:
    question = (Message("user", QUESTION),)
    job = Job(Compare(question, DecodingOptions(max_new_tokens=8)))
    for event in engine.handle(job):
        if isinstance(event, ReplyStarted):
            job.stop()
    told = list(engine.handle(Job(Explain(question, raced=True))))
    assert told == [Failed("The race was stopped before both sides had taken a step: race again.")]


def test_what_settles_is_what_both_ways_write(events: list[Event]) -> None:
    convergence, comparison = walk(events, Convergence), walk(events, Comparison)
    assert isinstance(convergence, Convergence)
    assert isinstance(comparison, Comparison)
    assert comparison.identical
    assert comparison.lookahead_steps <= comparison.plain_steps == len(comparison.lookahead)
    settled = [token for each in convergence.iterations for token in each.chosen[: each.settled]]
    # The prompt itself yields the reply's first token; the block begins behind it.
    assert convergence.begun.strip() == comparison.lookahead[0].text.strip()
    assert convergence.prompt_tokens == convergence.iterations[0].mask.cached
    assert convergence.template
    written = [token.text for token in comparison.lookahead][1 : 1 + len(settled)]
    assert "".join(settled).split() == "".join(written).split()


def test_each_step_but_one_that_ends_with_a_guess_adds_a_token_of_its_own(events: list[Event]) -> None:
    comparison = walk(events, Comparison)
    assert isinstance(comparison, Comparison)
    own = sum(token.origin == "plain" for token in comparison.lookahead)
    assert own == comparison.lookahead_steps - (comparison.lookahead[-1].origin != "plain")
    assert comparison.ended == (len(comparison.lookahead) < MAX_NEW_TOKENS)


def test_each_iteration_guesses_the_previous_result(events: list[Event]) -> None:
    convergence = walk(events, Convergence)
    assert isinstance(convergence, Convergence)
    iterations = convergence.iterations
    for before, after in pairwise(iterations):
        assert after.guesses == before.chosen[before.settled :][: len(after.guesses)]
        assert before.settled >= 1
        # As far as it is settled, all but the last was guessed.
        assert before.guesses[: before.settled - 1] == before.chosen[: before.settled - 1]


def test_the_window_grows_a_row_a_step_and_then_yields_n_grams_twice(events: list[Event]) -> None:
    collection = walk(events, Collection)
    assert isinstance(collection, Collection)
    rows = [step.inspection.window for step in collection.steps]
    assert [len(each) for each in rows] == [1, 2, 3, 3]
    assert [len(step.inspection.ngrams) for step in collection.steps] == [0, 0, 4, 4]
    assert rows[3] == (*rows[2][1:], collection.steps[2].inspection.new_row)


def test_what_is_accepted_is_what_the_model_chose_there(events: list[Event]) -> None:
    verification = walk(events, Verification)
    assert isinstance(verification, Verification)
    assert verification.step is not None
    step = verification.step
    candidates, place = step.inspection.candidates, 0
    for number, candidate in enumerate(candidates, start=1):
        if candidate.accepted:
            assert candidate.parent == place
            assert candidate.text == step.chosen[place]
            place = number
    assert all(each.text != step.chosen[place] for each in candidates if each.parent == place)
    assert step.inspection.settled[-1] == step.chosen[place]
    assert len(step.inspection.settled) == 1 + sum(candidate.accepted for candidate in candidates)


def test_the_masks_are_those_of_the_steps(events: list[Event]) -> None:
    for mask in masks(events):
        sizes = dict(mask.groups)
        total = sum(sizes.values())
        assert len(mask.rows) == total
        assert all(len(row) == total for row in mask.rows)
        # Everybody sees the last token and itself; nobody before the window sees the window.
        assert all(row[0] == row[number] == "x" for number, row in enumerate(mask.rows))
        window = sizes.get("window", 0)
        assert all("x" not in row[total - window :] for row in mask.rows[: total - window]) or not window
        if "guesses" in sizes:
            assert mask.rows == tuple("x" * (number + 1) + "." * (total - number - 1) for number in range(total))


def test_the_conversation_knows_nothing_of_it(folder: Path) -> None:
    engine = loaded(folder)
    question = Reply((Message("user", "Hello"),), DecodingOptions(sizes=Sizes(), max_new_tokens=12))
    first = list(engine.handle(Job(question)))
    list(engine.handle(Job(Explain((Message("user", QUESTION),)))))
    again = list(engine.handle(Job(question)))
    assert text_of(again) == text_of(first)
    assert isinstance(again[0], ReplyStarted)
    assert again[0].reused_tokens == again[0].prompt_tokens - 1


def test_stopped_it_ends_within_a_step_and_the_next_one_runs(engine: ChatEngine) -> None:
    told = []
    job = Job(Explain((Message("user", QUESTION),)))
    for event in engine.handle(job):
        told.append(event)
        if isinstance(event, Explained) and isinstance(event.chapter, Convergence):
            job.stop()
    assert [type(event) for event in told] == [Explained, Explained, ExplainFinished]
    assert isinstance(list(engine.handle(Job(Explain((Message("user", QUESTION),)))))[-1], ExplainFinished)


def test_a_model_that_lookahead_cannot_serve_is_reported_in_one_line(tmp_path: Path) -> None:
    events = list(loaded(make_mamba(tmp_path)).handle(Job(Explain((Message("user", "Hello"),)))))
    assert len(events) == 1
    assert isinstance(events[0], Failed)
    assert "Lookahead cannot serve" in events[0].message


async def test_the_space_bar_alone_leads_through_the_steps_of_a_real_model(events: list[Event]) -> None:
    async with explaining(ScriptedEngine(), events=events) as (app, pilot):
        await sees(pilot, "words, or pieces of words")
        told = " ".join(said(await pages(pilot)))
        await wait_until(pilot, lambda: not app.is_running)
    for words in ("Guesses settle", "is an n-gram", "A guess is right if", "Both wrote the same, token for token"):
        assert words in told
