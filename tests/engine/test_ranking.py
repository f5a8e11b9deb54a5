"""The likeliest tokens at a place of a reply are the model's own, and asking about them changes no text."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from lade_chat.engine.job import Job
from lade_chat.engine.prompt_builder import prompt_for
from lade_chat.presentation.thought_splitter import split_reply
from lade_chat.protocol.commands import RankTokens, Reply
from lade_chat.protocol.events import Event, Tokens, TokensRanked
from lade_chat.protocol.inspection import RankedToken
from lade_chat.protocol.values import DecodingOptions, Message, Sampling
from tests.checkpoints import make_qwen2
from tests.engine.talking import pieces_of, text_of
from tests.speaking import loaded_engine, make_speaking, reply_to
from tests.thinkers import FAMILIES

QUESTION = (Message("user", "Who keeps apples?"),)


def ranked(engine, text: str, own: int = -1, **options: object) -> tuple[RankedToken, ...]:
    begun = (Message("assistant", text),) if text else ()
    (event,) = engine.handle(Job(RankTokens((*QUESTION, *begun), DecodingOptions(**options), own, 3)))
    assert isinstance(event, TokensRanked), event
    assert event.place == 3
    return event.tokens


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory):
    return loaded_engine(make_qwen2(tmp_path_factory.mktemp("ranking")))


def test_the_five_likeliest_are_those_of_a_forward_pass_whatever_the_sampling(engine) -> None:
    prompt = prompt_for(engine.loaded, QUESTION, 8).ids
    with torch.no_grad():
        expected = engine.loaded.model(torch.tensor([prompt])).logits[0, -1].softmax(-1)
    own = int(expected.argmin())
    for sampling in (None, Sampling(temperature=0.1, top_k=1, seed=0)):
        *five, last = ranked(engine, "", own, sampling=sampling)
        assert [token.id for token in five] == expected.topk(5).indices.tolist()
        assert [token.rank for token in five] == [1, 2, 3, 4, 5]
        assert (last.id, last.rank) == (own, len(expected))
        for token in (*five, last):
            assert token.probability == pytest.approx(float(expected[token.id]), rel=1e-5)


def test_the_reply_s_own_token_is_the_likeliest_at_each_place_and_the_next_reply_stays_the_same(tmp_path: Path) -> None:
    family = FAMILIES["seed"]
    engine = loaded_engine(make_speaking(tmp_path, family.tokenizer(), QUESTION, family.said))
    before = reply_to(engine, QUESTION)
    text = ""
    for piece in filter(lambda piece: piece.text, pieces_of(before)):
        assert ranked(engine, text, piece.id)[0].id == piece.id
        text += piece.text
    assert text_of(reply_to(engine, QUESTION)) == text_of(before)


def test_a_reply_that_waits_tells_what_may_follow_whole_characters_and_goes_on_as_without(tmp_path: Path) -> None:
    engine = loaded_engine(make_speaking(tmp_path, FAMILIES["seed"].tokenizer(), QUESTION, "N🙂.<seed:eos>"))
    job = Job(Reply(QUESTION, DecodingOptions(lookahead=False), paused=True), inspecting=True)
    said: list[Event] = []
    told: dict[int, int] = {}
    job.step_once()
    for event in engine.handle(job):
        said.append(event)
        if isinstance(event, Tokens) and (step := event.inspection) is not None and step.step not in told:
            told[step.step] = len(step.likeliest)
            job.step_once()
    first, *half, whole, stop, _ = told.values()
    assert (first, {*half}, whole, stop) == (5, {0}, 5, 5)
    assert text_of(said) == text_of(reply_to(engine, QUESTION)) == "N🙂."


def test_a_reply_stopped_within_a_character_ends_before_it(tmp_path: Path) -> None:
    engine = loaded_engine(make_speaking(tmp_path, FAMILIES["seed"].tokenizer(), QUESTION, "N🙂.<seed:eos>"))
    job = Job(Reply(QUESTION, DecodingOptions(lookahead=False), paused=True), inspecting=True)
    said: list[Event] = []
    job.step_once()
    for event in engine.handle(job):
        said.append(event)
        if isinstance(event, Tokens) and (step := event.inspection) is not None:
            job.step_once() if step.step < 2 else job.stop()
    assert text_of(said) == "N"


def test_a_reply_goes_on_from_another_token(engine) -> None:
    first, second, *_ = ranked(engine, "")
    said = text_of(reply_to(engine, (*QUESTION, Message("assistant", second.text)), max_new_tokens=6))
    assert first.text != second.text
    assert ranked(engine, second.text + said)[0].rank == 1


def test_the_end_of_a_reply_and_of_a_thought_are_told_as_such(tmp_path: Path) -> None:
    family = FAMILIES["mistral"]
    engine = loaded_engine(make_speaking(tmp_path, family.tokenizer(), QUESTION, family.said))
    whole = text_of(reply_to(engine, QUESTION))
    assert ranked(engine, whole)[0].ends
    thought = f"<think>{split_reply(whole).thought}"
    assert ranked(engine, thought)[0].text == "</think>"
