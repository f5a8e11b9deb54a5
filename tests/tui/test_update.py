"""The chat's decisions, without a screen, an engine or a disk: what a state and a decision or an event lead to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TypeVar

import pytest

from lade_chat.protocol.commands import Reply, Stop
from lade_chat.protocol.events import EngineLost, Event, Loaded
from lade_chat.protocol.values import DecodingOptions, Message, ModelOptions
from lade_chat.store.conversation import Conversation
from lade_chat.store.records import Record, Turn
from lade_chat.store.tree import Snapshot
from lade_chat.tui.chat import effects
from lade_chat.tui.chat.chat_state import ChatState, Decision, Loads, Phase
from lade_chat.tui.chat.decisions.controls import pause
from lade_chat.tui.chat.decisions.navigation import branch, load_model, new_conversation
from lade_chat.tui.chat.decisions.questions import ask, ask_next
from lade_chat.tui.chat.effects import Effect, Keep, Refuse, Send
from lade_chat.tui.chat.update import take_event, update
from lade_chat.tui.conversations.conversation_session import ConversationSession
from tests.tui.scripted import FUNCTION, MODEL, finished, streamed

EMPTY = ConversationSession(Snapshot(Record("an id", 0.0, 0.0), {}))
LOADING = ChatState(DecodingOptions(), None, EMPTY, Loads(ModelOptions()))
Kind = TypeVar("Kind", bound=Effect)


def after(state: ChatState, *happened: Decision | Event) -> tuple[ChatState, list[Effect]]:
    """Return the state after all of these, and what the last of them leads to; the store is idle before each."""
    done: Sequence[Effect] = ()
    for each in happened:
        decision = each if callable(each) else partial(take_event, event=each)
        state, done = update(replace(state, store_busy=False), decision)
    return state, list(done)


HELLO, THEN = partial(ask, text="Hello"), partial(ask, text="And then?")
READY, _ = after(LOADING, load_model, Loaded(MODEL))
REPLYING, _ = after(READY, HELLO)


def of(kind: type[Kind], done: Sequence[Effect]) -> list[Kind]:
    return [each for each in done if isinstance(each, kind)]


def test_a_question_is_sent_shown_and_kept() -> None:
    state, done = after(READY, HELLO)
    assert state.phase is Phase.REPLYING
    assert of(Send, done) == [Send(Reply((Message("user", "Hello"),), DecodingOptions()))]
    assert [keep.verb for keep in of(Keep, done)] == [Conversation.ask]
    assert effects.Say("Hello") in done
    assert effects.ClearPrompt("Hello") in done


def test_the_same_state_and_decision_lead_to_the_same() -> None:
    first, second = update(REPLYING, pause), update(REPLYING, pause)
    assert first == second
    assert not REPLYING.paused


def test_the_model_is_free_once_the_end_of_a_reply_is_stored() -> None:
    state, done = after(REPLYING, *streamed(FUNCTION), finished(FUNCTION))
    assert state.phase is Phase.REPLYING
    (finish,) = of(Keep, done)
    assert finish.then is not None
    assert after(state, finish.then)[0].phase is Phase.READY


def test_a_reply_that_was_lost_meanwhile_does_not_free_the_model() -> None:
    state, done = after(REPLYING, *streamed(FUNCTION), finished(FUNCTION))
    stored = of(Keep, done)[0].then
    assert stored is not None
    assert after(state, EngineLost("killed"), stored)[0].phase is Phase.LOST


@pytest.mark.parametrize("busy", [False, True])
def test_a_question_waits_stored_while_the_model_or_the_store_is_busy(busy: bool) -> None:
    state, done = update(replace(READY, store_busy=True) if busy else REPLYING, THEN)
    assert [asked.question for asked in state.waiting] == ["And then?"]
    assert [keep.verb for keep in of(Keep, done)] == [Conversation.enqueue]
    assert not of(Send, done)
    if busy:
        (asked,) = state.waiting
        stored = Snapshot(EMPTY.snapshot.about, {asked.turn: Turn(asked.turn, None, 0.0, asked.question)})
        state = state.at(0.0, stored, store_busy=False)
        assert after(state, ask_next)[0].phase is Phase.REPLYING


def test_what_ends_a_reply_first_is_done_once_it_has_stopped() -> None:
    state, done = after(REPLYING, new_conversation)
    assert Send(Stop()) in done
    assert not of(effects.OpenStored, done)
    state, done = after(state, *streamed(FUNCTION[:4]), finished(FUNCTION[:4], "cancelled"))
    stored = of(Keep, done)[0].then
    assert stored is not None
    state, done = after(state, stored)
    assert effects.OpenStored(None, "") in done
    assert state.after_stop is None


@pytest.mark.parametrize("phase", [Phase.LOADING, Phase.LOST, Phase.UNLOADED, Phase.REPLYING])
def test_the_branch_is_not_left_while_the_model_is_busy_or_gone(phase: Phase) -> None:
    turn = Turn(1, None, 0.0, "Hello", reply="Hi.", ending="eos")
    session = ConversationSession(Snapshot(Record("an id", 0.0, 0.0, leaf=1), {1: turn}))
    _, done = after(replace(READY, phase=phase, conversation=session), partial(branch, turn=None))
    assert bool(of(Refuse, done)) is (phase is not Phase.UNLOADED)
    assert bool(of(Keep, done)) is (phase is Phase.UNLOADED)
