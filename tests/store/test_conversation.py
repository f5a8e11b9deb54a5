"""What is said in a conversation, and how it comes back: turns with colours and figures, and the tree they form."""

from __future__ import annotations

import json

import pytest

from lade_chat.protocol.values import Message
from lade_chat.store import tree
from lade_chat.store.all_conversations import Store
from lade_chat.store.conversation_documents import to_jsonl
from lade_chat.store.records import Turn
from lade_chat.store.saved_conversation import Conversation
from tests.store.replies import MODEL, STATISTICS, answer, finished, say, tokens


def questions(conversation: Conversation) -> list[str | None]:
    return [turn.question for turn in conversation.path]


def siblings(conversation: Conversation, turn: int) -> tuple[Turn, ...]:
    return tree.siblings(conversation.snapshot.turns, conversation.snapshot.turns[turn])


def test_a_turn_comes_back_with_its_colours_and_figures(store: Store) -> None:
    conversation = store.begin("Be brief.")
    say(conversation, "What is a list?\nTell me.", "Some values in a row.")
    again = store.resume(conversation.id)
    assert again.about == conversation.about
    assert again.turns == conversation.turns
    (turn,) = again.path
    told = tokens("Some values in a row.")
    assert turn.pieces() == told.pieces
    assert turn.step_seconds() == told.step_seconds
    assert (turn.reply, turn.ending, turn.statistics, turn.model) == ("Some values in a row.", "eos", STATISTICS, MODEL)
    assert again.title == "What is a list?"
    assert again.messages == (
        Message("system", "Be brief."),
        Message("user", "What is a list?\nTell me."),
        Message("assistant", "Some values in a row."),
    )


def test_nothing_is_kept_before_the_first_question(store: Store) -> None:
    conversation = store.begin()
    conversation.rename("a name")
    conversation.instruct("Be kind.")
    assert not store.path.exists()
    say(conversation, "one", "1")
    assert store.resume(conversation.id).about == conversation.about
    assert (conversation.title, conversation.about.system) == ("a name", "Be kind.")


def test_why_a_reply_ended_is_kept(store: Store) -> None:
    conversation = store.begin()
    for ending in ("stopped", "failed", "superseded"):
        conversation.ask(ending)
        conversation.grow(tokens("as far as"))
        if ending != "superseded":
            conversation.break_off("out of\nmemory" if ending == "failed" else "")
    conversation.ask("last")
    assert [(turn.reply, turn.ending, turn.error) for turn in store.resume(conversation.id).path] == [
        ("as far as", "cancelled", ""),
        ("as far as", "failed", "out of memory"),
        ("as far as", "cancelled", ""),
        ("", None, ""),
    ]


def test_what_comes_without_a_running_reply_is_passed_over(store: Store) -> None:
    conversation = store.begin()
    conversation.grow(tokens("too early"))
    conversation.finish(finished())
    conversation.break_off()
    conversation.go_on()
    conversation.retry()
    conversation.save()
    assert conversation.withdraw() is None
    assert not conversation.is_running
    assert conversation.path == ()


def test_retry_and_edit_make_alternatives(store: Store) -> None:
    conversation = store.begin()
    first = say(conversation, "one", "1")
    second = say(conversation, "two", "2")
    conversation.retry()
    answer(conversation, "II")
    conversation.edit(first, "uno")
    answer(conversation, "I")
    assert questions(conversation) == ["uno"]
    conversation.switch(first)
    assert [turn.reply for turn in conversation.path] == ["1", "II"]
    again = store.resume(conversation.id)
    assert again.about.leaf == conversation.about.leaf
    assert [turn.reply for turn in siblings(again, second)] == ["2", "II"]
    assert [turn.question for turn in siblings(again, first)] == ["one", "uno"]
    again.retry(turn=second)
    answer(again, "deux")
    assert [turn.reply for turn in siblings(again, second)] == ["2", "II", "deux"]


def test_branches_grow_from_any_turn(store: Store) -> None:
    conversation = store.begin()
    first = say(conversation, "one", "1")
    second = say(conversation, "two", "2")
    conversation.branch(first)
    say(conversation, "three", "3")
    assert questions(store.resume(conversation.id)) == ["one", "three"]
    conversation.branch(None)
    say(conversation, "four", "4")
    assert questions(store.resume(conversation.id)) == ["four"]
    conversation.switch(second)
    assert questions(store.resume(conversation.id)) == ["one", "two"]
    with pytest.raises(KeyError):
        conversation.branch(0)


def test_a_reply_that_goes_on_is_one_message(store: Store) -> None:
    conversation = store.begin()
    conversation.ask("Count.")
    answer(conversation, "1 2", "length")
    conversation.go_on()
    assert conversation.messages == (Message("user", "Count."), Message("assistant", "1 2"))
    answer(conversation, " 3 4")
    again = store.resume(conversation.id)
    assert again.messages == (Message("user", "Count."), Message("assistant", "1 2 3 4"))
    assert [turn.reply for turn in again.path] == ["1 2", " 3 4"]


def test_a_reply_that_was_cut_off_stays_beside_the_one_that_goes_on(store: Store) -> None:
    conversation = store.begin()
    conversation.ask("Count.", MODEL)
    answer(conversation, "1 2", "length")
    for ending in ("length", "eos"):
        conversation.go_on(MODEL)
        answer(conversation, " 3", ending)  # type: ignore[arg-type]
    for each in (conversation, store.resume(conversation.id)):
        told = []
        for turn in siblings(each, each.path[0].id):
            each.switch(turn.id)
            assert all(part.statistics and part.pieces() for part in each.path)
            told.append(["".join(part.reply for part in each.path), each.path[-1].ending])
        assert told == [["1 2", "length"], ["1 2 3", "length"], ["1 2 3 3", "eos"]]


def test_what_was_asked_behind_a_reply_is_still_behind_it_once_that_goes_on(store: Store) -> None:
    conversation = store.begin()
    conversation.ask("Count.", MODEL)
    answer(conversation, "1 2", "length")
    cut = conversation.path[0].id
    say(conversation, "Sure?", "Yes.")
    conversation.branch(cut)
    conversation.go_on()
    answer(conversation, " 3")
    assert [turn.reply for turn in conversation.path] == ["1 2", " 3"]
    conversation.switch_beside(conversation.path[0].id, -1)
    assert [turn.reply for turn in conversation.path] == ["1 2", "Yes."]


def test_a_reply_that_was_put_there_to_go_on_is_not_copied(store: Store) -> None:
    conversation = store.begin()
    first = say(conversation, "Count.", "1 2")
    conversation.revise(first, tokens("1 2").pieces, "cancelled")
    conversation.go_on()
    answer(conversation, " 3")
    assert len(siblings(conversation, first)) == 2


@pytest.mark.parametrize("stopped", [False, True])
def test_a_continuation_without_a_word_is_none_for_who_resumes(store: Store, stopped: bool) -> None:
    conversation = store.begin()
    conversation.ask("Count.")
    answer(conversation, "1 2", "length")
    for _ in range(2):
        conversation.go_on()
        if stopped:
            conversation.break_off()
    again = store.resume(conversation.id)
    assert [(turn.reply, turn.ending) for turn in again.turns] == [("1 2", "length")]
    assert again.path == again.turns
    say(conversation, "What was that?", "Numbers.")
    again = store.resume(conversation.id)
    assert [turn.reply for turn in again.path] == ["1 2", "Numbers."]
    again.go_on()
    answer(again, " Many.")
    assert [turn.reply for turn in store.resume(conversation.id).path] == ["1 2", "Numbers.", " Many."]


def test_where_nothing_was_answered_going_on_asks_again(store: Store) -> None:
    conversation = store.begin()
    conversation.ask("Count.")
    conversation.go_on()
    assert questions(conversation) == ["Count."]
    assert len(conversation.turns) == 2


def test_roles_alternate_although_a_question_was_never_answered(store: Store) -> None:
    conversation = store.begin()
    conversation.ask("killed in mid-prefill")
    again = store.resume(conversation.id)
    assert again.messages == (Message("user", "killed in mid-prefill"),)
    again.ask("next")
    assert again.messages == (Message("user", "next"),)
    answer(again, "")
    again.ask("and")
    assert [message.role for message in again.messages] == ["user", "assistant", "user"]


def test_a_question_can_be_taken_back(store: Store) -> None:
    conversation = store.begin()
    say(conversation, "one", "1")
    conversation.ask("oops")
    assert conversation.withdraw() == "oops"
    assert questions(store.resume(conversation.id)) == questions(conversation) == ["one"]
    assert conversation.withdraw() is None
    conversation.ask("kept for those that follow")
    conversation.break_off("out of memory")
    unanswered = conversation.path[-1].id
    say(conversation, "next", "2")
    conversation.branch(unanswered)
    assert conversation.withdraw() is None
    assert len(store.resume(conversation.id).turns) == 3


def test_a_conversation_whose_only_question_is_taken_back_is_gone(store: Store) -> None:
    conversation = store.begin()
    conversation.ask("oops")
    conversation.grow(tokens("some words"))
    assert conversation.withdraw() == "oops"
    assert store.latest() is None
    conversation.finish(finished())
    say(conversation, "again", "2")
    assert questions(store.resume(conversation.id)) == ["again"]


def test_a_question_taken_back_in_memory_alone_stays_on_disk_until_one_is_asked_in_its_place(store: Store) -> None:
    conversation = store.begin()
    say(conversation, "one", "1")
    conversation.ask("oops")
    conversation.enqueue("three", 3)
    assert conversation.withdraw(None, None, on_disk=False) == "oops"
    assert questions(conversation) == questions(store.resume(conversation.id)) == ["one", "three"]
    assert [turn.question for turn in store.resume(conversation.id).turns] == ["one", "oops", "three"]
    assert conversation.withdraw(3) == "three"
    (first,) = conversation.path
    for replace in (
        lambda: conversation.ask("two"),
        lambda: conversation.enqueue("two", 4),
        lambda: conversation.edit(first.id, "two"),
    ):
        conversation.ask("oops")
        conversation.withdraw(None, None, on_disk=False)
        assert questions(conversation) == ["one"]
        assert questions(store.resume(conversation.id)) == ["one", "oops"]
        replace()
        assert [turn.question for turn in store.resume(conversation.id).turns] == ["one", "two"]
        conversation.withdraw()


@pytest.mark.parametrize("text", ["half \udc80 a pair", "nul \0 within", "", "\x1b[31m", "𝔸" * 70_000])
def test_any_text_is_kept(store: Store, text: str) -> None:
    conversation = store.begin(text)
    say(conversation, text, "well")
    (turn,) = store.resume(conversation.id).path
    assert turn.question == text.replace("\udc80", "\N{REPLACEMENT CHARACTER}")
    assert turn.reply == "well"
    assert not store.unsaved


def test_turns_stay_in_order_although_the_clock_is_set_back(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    conversation = store.begin()
    for number, question in enumerate(("one", "two", "three")):
        monkeypatch.setattr("time.time", lambda moment=1e9 - 3600 * number: moment)
        say(conversation, question, "yes")
    conversation.retry()
    answer(conversation, "no")
    again = store.resume(conversation.id)
    assert [turn.question for turn in again.turns] == ["one", "two", "three", "three"]
    assert [turn.reply for turn in siblings(again, again.turns[-1].id)] == ["yes", "no"]
    parents = [json.loads(line).get("parent") for line in to_jsonl(again)][1:]
    assert parents == [None, 1, 2, 2]
