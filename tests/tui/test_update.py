"""The chat's decisions, without a screen, an engine or a disk: what a state and a decision or an event lead to."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from lade_chat.protocol.commands import Reply, Stop
from lade_chat.protocol.events import EngineLost, Event, Loaded
from lade_chat.protocol.values import DecodingOptions, Message, ModelOptions
from lade_chat.store.records import Record, Turn
from lade_chat.store.saved_conversation import Conversation
from lade_chat.store.tree import Snapshot
from lade_chat.tui.chat.chat_state import ChatState, Decision, Loads, Phase
from lade_chat.tui.chat.decisions.controls import pause
from lade_chat.tui.chat.decisions.navigation import branch, load_model, new_conversation
from lade_chat.tui.chat.decisions.questions import ask, ask_next
from lade_chat.tui.chat.effects import Effect, Effects
from lade_chat.tui.chat.update import take_event, update
from lade_chat.tui.conversations.conversation_session import ConversationSession
from tests.tui.scripted import FUNCTION, MODEL, finished, streamed

EMPTY = ConversationSession(Snapshot(Record("an id", 0.0, 0.0), {}))
LOADING = ChatState(DecodingOptions(), None, EMPTY, Loads(ModelOptions()))


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


def of(method: Callable[..., None], done: Sequence[Effect]) -> list[tuple[Any, ...]]:
    """Return the arguments of each of these effects."""
    return [each.arguments for each in done if each.method is method]


def kept(done: Sequence[Effect]) -> list[object]:
    """Return how the conversation changes."""
    return [verb for verb, _arguments, _then in of(Effects.keep, done)]


def test_a_question_is_sent_shown_and_kept() -> None:
    state, done = after(READY, HELLO)
    assert state.phase is Phase.REPLYING
    assert of(Effects.send, done) == [(Reply((Message("user", "Hello"),), DecodingOptions()),)]
    assert kept(done) == [Conversation.ask]
    assert of(Effects.say, done) == [("Hello",)]
    assert of(Effects.clear_prompt, done) == [("Hello",)]


def test_the_same_state_and_decision_lead_to_the_same() -> None:
    first, second = update(REPLYING, pause), update(REPLYING, pause)
    assert first == second
    assert not REPLYING.paused


def test_the_model_is_free_once_the_end_of_a_reply_is_stored() -> None:
    state, done = after(REPLYING, *streamed(FUNCTION), finished(FUNCTION))
    assert state.phase is Phase.REPLYING
    ((_, _, stored),) = of(Effects.keep, done)
    assert after(state, stored)[0].phase is Phase.READY


def test_a_reply_that_was_lost_meanwhile_does_not_free_the_model() -> None:
    state, done = after(REPLYING, *streamed(FUNCTION), finished(FUNCTION))
    ((_, _, stored),) = of(Effects.keep, done)
    assert after(state, EngineLost("killed"), stored)[0].phase is Phase.LOST


@pytest.mark.parametrize("busy", [False, True])
def test_a_question_waits_stored_while_the_model_or_the_store_is_busy(busy: bool) -> None:
    state, done = update(replace(READY, store_busy=True) if busy else REPLYING, THEN)
    assert [asked.question for asked in state.waiting] == ["And then?"]
    assert kept(done) == [Conversation.enqueue]
    assert not of(Effects.send, done)
    if busy:
        (asked,) = state.waiting
        stored = Snapshot(EMPTY.snapshot.about, {asked.turn: Turn(asked.turn, None, 0.0, asked.question)})
        state = state.at(0.0, stored, store_busy=False)
        assert after(state, ask_next)[0].phase is Phase.REPLYING


def test_what_ends_a_reply_first_is_done_once_it_has_stopped() -> None:
    state, done = after(REPLYING, new_conversation)
    assert (Stop(),) in of(Effects.send, done)
    assert not of(Effects.open_stored, done)
    state, done = after(state, *streamed(FUNCTION[:4]), finished(FUNCTION[:4], "cancelled"))
    ((_, _, stored),) = of(Effects.keep, done)
    state, done = after(state, stored)
    assert of(Effects.open_stored, done) == [(None, "", None)]
    assert state.after_stop is None


@pytest.mark.parametrize("phase", [Phase.LOADING, Phase.LOST, Phase.UNLOADED, Phase.REPLYING])
def test_the_branch_is_not_left_while_the_model_is_busy_or_gone(phase: Phase) -> None:
    turn = Turn(1, None, 0.0, "Hello", reply="Hi.", ending="eos")
    session = ConversationSession(Snapshot(Record("an id", 0.0, 0.0, leaf=1), {1: turn}))
    _, done = after(replace(READY, phase=phase, conversation=session), partial(branch, turn=None))
    assert bool(of(Effects.refuse, done)) is (phase is not Phase.UNLOADED)
    assert bool(kept(done)) is (phase is Phase.UNLOADED)
