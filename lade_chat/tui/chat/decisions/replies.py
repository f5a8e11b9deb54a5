"""The reply that is running: the engine's words of it are shown, and stored with its question."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from lade_chat.presentation.metric_words import left_out
from lade_chat.protocol.events import Event, Failed, Prefilling, ReplyFinished, ReplyStarted, Tokens
from lade_chat.store.saved_conversation import Conversation
from lade_chat.tui.chat.chat_state import Answer, Phase
from lade_chat.tui.chat.decisions.questions import show_conversation, store_waiting
from lade_chat.tui.chat.effects import Change, Effects
from lade_chat.tui.conversations.conversation_session import Asked

LOST = "The engine was lost."
STOPS_AGAIN = "Nothing was added: the stop string came first again. /set lists it; /set stop alone removes your own."


def take_in(change: Change, answer: Answer, event: Event) -> None:
    """Take in an event of the reply other than its tokens."""
    match event:
        case ReplyStarted():
            if event.dropped_messages > change.state.dropped:
                change.do(Effects.note, f"{left_out(event.dropped_messages).capitalize()}.")
            change.set(dropped=event.dropped_messages, reading=(event.reused_tokens, event.prompt_tokens), ahead=0)
        case Prefilling():
            change.set(reading=(event.done, event.total))
        case ReplyFinished(finish_reason="cancelled") if answer.continues_nothing:
            _give_back(change, answer, None)
        case ReplyFinished():
            if event.finish_reason == "stop" and answer.continues_nothing:
                change.do(Effects.note, STOPS_AGAIN)
            change.set(statistics=event.statistics, measuring=False)
            is_stopped = event.finish_reason == "cancelled"
            why = change.state.stopped_for if is_stopped else ""
            change.do(Effects.end_reply, event, why)
            change.keep(Conversation.finish, event, why, then=partial(reply_stored, asked=answer.asked))
        case Failed(message) if answer.said:  # the partial reply is kept
            _break_off(change, answer, message, shown=message)
        case Failed(message):
            _give_back(change, answer, message)


def grow(change: Change, answer: Answer, tokens: Tokens) -> None:
    """Take in more of the reply, which is stored and shown."""
    if not answer.said and any(piece.text for piece in tokens.pieces):
        change.set(answer=replace(answer, said=True))
    change.set(ending=True)
    change.keep(Conversation.grow, tokens)
    if change.state.is_slow:
        change.do(Effects.grow, tokens, slowly=True)
    else:
        show_tokens(change, tokens)


def show_tokens(change: Change, tokens: Tokens) -> None:
    """Show tokens that the reply has grown by, with their metrics."""
    inspection = tokens.inspection or change.state.inspection
    change.set(statistics=tokens.statistics, inspection=inspection, reading=None)
    change.do(Effects.grow, tokens)


def _break_off(change: Change, answer: Answer, error: str, *, shown: str | None) -> None:
    change.set(measuring=False)
    stored = partial(reply_stored, asked=answer.asked, lost=error == LOST)
    change.do(Effects.fail_reply, shown)
    change.keep(Conversation.break_off, error, then=stored)


def _give_back(change: Change, answer: Answer, error: str | None) -> None:
    """Give the question of a reply that said nothing back to the prompt."""
    asked = answer.asked
    on_disk = asked.typed is None or change.state.conversation.is_repeated(asked)
    change.set(measuring=False)
    change.do(Effects.fail_reply, error if asked.instead_of is None else None)
    if asked.typed is not None and not on_disk:
        change.do(Effects.give_back, asked.typed)
    withdrawn = partial(reply_withdrawn, asked=asked, error=error)
    change.keep(Conversation.withdraw, None, answer.leaf, on_disk, then=withdrawn)


def reply_stored(change: Change, asked: Asked, *, lost: bool = False) -> None:
    """Note that a reply has its end on the disk, or cannot yet: the turn can be acted on, and the model is free.

    ``lost``: the engine was lost before.
    """
    session, is_current = change.state.conversation, _free(change, asked)
    change.set(ending=False)
    if (is_current or lost) and (last := session.last_ended) is not None:
        change.do(Effects.turn_kept, session.shown([last])[0])


def reply_withdrawn(change: Change, asked: Asked, error: str | None) -> None:
    """Note that a question without an answer is no longer stored; ``error`` says why, if the answer failed."""
    if asked.instead_of is not None:  # what had been cut comes back
        show_conversation(change)
        if error is not None:
            change.do(Effects.note, error, is_error=True)
    _free(change, asked)


def _free(change: Change, asked: Asked) -> bool:
    """Have the model free if this is the answer under way; False if it is not any more."""
    answer = change.state.answer
    if answer is None or answer.asked is not asked:
        return False
    change.set(answer=None)
    change.frees = True
    return True


def lose_reply(change: Change) -> None:
    """End the reply because the engine was lost; the reason is shown elsewhere, and no question follows."""
    answer = change.state.answer
    if answer is None:
        return
    if answer.said:
        _break_off(change, answer, LOST, shown=None)
    else:
        _give_back(change, answer, None)
    change.set(answer=None)


def close_chat(change: Change, error: str = "") -> None:
    """Keep a partial reply, broken off by ``error`` if any, an unanswered question, and all that waits."""
    answer = change.state.answer
    if change.state.phase is Phase.REPLYING and answer is not None:
        if answer.said:
            change.keep(Conversation.break_off, error)
        elif answer.continues_nothing:
            change.keep(Conversation.withdraw, None, answer.leaf)
    change.set(waiting=tuple(asked for asked in change.state.waiting if asked.is_message))
    store_waiting(change)
