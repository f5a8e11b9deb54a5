"""The token that ends a reply is no part of its text, whatever the tokenizer calls it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import transformers

from lade_chat.bench.measure import prepare
from lade_chat.bench.plan import Plan
from lade_chat.engine.job import Job
from lade_chat.engine.prompt_builder import prompt_for
from lade_chat.loading.text.tokenization import load_tokenizer
from lade_chat.protocol.commands import Compare, Explain, Reply
from lade_chat.protocol.events import Explained, ReplyFinished
from lade_chat.protocol.tutorial import ComparedSteps, Comparison
from lade_chat.protocol.values import DecodingOptions, Message
from lade_chat.suites.prompts import Question, Suite
from tests.checkpoints import CHATML, byte_level_tokenizer, sentencepiece_model, with_ordinary
from tests.engine.talking import pieces_of, text_of
from tests.speaking import loaded_engine, make_speaking, reply_to

QUESTION = (Message("user", "Who keeps apples?"),)
ANSWER = "Ada keeps apples.\nBo counts."


@pytest.fixture(scope="module", params=["byte-level", "tokenizer.model alone"])
def engine(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("speaking")
    if request.param == "byte-level":
        tokenizer = with_ordinary(byte_level_tokenizer(), "<|im_end|>")
        return loaded_engine(make_speaking(folder, tokenizer, QUESTION, f"{ANSWER}<|im_end|>"))
    return loaded_engine(_with_tokenizer_model_alone(folder))


def _with_tokenizer_model_alone(folder: Path) -> Path:
    (folder / "tokenizer.model").write_bytes(sentencepiece_model(430, "<|im_start|>", "<|im_end|>"))
    (folder / "chat_template.jinja").write_text(CHATML)
    tokenizer = load_tokenizer(folder, transformers.LlamaConfig(), trust_remote_code=False)
    return make_speaking(folder, tokenizer, QUESTION, f"{ANSWER}<|im_end|>")


@pytest.mark.parametrize("lookahead", [True, False])
def test_a_reply_ends_without_the_name_of_its_last_token(engine: Any, lookahead: bool) -> None:
    events = reply_to(engine, QUESTION, lookahead=lookahead)
    end = engine.loaded.tokenizer.convert_tokens_to_ids("<|im_end|>")
    assert not any(end == id_ for id_, token in engine.loaded.tokenizer.added_tokens_decoder.items() if token.special)
    assert isinstance(events[-1], ReplyFinished)
    assert (events[-1].finish_reason, pieces_of(events)[-1].id) == ("eos", end)
    assert text_of(events) == ANSWER


def test_the_second_turn_is_the_template_s_own(engine: Any) -> None:
    said = text_of(reply_to(engine, QUESTION))
    turns = (*QUESTION, Message("assistant", said), Message("user", "And then?"))
    tokenizer = engine.loaded.tokenizer
    conversation = [{"role": turn.role, "content": turn.content} for turn in turns]
    conversation[1]["content"] = ANSWER
    text = tokenizer.apply_chat_template(conversation, add_generation_prompt=True, tokenize=False)
    own = tokenizer(text, add_special_tokens=False)["input_ids"]
    ids = list(prompt_for(engine.loaded, turns, 8).ids)
    assert ids[-len(own) :] == own
    started, *_ = engine.handle(Job(Reply(turns, DecodingOptions(max_new_tokens=1))))
    assert started.reused_tokens > len(prompt_for(engine.loaded, QUESTION, 8).ids)


def test_neither_side_of_a_race_ends_with_it_nor_what_explains_it(engine: Any) -> None:
    events = list(engine.handle(Job(Compare(QUESTION, DecodingOptions(max_new_tokens=60)))))
    assert text_of(events, "left") == text_of(events, "right") == ANSWER
    raced = [e.chapter for e in engine.handle(Job(Explain(QUESTION, raced=True))) if isinstance(e, Explained)]
    told = [e.chapter for e in engine.handle(Job(Explain(QUESTION))) if isinstance(e, Explained)]
    for chapter in (*raced, *told):
        if isinstance(chapter, Comparison):
            assert "".join(token.text for token in chapter.lookahead) == ANSWER
        elif isinstance(chapter, ComparedSteps):
            assert "".join(token.text for step in chapter.steps for token in step) == ANSWER
    assert {type(chapter) for chapter in (*raced, *told)} >= {Comparison, ComparedSteps}


def test_a_character_that_it_cuts_off_is_told(tmp_path: Path) -> None:
    tokenizer = with_ordinary(byte_level_tokenizer(), "<|im_end|>")
    said = tokenizer.convert_tokens_to_ids(["H", "i", "ð", "<|im_end|>"])
    engine = loaded_engine(make_speaking(tmp_path, tokenizer, QUESTION, said))
    assert text_of(reply_to(engine, QUESTION)) == "Hi\ufffd"


def test_the_answers_of_a_benchmark_s_earlier_turns_lack_it(engine: Any) -> None:
    ids = [piece.id for piece in pieces_of(reply_to(engine, QUESTION))]
    asked = prompt_for(engine.loaded, QUESTION, 60).ids
    suite = Suite("turns", (Question((QUESTION[0].content, "And then?")),))
    plan = Plan((suite,), (), DecodingOptions(max_new_tokens=60))
    tasks = prepare(suite, engine.loaded, plan, lambda _: _replier(asked, ids), (None,), str)
    turns = (*QUESTION, Message("assistant", ANSWER), Message("user", "And then?"))
    assert tasks.tasks[1].ids == prompt_for(engine.loaded, turns, 60).ids


def _replier(asked: Sequence[int], ids: Sequence[int]) -> Any:
    return lambda prompt, room: SimpleNamespace(ids=list(ids) if prompt == asked else [5])
