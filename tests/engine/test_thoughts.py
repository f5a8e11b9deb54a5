"""A model's thought is apart from its answer, in whatever form the model writes it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from lade_chat.engine.job import Job
from lade_chat.engine.prompt_builder import prompt_for
from lade_chat.engine.text.thought_normalizer import ThoughtNormalizer
from lade_chat.loading.text.thinking import Thinking, find_thinking
from lade_chat.presentation.thought_splitter import AnswerStream, answer_of, split_reply
from lade_chat.protocol.commands import Compare
from lade_chat.protocol.values import DecodingOptions, Message, Piece, Sampling
from tests.checkpoints import CHATML, byte_level_tokenizer
from tests.engine.talking import pieces_of, text_of
from tests.pairs import LONG
from tests.speaking import loaded_engine, make_speaking, prompt_of, reply_to
from tests.thinkers import ANSWER, FAMILIES, THOUGHT, Family

QUESTION = (Message("user", "Who keeps apples?"),)


def rewritten(thinking: Thinking, begin: Any, text: str, size: int) -> str:
    """Rewrite a text that comes in pieces of ``size`` characters."""
    normalizer, pieces = ThoughtNormalizer(thinking, begin), list[Piece]()
    for step, start in enumerate(range(0, len(text), size)):
        pieces += normalizer.push(Piece(text[start : start + size], "plain", step, step))
    pieces += normalizer.finish()
    assert [piece.id for piece in pieces] == list(range(len(pieces))) == [piece.step for piece in pieces]
    return "".join(piece.text for piece in pieces)


@pytest.fixture(scope="module", params=FAMILIES)
def family(request: pytest.FixtureRequest) -> Family:
    return FAMILIES[request.param]


@pytest.fixture(scope="module")
def engine(family: Family, tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("thinking")
    return loaded_engine(make_speaking(folder, family.tokenizer(), QUESTION, family.said))


class TestFamilies:
    def test_the_delimiters_are_found_when_the_model_is_loaded(self, family: Family, engine: Any) -> None:
        assert engine.loaded.thinking == family.thinking

    @pytest.mark.parametrize("lookahead", [True, False])
    def test_the_thought_is_apart_from_the_answer(self, engine: Any, lookahead: bool) -> None:
        events = reply_to(engine, QUESTION, lookahead=lookahead)
        split = split_reply(text_of(events))
        assert (split.thought.split(), split.is_open) == (THOUGHT.split(), False)
        assert answer_of(text_of(events)) == ANSWER
        assert [piece.step for piece in pieces_of(events)] == sorted(piece.step for piece in pieces_of(events))
        assert len(pieces_of(events)) == events[-1].statistics.generated_tokens
        assert "".join(piece.text for piece in AnswerStream().push(pieces_of(events), final=True)) == ANSWER

    def test_tokens_of_the_thought_are_counted_without_its_delimiters(self, family: Family, engine: Any) -> None:
        events = reply_to(engine, QUESTION)
        said, place, inside = text_of(events), 0, 0
        begin, end = said.index("<think>") + len("<think>"), said.index("</think>")
        for piece in pieces_of(events):
            first, place = place, place + len(piece.text)
            inside += place > begin and first < end
        between = len(engine.loaded.tokenizer(family.thinking.again)["input_ids"])
        assert events[-1].statistics.thought_tokens == inside - between

    @pytest.mark.parametrize("family", [*FAMILIES][:: 1 if LONG else 2], indirect=True)
    def test_sampled_too_it_is_the_same_with_lookahead(self, engine: Any) -> None:
        sampling = Sampling(temperature=0.7, seed=3)
        plain, lookahead = (reply_to(engine, QUESTION, lookahead=on, sampling=sampling) for on in (False, True))
        assert pieces_of(plain)
        assert [piece.id for piece in pieces_of(lookahead)] == [piece.id for piece in pieces_of(plain)]
        assert text_of(lookahead) == text_of(plain)

    @pytest.mark.parametrize("stop", ["a", "\n", ".", "keeps"])
    def test_a_stop_string_ends_the_answer_and_no_thought(self, engine: Any, stop: str) -> None:
        said = text_of(reply_to(engine, QUESTION, stop=(stop,)))
        assert split_reply(said).thought.split() == THOUGHT.split()
        assert answer_of(said) == ANSWER.partition(stop)[0]

    def test_the_next_turn_is_the_template_s_own(self, engine: Any) -> None:
        said = text_of(reply_to(engine, QUESTION))
        turns = (*QUESTION, Message("assistant", said), Message("user", "And then?"))
        tokenizer = engine.loaded.tokenizer
        conversation = [{"role": turn.role, "content": turn.content} for turn in turns]
        conversation[1] |= {"content": ANSWER, "reasoning_content": split_reply(said).thought.strip("\n")}
        text = tokenizer.apply_chat_template(conversation, add_generation_prompt=True, tokenize=False)
        assert prompt_for(engine.loaded, turns, 8).ids == tuple(tokenizer(text, add_special_tokens=False)["input_ids"])

    def test_a_reply_cut_off_anywhere_goes_on_to_the_same_text(self, family: Family, engine: Any) -> None:
        if family.thinking.again or "<|START_RESPONSE|>" in family.said:
            pytest.skip("its tokens without a text are not written again, and the scripted model counts tokens")
        length = len(pieces_of(reply_to(engine, QUESTION)))
        for kept in range(1, length):
            begun = text_of(reply_to(engine, QUESTION, max_new_tokens=kept))
            if _is_whole(begun):
                rest = text_of(reply_to(engine, (*QUESTION, Message("assistant", begun))))
                assert split_reply(begun + rest).thought.split() == THOUGHT.split(), kept
                assert answer_of(begun + rest) == ANSWER, kept

    @pytest.mark.parametrize("family", [*FAMILIES][0 if LONG else 1 :: 1 if LONG else 2], indirect=True)
    def test_in_a_race_too(self, engine: Any) -> None:
        events = list(engine.handle(Job(Compare(QUESTION, DecodingOptions(max_new_tokens=60)))))
        assert answer_of(text_of(events, "left")) == answer_of(text_of(events, "right")) == ANSWER


def _is_whole(begun: str) -> bool:
    """False where a delimiter of several tokens was cut in two, so that its beginning is text."""
    return begun.lstrip().startswith("<think>") and not re.search(r"[<◁\ufffd]/?\w*$", begun)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
@pytest.mark.parametrize(
    ("begin", "said", "text"),
    [
        ("reply", " <think>hm</think>\nyes <think>no</think>", " <think>hm</think>\nyes <think>no</think>"),
        ("reply", "a <think>b</think>", "a <think>b</think>"),
        ("reply", "<thin", "<thin"),
        ("opened", "hm</think>yes</think>", "<think>hm</think>yes</think>"),
        ("opened", "", ""),
        ("thought", "hm</think>yes", "hm</think>yes"),
        ("answer", "<think>hm</think>", "<think>hm</think>"),
    ],
)
def test_tags_count_where_a_model_thinks_for_every_split(begin: str, said: str, text: str, size: int) -> None:
    assert rewritten(Thinking(), begin, said, size) == text


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_delimiters_of_several_tokens_are_found_for_every_split(size: int) -> None:
    family = FAMILIES["gpt-oss"]
    said = family.said.removesuffix("<|return|>")
    assert rewritten(family.thinking, "reply", said, size) == f"<think>Ada\n\nadds.</think>{ANSWER}"
    assert rewritten(family.thinking, "reply", f"<|channel|>final<|message|>{ANSWER}", size) == ANSWER
    cut_off = said.partition("final")[0]
    assert rewritten(family.thinking, "reply", cut_off, size) == "<think>Ada\n\nadds."


def test_a_model_that_does_not_think_may_write_of_tags(tmp_path: Path) -> None:
    tokenizer = byte_level_tokenizer(chat_template=CHATML)
    assert find_thinking(tokenizer) == Thinking()
    said = "```\n<think>adds</think>\n```\nSo <think> it."
    engine = loaded_engine(make_speaking(tmp_path, tokenizer, QUESTION, f"{said}<|im_end|>"))
    text = text_of(reply_to(engine, QUESTION))
    assert answer_of(text) == text == said


def test_a_template_that_keeps_thoughts_gets_them_with_their_control_tokens_as_text() -> None:
    family = FAMILIES["seed"]
    turns = [*QUESTION, Message("assistant", f"<think>{THOUGHT}<seed:eos></think>{ANSWER}"), Message("user", "And?")]
    tokenizer = family.tokenizer()
    ids = prompt_of(turns, tokenizer, thinking=family.thinking).ids
    assert f"<seed:think>{THOUGHT}<seed:eos></seed:think>{ANSWER}" in tokenizer.decode(ids)
    assert ids.count(tokenizer.convert_tokens_to_ids("<seed:eos>")) == len(turns)
