"""Earlier replies that guesses come from: of the very same model alone, the latest last, and none that was deleted."""

from __future__ import annotations

from pathlib import Path

from lade_chat.protocol.events import ReplyFinished
from lade_chat.protocol.values import Statistics
from lade_chat.store.all_conversations import Store
from lade_chat.store.records import Model
from tests.store.replies import purge, sql, tokens

MARK = "f" * 32
MODEL = Model("tiny", fingerprint=MARK)


def talked(store: Store, *questions: str, model: Model = MODEL) -> str:
    conversation = store.begin()
    for question in questions:
        conversation.ask(question, model)
        conversation.grow(tokens(f"said to {question}"))
        conversation.finish(ReplyFinished("eos", Statistics(), successors=question.encode()))
    return conversation.id


def remembered(store: Store, **more: int) -> list[str]:
    replies = store.earlier_replies(MARK, **more)
    assert all(reply.successors == reply.question.encode() for reply in replies)
    return [reply.question for reply in replies]


def test_the_latest_replies_of_this_model_come_last_and_bounded(store: Store, folder: Path) -> None:
    talked(store, "one", "two")
    talked(store, "other model", model=Model("tiny", fingerprint="e" * 32))
    talked(store, "unknown model", model=Model("tiny"))
    talked(store, "three")
    running = store.begin()
    running.ask("four", MODEL)
    running.grow(tokens("not finished"))
    running.save()
    assert remembered(store) == ["one", "two", "three"]
    assert store.earlier_replies(MARK)[-1].ids == tuple(piece.id for piece in tokens("said to three").pieces)
    assert remembered(store, max_tokens=7) == ["two", "three"]
    assert store.earlier_replies("") == ()
    forgetful = Store(folder, remember=False)
    assert forgetful.earlier_replies(MARK) == ()
    talked(forgetful, "five")
    assert store.earlier_replies(MARK)[-1].successors == b"", "nothing is kept for guesses that are not wanted"


def test_a_continuation_is_an_answer_to_the_question_of_what_it_continues(store: Store) -> None:
    conversation = store.begin()
    conversation.ask("one", MODEL)
    for text in ("1,", "2,", "3"):
        conversation.grow(tokens(text))
        conversation.finish(ReplyFinished("length", Statistics()))
        conversation.go_on(MODEL)
    conversation.break_off()
    talked(store, "two")
    assert [reply.question for reply in store.earlier_replies(MARK)] == ["one", "one", "one", "two"]


def test_what_is_deleted_is_not_among_them_until_it_is_restored(store: Store) -> None:
    talked(store, "kept")
    gone = talked(store, "gone")
    store.delete(gone)
    assert remembered(store) == ["kept"]
    store.restore(gone)
    assert remembered(store) == ["kept", "gone"]


def test_nothing_learnt_since_a_deleted_conversation_began_is_used(store: Store) -> None:

    def learnt() -> list[bytes]:
        return [reply.successors for reply in store.earlier_replies(MARK)]

    talked(store, "before")
    gone = talked(store, "gone")
    talked(store, "after")
    store.delete(gone)
    assert learnt() == [b"before", b""], "guesses checked after it may have come from it"
    store.restore(gone)
    assert learnt() == [b"before", b"gone", b"after"]
    store.delete(gone)
    purge(store)
    assert learnt() == [b"before", b""]
    assert sql(store, "SELECT CAST(successors AS TEXT) FROM learnt") == [("before",)]
    sql(store, "DROP TABLE learnt")
    assert learnt() == [b"", b""], "as a file of an earlier version"
    talked(store, "later")
    store.close()
    assert learnt() == [b"", b"", b""]
    talked(store, "last")
    assert learnt() == [b"", b"", b"", b"last"]
