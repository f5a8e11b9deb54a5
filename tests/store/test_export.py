"""Conversations as Markdown, and as lines of JSON that hold everything."""

from __future__ import annotations

import json

import pytest

from lade_chat.store.all_conversations import Store
from lade_chat.store.conversation_documents import to_jsonl, to_markdown
from lade_chat.store.saved_conversation import Conversation
from tests.store.replies import answer, say, tokens


@pytest.fixture
def conversation(store: Store) -> Conversation:
    """Alternatives, every way to end, and a reply that was cut off."""
    conversation = store.begin("Be brief.")
    say(conversation, "What is a list?\nTell me.", "A row\nof values.")
    conversation.retry()
    answer(conversation, "```python\nlist()", "cancelled")
    conversation.ask("and?")
    conversation.break_off("out of memory")
    conversation.ask("last")
    conversation.grow(tokens("as far as"))
    conversation.save()
    conversation.rename("Lists")
    return store.resume(conversation.id)


def test_a_reply_that_went_on_is_one_in_markdown(store: Store) -> None:
    conversation = store.begin()
    conversation.ask("Write it.")
    answer(conversation, "```python\nlist(", "length")
    conversation.go_on()
    answer(conversation, ")\n```")
    document = to_markdown(conversation)
    assert "```python\nlist()\n```" in document
    assert document.count("**Model**") == 1
    assert "48.0 tok/s · 2.4 tokens/step" in document
    assert "24 tokens in 0.50 s" in document  # of both parts
    assert document.count("tok/s") == 1
    assert document.endswith("end of reply*\n")
    conversation.go_on()
    conversation.grow(tokens("more"))
    conversation.break_off("out of memory")
    assert "36 tokens in 0.75 s" in to_markdown(conversation)
    assert to_markdown(conversation).endswith("failed: out of memory*\n")


def test_lines_of_json_hold_everything(conversation: Conversation) -> None:
    head, *turns = [json.loads(line) for line in to_jsonl(conversation)]
    assert (head["type"], head["version"], head["title"], head["system"]) == ("conversation", 1, "Lists", "Be brief.")
    assert [turn["type"] for turn in turns] == ["turn"] * 4
    assert [turn["number"] for turn in turns] == [1, 2, 3, head["last"]] == [1, 2, 3, 4]
    assert [turn.get("parent") for turn in turns] == [None, None, 2, 3]
    assert [turn.get("ending") for turn in turns] == ["eos", "cancelled", "failed", None]
    assert [turn.get("error", "") for turn in turns] == ["", "", "out of memory", ""]
    question, code = "What is a list?\nTell me.", "```python\nlist()"
    assert [turn["question"] for turn in turns] == [question, question, "and?", "last"]
    assert [turn.get("reply", "") for turn in turns] == ["A row\nof values.", code, "", "as far as"]
    for line, turn in zip(turns, conversation.turns, strict=True):
        assert "".join(text for text, *_ in line.get("pieces", ())) == turn.reply
        assert tuple(line.get("step_seconds", ())) == turn.step_seconds()
        assert ("statistics" in line) == (turn.statistics is not None)
    assert turns[0]["pieces"][1] == [" row\nof", "trajectory", 101, 0]


@pytest.mark.parametrize(
    ("said", "closed"),
    [
        ("~~~\n```\nlist()", "~~~"),
        ("````md\n```\nlist()\n```", "````"),
        ("```list()``` is empty.", ""),  # not a block
        ("1. Say\n\n   ```python\n   list()", ""),  # ends with its item
        ("```\nlist()\n```", ""),
    ],
)
def test_only_a_code_block_that_was_left_open_is_closed_in_markdown(store: Store, said: str, closed: str) -> None:
    conversation = store.begin()
    conversation.ask("How?")
    answer(conversation, said, "cancelled")
    assert f"**Model**\n\n{said}{closed and chr(10)}{closed}\n\n*" in to_markdown(conversation)


def test_markdown_shows_the_present_path(conversation: Conversation) -> None:
    text = to_markdown(conversation)
    assert text.startswith("# Lists\n\n*")
    assert "**System**\n\nBe brief.\n\n---\n\n**You**\n\nWhat is a list?\nTell me.\n\n" in text
    assert "**Model** (tiny)\n\n```python\nlist()\n```\n\n*48.0 tok/s · 2.4 tokens/step" in text
    assert "stopped by you*" in text
    assert "*failed: out of memory*" in text
    assert text.endswith(" · broken off*\n")
    assert "\n\nas far as\n\n*48.0 tok/s" in text
    assert "of values" not in text


def test_markdown_of_nothing(store: Store) -> None:
    assert to_markdown(store.begin()).startswith("# New conversation\n\n*")


def test_what_is_no_text_is_replaced_as_on_the_disk(store: Store) -> None:
    conversation = store.begin("brief \udcff")
    say(conversation, "a\udcff\0b", "an answer")
    conversation.enqueue("\ud800", 1)
    conversation.instruct("in full \udcff")
    told = list(to_jsonl(conversation))
    assert told == list(to_jsonl(store.resume(conversation.id)))
    assert json.loads(told[1])["question"] == "a\N{REPLACEMENT CHARACTER}\0b"
