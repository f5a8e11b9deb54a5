"""Conversations as Markdown, and as lines of JSON that hold everything and are read back."""

from __future__ import annotations

import json

import msgspec
import pytest

from lade_chat.store.conversation import Conversation
from lade_chat.store.documents.jsonl import to_jsonl
from lade_chat.store.documents.markdown import to_markdown
from lade_chat.store.errors import StoreError
from lade_chat.store.store import Store
from lade_chat.store.values import Record, Turn
from tests.store.replies import answer, say, tokens


def told(conversation: Conversation) -> tuple[Record, list[Turn]]:
    """All of it but the names of things, which are another's in a copy."""
    numbers = {turn.id: number for number, turn in enumerate(conversation.turns)}
    turns = [
        msgspec.structs.replace(turn, id=numbers[turn.id], parent=None if turn.parent is None else numbers[turn.parent])
        for turn in conversation.turns
    ]
    about = conversation.about
    return msgspec.structs.replace(about, id="", leaf=None if about.leaf is None else numbers[about.leaf]), turns


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


def test_a_copy_holds_everything(store: Store, conversation: Conversation) -> None:
    (copy,) = store.import_jsonl(to_jsonl(conversation))
    assert copy.id != conversation.id
    assert told(copy) == told(conversation)
    assert told(store.resume(copy.id)) == told(conversation)
    assert len(store.page("row values")) == 2
    say(copy, "more", "m")
    assert len(conversation.turns) == len(store.resume(conversation.id).turns) == 4


def test_a_reply_that_went_on_is_one_in_markdown(store: Store) -> None:
    conversation = store.begin()
    conversation.ask("Write it.")
    answer(conversation, "```python\nlist(", "length")
    conversation.go_on()
    answer(conversation, ")\n```")
    document = to_markdown(conversation)
    assert "```python\nlist()\n```" in document
    assert document.count("**Model**") == 1
    assert "token limit" in document


def test_several_conversations_in_one_file(store: Store, conversation: Conversation) -> None:
    other = store.begin()
    say(other, "other", "o")
    copies = store.import_jsonl(["", *to_jsonl(conversation), " \n", *to_jsonl(other)])
    assert [copy.title for copy in copies] == ["Lists", "other"]
    assert [told(copy) for copy in copies] == [told(conversation), told(other)]


def test_lines_are_plain_json(conversation: Conversation) -> None:
    lines = [json.loads(line) for line in to_jsonl(conversation)]
    assert [line["type"] for line in lines] == ["conversation", "turn", "turn", "turn", "turn"]
    assert lines[0]["title"] == "Lists"
    assert [line["number"] for line in lines[1:]] == [1, 2, 3, 4]
    assert (lines[1]["question"], lines[1]["reply"]) == ("What is a list?\nTell me.", "A row\nof values.")
    assert lines[1]["pieces"][1] == [" row\nof", "trajectory", 101, 0]


def test_a_reply_that_was_changed_by_hand_is_plain(store: Store, conversation: Conversation) -> None:
    head, first, *_ = to_jsonl(conversation)
    (copy,) = store.import_jsonl([head, first.replace("of values", "of items", 1)])
    assert copy.turns[0].reply == "A row\nof items."
    assert [piece.origin for piece in copy.turns[0].pieces()] == ["plain"]
    (again,) = store.import_jsonl(to_jsonl(copy))
    assert again.turns[0].reply == "A row\nof items."


HEAD = '{"type":"conversation","version":1,"created":0,"updated":0}'
TURN = '{"type":"turn","number":1,"created":0,"question":"one"}'


@pytest.mark.parametrize(
    ("lines", "line"),
    [
        ([TURN], 1),
        ([HEAD, TURN, "", TURN], 4),
        ([HEAD, TURN.replace('"created"', '"parent":7,"created"')], 2),
        ([HEAD, "{"], 2),
        ([HEAD, "[]"], 2),
        ([HEAD, TURN.replace("one", "\\ud800")], 2),
        ([HEAD, TURN.replace('"one"', "1")], 2),
        ([HEAD.replace('"version":1', '"version":2')], 1),
        (["# Markdown"], 1),
        (["[" * 100_000], 1),
    ],
)
def test_other_lines_are_refused_and_nothing_is_kept(store: Store, lines: list[str], line: int) -> None:
    with pytest.raises(StoreError, match=f"^Line {line} is none of an exported conversation: ") as refused:
        store.import_jsonl(lines)
    assert "\n" not in str(refused.value)
    assert store.page() == ()


def test_markdown_shows_the_present_path(conversation: Conversation) -> None:
    text = to_markdown(conversation)
    assert text.startswith("# Lists\n\n*")
    assert "**System**\n\nBe brief.\n\n---\n\n**You**\n\nWhat is a list?\nTell me.\n\n" in text
    assert "**Model** (tiny)\n\n```python\nlist()\n```\n\n*48.0 tok/s · 2.4 tokens/step" in text
    assert "stopped by you*" in text
    assert "*failed: out of memory*" in text
    assert text.endswith("as far as\n\n*broken off*\n")
    assert "of values" not in text


def test_markdown_of_nothing(store: Store) -> None:
    assert to_markdown(store.begin()).startswith("# New conversation\n\n*")
