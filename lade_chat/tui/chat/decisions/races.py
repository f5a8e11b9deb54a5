"""Races between two ways to decode, and explanations of the method: both open a screen above the chat."""

from __future__ import annotations

from functools import partial

from lade_chat.protocol import commands
from lade_chat.protocol.events import ComparisonFinished, Event, Failed, ReplyFinished
from lade_chat.protocol.values import Message, MethodSpec
from lade_chat.tui.chat.chat_state import Deferred, Phase
from lade_chat.tui.chat.decisions.sampling_seed import effective_options
from lade_chat.tui.chat.effects import Change, Effects
from lade_chat.tui.conversations.conversation_session import Asked
from lade_chat.tui.race.queue import Race, Races

EXPLANATION_OPENS = {
    Phase.REPLYING: "How it works opens when this reply has ended.",
    Phase.LOADING: "How it works opens once the model is loaded.",
}


def race(change: Change, text: str, draft: str | None) -> None:
    """Race over a text, by default over the last question; once the model is loaded, unless ``draft`` grows."""
    state, session = change.state, change.state.conversation
    is_loading = state.phase is Phase.LOADING
    refusal = "" if is_loading else state.refusal_to_race()
    asked = Asked(text) if text.strip() else session.again()
    if not refusal and (asked is None or asked.question is None):
        refusal = "Nothing to race yet: type a message first."
    if refusal:
        change.do(Effects.refuse, refusal)
    elif is_loading:
        missed = "Type /compare now to race: the model is loaded."
        deferred = Deferred(partial(race, text=text, draft=draft), draft, missed)
        _defer(change, deferred, "The race begins once the model is loaded.")
    elif asked is not None and asked.question is not None:
        begin(change, state.races.single(Race(asked.question, session.messages_for(asked))))


def race_again(
    change: Change, left: MethodSpec | None = None, right: MethodSpec | None = None, suite: str = ""
) -> None:
    """Race again over the same question, or over a suite; with other methods if they are given."""
    if refusal := change.state.refusal_to_race():
        change.do(Effects.refuse, refusal)
        return
    before = change.state.races
    races = Races(left or before.left, right or before.right)
    if suite:
        races = races.over_suite(suite, change.state.conversation.system)
    elif before.current is not None:
        races = races.single(before.current)
    if races.current is not None:
        begin(change, races)


def begin(change: Change, races: Races) -> None:
    """Begin the queue's current race."""
    change.set(phase=Phase.RACING, races=races)
    change.send(races.command(effective_options(change)))
    change.do(Effects.open_race, races)


def race_went_on(change: Change, event: Event) -> None:
    """Show and count an event of the race."""
    races = change.state.races
    if isinstance(event, ReplyFinished | ComparisonFinished):
        races = races.after(event, stopped=change.state.stopping)
    change.do(Effects.show_above, event, races)
    change.set(races=races.given_up() if isinstance(event, Failed) else races)
    change.frees = isinstance(event, ComparisonFinished | Failed)


def explain(change: Change, messages: tuple[Message, ...], *, raced: bool = False, draft: str | None = None) -> None:
    """Explain the answer to ``messages``, by the steps of their race if ``raced``, once the model is free."""
    state = change.state
    if refusal := state.refusal_to_explain():
        change.do(Effects.refuse, refusal)
    elif opens := EXPLANATION_OPENS.get(state.phase):
        missed = "Type /explain now to see how it works: the model is free."
        _defer(change, Deferred(partial(explain, messages=messages, draft=draft), draft, missed), opens)
    elif state.model is not None:
        change.set(phase=Phase.EXPLAINING)
        change.send(commands.Explain(messages, raced))
        change.do(Effects.open_explanation, state.model)


def _defer(change: Change, deferred: Deferred, opens: str) -> None:
    change.set(when_free=deferred)
    change.do(Effects.hint, opens, lambda state, _: state.when_free is deferred)
