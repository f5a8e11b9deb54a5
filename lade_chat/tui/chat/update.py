"""Update: a decision applied to the chat's state gives a new state and its effects; and which decision an event is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from lade_chat.protocol import events
from lade_chat.protocol.tutorial import Explained, ExplainFinished
from lade_chat.tui.chat.chat_state import ChatState, Decision, Phase
from lade_chat.tui.chat.decisions import controls, navigation, questions, races, replies
from lade_chat.tui.chat.decisions.sampling_seed import learn_sampling
from lade_chat.tui.chat.effects import Change, Effect, Effects


def update(state: ChatState, decision: Decision) -> tuple[ChatState, Sequence[Effect]]:
    """Return the state after a decision, and what is to be done, in this order."""
    change = Change(state)
    decision(change)
    if change.frees:
        _go_on(change)
    return change.state, change.effects


def take_event(change: Change, event: events.Event) -> None:
    """Take in an event of the engine."""
    phase, answer = change.state.phase, change.state.answer
    if isinstance(event, events.Tokens | events.ReplyFinished) and phase in (Phase.RACING, Phase.REPLYING):
        learn_sampling(change, event.statistics)
    match event:
        case events.Loading():
            change.set(progress=event, ahead=0)
        case events.Loaded() | events.LoadFailed():
            navigation.load_ended(change, event)
        case events.EngineLost():
            _lose_engine(change, event)
        case events.Waiting(ahead) if phase in (Phase.REPLYING, Phase.LOADING):
            change.set(ahead=ahead)
        case _ if phase is Phase.RACING:
            races.race_went_on(change, event)
        case events.Tokens() if phase is Phase.REPLYING and answer is not None:
            replies.grow(change, answer, event)
        case _ if phase is Phase.REPLYING and answer is not None:
            replies.take_in(change, answer, event)
        case Explained() | ExplainFinished() | events.Failed() if phase is Phase.EXPLAINING:
            change.do(Effects.show_above, event)
            change.frees = not isinstance(event, Explained)
        case events.TokensRanked():
            change.do(Effects.show_ranked, event)
        case events.Failed(message):
            change.do(Effects.note, message, is_error=True)
            change.do(Effects.show_ranked, event)


def _lose_engine(change: Change, event: events.EngineLost) -> None:
    before = change.state
    loads = replace(before.loads, running=(), last=None)
    change.set(phase=Phase.LOST, loads=loads, model=None, after_stop=None, stopped_for="")
    change.set(stopping=False, paused=False, pace=None)
    replies.lose_reply(change)
    if before.phase in (Phase.RACING, Phase.EXPLAINING):
        change.do(Effects.show_above, event, before.races if before.phase is Phase.RACING else None)
    change.do(Effects.engine_gone, event.message)


def _go_on(change: Change) -> None:
    """Do what waited for the model, which is free now."""
    controls.become_ready(change)
    after_stop, deferred = change.state.after_stop, change.state.when_free
    change.set(after_stop=None, stopped_for="")
    if after_stop is not None:
        after_stop(change)
    if deferred is not None and change.state.phase is Phase.READY:
        change.set(when_free=None)
        change.do(Effects.open_deferred, deferred)
    else:
        questions.ask_next(change)
        if change.state.phase is Phase.READY and (following := change.state.races.next()) is not None:
            races.begin(change, following)
