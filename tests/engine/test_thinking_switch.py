"""A model is told whether to think as its template has it; a thought ends at its limit, with lookahead or without."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
import torch
import transformers

from lade_chat.engine.chat_engine import ChatEngine
from lade_chat.engine.job import Job
from lade_chat.engine.prompt_builder import prompt_for
from lade_chat.loading.text.thinking import NO_SWITCH, ThinkingSwitch, find_switch
from lade_chat.presentation.thought_splitter import answer_of, split_reply
from lade_chat.protocol.commands import Compare, Reply
from lade_chat.protocol.values import DecodingOptions, Message, MethodSpec, Sampling, Sizes
from tests.checkpoints import CHATML, byte_level_tokenizer, make_qwen2
from tests.engine.talking import pieces_of, text_of
from tests.pairs import pairs
from tests.speaking import loaded_engine, make_speaking, reply_to
from tests.thinkers import ANSWER, FAMILIES, THOUGHT

QUESTION = (Message("user", "Who keeps apples?"),)
OPENS_A_THOUGHT = CHATML + (
    "{% if add_generation_prompt %}<think>\n{% if enable_thinking is defined and enable_thinking is false %}"
    "\n</think>\n\n{% endif %}{% endif %}"
)
QWEN3 = CHATML + (
    "{% if add_generation_prompt and enable_thinking is defined and enable_thinking is false %}"
    "<think>\n\n</think>\n\n{% endif %}"
)
DEEPSEEK = (
    "{% if not thinking is defined %}{% set thinking = false %}{% endif %}"
    + CHATML
    + ("{% if add_generation_prompt %}{{ '<think>' if thinking else '</think>' }}{% endif %}")
)
GPT_OSS = (
    "{% if reasoning_effort is not defined %}{% set reasoning_effort = 'medium' %}{% endif %}"
    "Reasoning: {{ reasoning_effort }}\n" + CHATML
)
STRICT = (
    "{% if reasoning_effort is defined and reasoning_effort not in ['none', 'high'] %}"
    "{{ raise_exception('none or high') }}{% endif %}{{ reasoning_effort or 'none' }}" + CHATML
)


@pytest.mark.parametrize(
    ("template", "switch"),
    [
        (QWEN3, ThinkingSwitch("enable_thinking")),
        (DEEPSEEK, ThinkingSwitch("thinking")),
        (GPT_OSS, ThinkingSwitch("reasoning_effort", "high", "low")),
        (STRICT, ThinkingSwitch("reasoning_effort", "high", "none")),
        (CHATML, NO_SWITCH),
        (CHATML + "{# enable_thinking #}{{ message.thinking }}", NO_SWITCH),
        (None, NO_SWITCH),
    ],
)
def test_the_switch_is_what_the_template_reads_and_what_changes_the_prompt(
    template: str | None, switch: ThinkingSwitch
) -> None:
    assert find_switch(byte_level_tokenizer(chat_template=template)) == switch


@pytest.fixture(scope="module")
def switched(tmp_path_factory: pytest.TempPathFactory) -> ChatEngine:
    return loaded_engine(make_qwen2(tmp_path_factory.mktemp("qwen3"), chat_template=QWEN3))


def test_the_prompt_is_the_template_s_own_for_either(switched: ChatEngine) -> None:
    loaded = switched.loaded
    assert loaded is not None
    assert loaded.info.has_thinking_switch
    conversation = [{"role": "user", "content": QUESTION[0].content}]
    for think, variables in ((None, {}), (True, {"enable_thinking": True}), (False, {"enable_thinking": False})):
        text = loaded.tokenizer.apply_chat_template(
            conversation, add_generation_prompt=True, tokenize=False, **variables
        )
        expected = tuple(loaded.tokenizer(text, add_special_tokens=False)["input_ids"])
        assert prompt_for(loaded, QUESTION, 8, think=think).ids == expected


def test_a_reply_that_has_begun_goes_on_as_it_did(switched: ChatEngine) -> None:
    loaded = switched.loaded
    assert loaded is not None
    turns = (*QUESTION, Message("assistant", f"<think>{THOUGHT}</think>Bo"))
    ids = [prompt_for(loaded, turns, 8, think=think).ids for think in (True, False)]
    assert ids[0] == ids[1]


@pytest.fixture(scope="module")
def thinking(tmp_path_factory: pytest.TempPathFactory) -> ChatEngine:
    """A model of random weights that repeats itself, whose prompt opens a thought that it never closes."""
    folder = tmp_path_factory.mktemp("thinking")
    make_qwen2(folder, chat_template=OPENS_A_THOUGHT)
    model = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.mul_(8)
    model.save_pretrained(folder)
    return loaded_engine(folder)


@pytest.mark.parametrize(("limit", "sampling"), pairs([1, 7, 20], [None, Sampling(temperature=0.7, seed=3)]), ids=str)
def test_a_thought_ends_at_its_limit_and_the_text_is_the_same_with_lookahead(
    thinking: ChatEngine, sampling: Sampling | None, limit: int
) -> None:
    options: dict[str, Any] = {"sampling": sampling, "max_thought_tokens": limit, "max_new_tokens": 50}
    plain = reply_to(thinking, QUESTION, lookahead=False, **options)
    for sizes in (Sizes(), Sizes(3, 3, 4)):
        lookahead = reply_to(thinking, QUESTION, sizes=sizes, **options)
        assert [piece.id for piece in pieces_of(lookahead)] == [piece.id for piece in pieces_of(plain)]
        assert text_of(lookahead) == text_of(plain)
        assert sampling or lookahead[-1].statistics.verified_tokens
    loaded, ids = thinking.loaded, [piece.id for piece in pieces_of(plain)]
    assert loaded is not None
    closing = list(loaded.thinking.closing_ids(loaded.tokenizer))
    assert ids[limit : limit + len(closing)] == closing
    assert not split_reply(text_of(plain)).is_open
    statistics = plain[-1].statistics
    assert (statistics.thought_tokens, statistics.generated_tokens) == (limit, len(ids) - len(closing))
    assert statistics.context_used == statistics.prompt_tokens + len(ids)


@pytest.mark.parametrize("sampling", [None, Sampling(temperature=0.7, seed=3)], ids=["greedy", "sampled"])
@pytest.mark.parametrize("think", [True, False])
@pytest.mark.parametrize("limit", [None, 9])
def test_told_to_think_or_not_it_says_the_same_with_lookahead_which_may_be_switched_meanwhile(
    thinking: ChatEngine, think: bool, limit: int | None, sampling: Sampling | None
) -> None:
    options = DecodingOptions(
        sizes=Sizes(), max_new_tokens=40, sampling=sampling, think=think, max_thought_tokens=limit
    )
    said = []
    for lookahead, is_switched in ((False, False), (True, False), (True, True)):
        job, events = Job(Reply(QUESTION, msgspec.structs.replace(options, lookahead=lookahead))), []
        for event in thinking.handle(job):
            events.append(event)
            if is_switched:
                job.lookahead = not job.lookahead
        assert bool(events[-1].statistics.switches) is is_switched
        said.append((text_of(events), [piece.id for piece in pieces_of(events)]))
    assert said[0] == said[1] == said[2]
    assert said[0][0].startswith("<think>") is think
    assert ("</think>" in said[0][0]) is (think and limit is not None)


def test_the_thought_up_to_its_limit_is_the_one_without(thinking: ChatEngine) -> None:
    limited, free = (text_of(reply_to(thinking, QUESTION, max_thought_tokens=limit)) for limit in (9, None))
    assert free.startswith(split_reply(limited).thought and limited.partition("</think>")[0])
    assert split_reply(free).is_open


def test_without_room_for_an_answer_the_thought_goes_on(thinking: ChatEngine) -> None:
    events = reply_to(thinking, QUESTION, max_thought_tokens=10, max_new_tokens=12)
    assert split_reply(text_of(events)).is_open
    assert (events[-1].finish_reason, len(pieces_of(events))) == ("length", 12)


@pytest.mark.parametrize("method", ["lookahead", "hf-generate"])
def test_in_a_race_both_sides_end_the_thought_alike(thinking: ChatEngine, method: str) -> None:
    options = DecodingOptions(max_new_tokens=40, max_thought_tokens=8, sizes=Sizes())
    events = list(thinking.handle(Job(Compare(QUESTION, options, MethodSpec(method), MethodSpec("plain")))))
    assert text_of(events, "left") == text_of(events, "right")
    assert "</think>" in text_of(events, "left")


@pytest.mark.parametrize("name", ["gpt-oss", "qwen3", "mistral"])
def test_a_model_s_own_end_of_its_thought_comes_first(name: str, tmp_path: Path) -> None:
    family = FAMILIES[name]
    engine = loaded_engine(make_speaking(tmp_path, family.tokenizer(), QUESTION, family.said))
    free, limited = (reply_to(engine, QUESTION, max_thought_tokens=limit) for limit in (None, 40))
    assert text_of(free) == text_of(limited)
    assert answer_of(text_of(free)) == ANSWER
    assert 0 < free[-1].statistics.thought_tokens < free[-1].statistics.generated_tokens


def test_a_thought_may_hold_the_closing_tag_of_others(tmp_path: Path) -> None:
    family = FAMILIES["mistral"]
    said = family.said.replace(THOUGHT, "Write </think> first.")
    engine = loaded_engine(make_speaking(tmp_path, family.tokenizer(), QUESTION, said))
    text = text_of(reply_to(engine, QUESTION))
    assert answer_of(text) == ANSWER
    begun = (*QUESTION, Message("assistant", text.removesuffix(ANSWER)))
    assert engine.loaded is not None
    ids = prompt_for(engine.loaded, begun, 8).ids
    assert engine.loaded.tokenizer.decode(ids).endswith("[THINK]Write </think> first.[/THINK]")
