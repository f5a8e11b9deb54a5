"""Questions: taken from the user, waiting in a queue, asked one after the other, and given back."""

from __future__ import annotations

from dataclasses import replace

from lade_chat.protocol.commands import Prefill, RankTokens, Reply
from lade_chat.protocol.values import Message
from lade_chat.store.records import Model
from lade_chat.store.saved_conversation import Conversation
from lade_chat.store.tree import new_turn_id
from lade_chat.tui.chat.chat_state import Answer, Phase
from lade_chat.tui.chat.decisions.sampling_seed import effective_options, report_asking_again, seeds_of
from lade_chat.tui.chat.effects import Change, Effects
from lade_chat.tui.conversations.conversation_session import Asked

NOTHING_TO_SEND = "Nothing to send yet: type a message first."
GOES_ON_LATER = "The reply goes on once the model is loaded."
EMPTY_REPLY = "Nothing is left of the reply: /retry asks the question again."
MESSAGE_FIRST = "A message waits already: {restart} starts the engine, which answers that first."
LOADING_FIRST = "Something waits for the model already, and comes first: try again once it is answered."
MESSAGE_WAITS = "One moment: a message is about to be asked."
MIN_CHARACTERS = 200
"""Minimum length of the text to read ahead; shorter ones take little time with the question."""


def ask(change: Change, text: str, instead_of: int | None = None, draft: str | None = None) -> None:
    """Answer a text once the model is ready, ``instead_of`` a turn's question if given; ``draft``: what was typed."""
    state = change.state
    refusal = state.refusal_to_change()
    if instead_of is None and state.phase is not Phase.UNLOADED:  # it waits while a model loads or answers
        refusal = ""
    if state.after_stop is not None:
        refusal = "One moment: the reply is being stopped."
    elif not text.strip():
        refusal = NOTHING_TO_SEND
    if refusal:
        change.do(Effects.refuse, refusal)
        return
    _take(change, Asked(text, instead_of, draft, new_turn_id()))
    change.do(Effects.clear_prompt, draft or text)


def ask_again(change: Change, turn: int | None = None) -> None:
    """Answer the question of a turn, by default the last, again; the present reply stays as an alternative."""
    _repeat(change, change.state.conversation.again(turn), "Nothing to ask again yet: type a message first.")


def continue_reply(change: Change) -> None:
    """Have the last reply go on; if it is empty, ask its question again.

    A reply that was broken off this moment counts: its text is on its way to the disk, and is there by then.
    """
    session = change.state.conversation
    last = session.path[-1] if session.path else None
    if last is not None and last.ending == "eos" and session.last_reply:
        change.do(Effects.refuse, "The reply ended by itself: there is nothing to continue.")
        return
    asked = Asked(None) if change.state.ending or session.last_reply else session.again()
    _repeat(change, asked, "There is no reply to continue yet.")


def continue_from(change: Change, turn: int) -> None:
    """Have a turn's reply go on: the last one in place, an earlier one beside itself, as other turns follow it."""
    last = change.state.conversation.whole(turn)[-1]
    if last == change.state.conversation.path[-1]:
        continue_reply(change)
    elif refusal := change.state.refusal_to_change() or (MESSAGE_WAITS if change.state.waiting else ""):
        change.do(Effects.refuse, refusal)
    else:
        change.keep(Conversation.branch, last.id, then=go_on_behind)


def revise(change: Change, turn: int, text: str, *, ends: bool = False, draft: str = "") -> None:
    """Put a reply of this text beside a turn's, to go on unless it ``ends``; ``draft``: what was typed for it."""
    state = change.state
    refusal = state.refusal_to_change() or (MESSAGE_WAITS if state.waiting else "")
    if refusal or not text.strip():
        change.do(Effects.refuse, refusal or EMPTY_REPLY)
        return
    if draft:
        change.do(Effects.clear_prompt, draft)
    pieces, ending = state.conversation.revised(turn, text), "eos" if ends else "cancelled"
    then = show_conversation if ends else go_on_behind
    change.keep(Conversation.revise, turn, pieces, ending, state.stored_model, then=then)


def rank_tokens(change: Change, turn: int, text: str, own: int, place: int) -> None:
    """Have the model tell what else may stand in a turn's reply behind ``text``, and how likely ``own`` is there."""
    state = change.state
    if state.phase is Phase.READY:
        asked = Asked(state.conversation.snapshot.turns[turn].question, turn)
        begun = (Message("assistant", text),) if text.strip() else ()
        messages = (*state.conversation.messages_for(asked), *begun)
        written = state.conversation.written(turn, state.fingerprint, place)
        change.send(RankTokens(messages, state.options, own, place, written))


def go_on_behind(change: Change) -> None:
    """Show the conversation, which now ends with the reply that is to go on, and have the model do so."""
    show_conversation(change)
    continue_reply(change)


def _repeat(change: Change, asked: Asked | None, missing: str) -> None:
    state = change.state
    overtaken = {Phase.LOADING: LOADING_FIRST, Phase.LOST: MESSAGE_FIRST}
    refusal = "" if state.phase in overtaken else state.refusal_to_change()
    if not refusal and state.waiting:  # the last turn is one that waits, which may be deleted before this is asked
        refusal = overtaken.get(state.phase, MESSAGE_WAITS)
    if asked is None or refusal:
        change.do(Effects.refuse, missing if asked is None else refusal)
        return
    _take(change, asked)
    if change.state.phase is Phase.LOADING and asked.question is None:  # nothing else shows that it waits
        change.do(Effects.hint, GOES_ON_LATER, lambda state, _: state.phase is Phase.LOADING and bool(state.waiting))


def _take(change: Change, asked: Asked) -> None:
    if asked.instead_of is not None:
        change.do(Effects.cut, asked.instead_of)
    at_once = change.state.can_ask
    change.set(waiting=(*change.state.waiting, asked))
    if not at_once:
        store_waiting(change)
    change.do(Effects.say, asked.question)
    show_offer(change, "")
    ask_next(change)
    if change.state.phase is Phase.LOST:
        restart(change)


def restart(change: Change) -> None:
    """Have a new engine started in place of a lost one; it then loads the model again."""
    if change.state.phase is Phase.LOST:
        change.set(phase=Phase.LOADING, progress=None, ahead=0)
        change.do(Effects.start_engine)


def store_waiting(change: Change) -> None:
    """Store the waiting messages; a retry or continuation has no turn before it is asked."""
    waiting = list(change.state.waiting)
    for place, asked in enumerate(waiting):
        if asked.is_message and not asked.is_stored:
            waiting[place] = replace(asked, is_stored=True)
            change.keep(Conversation.enqueue, asked.question, asked.turn)
    change.set(waiting=tuple(waiting))


def ask_next(change: Change) -> None:
    """Ask the oldest question that waits, if that is possible now."""
    state = change.state
    if not state.waiting or not state.can_ask or _clear_way(change):
        return  # deleting what is in the way ends with another call
    asked, session = state.waiting[0], state.conversation
    others = session.other_replies(asked)
    options = effective_options(change, seeds_of(others))
    answer = Answer(asked, state.stored_model, session.leaf_before(asked))
    change.set(phase=Phase.REPLYING, answer=answer, waiting=state.waiting[1:], reading=None)
    change.set(statistics=None, inspection=None, measuring=state.options.debug)
    last = session.again() if asked.question is None else None
    written = session.written(last.instead_of, state.fingerprint) if last and last.instead_of is not None else ()
    change.send(Reply(session.messages_for(asked), options, state.paused, written))
    change.do(Effects.begin_reply)
    keep_question(change, asked, answer.model)
    store_waiting(change)
    report_asking_again(change, others, options)


def _clear_way(change: Change) -> bool:
    """Delete the stored messages that a repetition comes before, until it is asked; True if there were any."""
    waiting = change.state.waiting
    stored = [asked for asked in waiting if asked.is_stored]
    if waiting[0].is_message or not stored:
        return False
    for each in reversed(stored):
        change.keep(Conversation.withdraw, each.turn)
    change.set(waiting=tuple(replace(asked, is_stored=False) for asked in waiting))
    return True


def keep_question(change: Change, asked: Asked, model: Model) -> None:
    """Have the store begin the turn of a question."""
    if asked.is_stored:
        change.keep(Conversation.answer, asked.turn, model)
    elif change.state.conversation.is_repeated(asked):
        change.keep(Conversation.retry, model, asked.instead_of)
    elif asked.instead_of is not None:
        change.keep(Conversation.edit, asked.instead_of, asked.question, model)
    elif asked.question is not None:
        change.keep(Conversation.ask, asked.question, model)
    else:
        change.keep(Conversation.go_on, model)


def take_back(change: Change, *, drops: bool = False) -> bool:
    """Give the newest back to the prompt unless one ``drops`` it, or undo what it repeats; False if none waits."""
    if not change.state.waiting:
        return False
    *waiting, asked = change.state.waiting
    text = asked.typed or ""
    change.set(waiting=tuple(waiting))
    if asked.is_stored:
        change.keep(Conversation.withdraw, asked.turn)
    if asked.instead_of is None:
        change.do(Effects.take_back, text, drops=drops)
    else:  # what had been cut comes back
        show_conversation(change)
        if not drops and not change.state.conversation.is_repeated(asked):
            change.do(Effects.give_back, text)
    if not drops and not asked.is_message:
        change.do(Effects.hint, "Taken back: the reply stays as it is.")
    return True


def withdraw_all(change: Change) -> str:
    """Take all back; return what was typed, a question a line."""
    waiting, session = change.state.waiting, change.state.conversation
    for asked in reversed(waiting):
        if asked.is_stored:
            change.keep(Conversation.withdraw, asked.turn)
    change.set(waiting=())
    typed = (asked.typed for asked in waiting if not session.is_repeated(asked))
    return "\n".join(each for each in typed if each is not None)


def show_conversation(change: Change) -> None:
    """Show the conversation from scratch, with the statistics of its last reply."""
    session = change.state.conversation
    change.set(statistics=session.last_statistics, inspection=None, measuring=False)
    change.do(Effects.show_conversation, session, change.state.waiting)


def show_offer(change: Change, text: str) -> None:
    """Offer to open the conversation's own model, in place of the offer before; empty for none."""
    change.set(offer=text)
    change.do(Effects.offer, text)


def read_ahead(change: Change, question: str) -> None:
    """Have the model read the conversation and the draft below it, once per state; any other command interrupts it."""
    state = change.state
    if not state.reads_ahead or state.phase is not Phase.READY or state.model is None:
        return
    command = Prefill(state.conversation.messages_for(Asked(question)), effective_options(change))
    if command != state.read and sum(len(each.content) for each in command.messages) >= MIN_CHARACTERS:
        change.set(read=command)
        change.send(command)
